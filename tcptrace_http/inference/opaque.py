"""Retrievals of a capture that is all TLS without keys: groups of exchanges by time.

Without addresses, time alone tells pages apart: B. Mah, An Empirical Model of HTTP Network Traffic (INFOCOM 1997),
divides them at one second of silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.analysis import Analysis

__all__ = ["with_retrievals"]

_SILENCE: Final = "1s"


class _Grouped:
    """An analysis with other retrievals."""

    def __init__(self, analysis: Analysis, retrievals: pl.DataFrame, members: pl.DataFrame) -> None:
        self._analysis = analysis
        self.retrievals = retrievals
        self.retrieval_transactions = members

    def __getattr__(self, name: str) -> Any:
        return getattr(self._analysis, name)


def with_retrievals(analysis: Analysis) -> Analysis:
    """The analysis; if it has no retrievals of HTTP, with those of exchanges in TLS."""
    if not analysis.retrievals.is_empty():
        return analysis
    members = _members(analysis)
    return analysis if members.is_empty() else cast("Analysis", _Grouped(analysis, _retrievals(members), members))


def _members(analysis: Analysis) -> pl.DataFrame:
    """The exchanges with the number of their retrieval: those of one client and server without a long silence."""
    import polars as pl

    hosts = ("client", "server", "server_port")
    opened = analysis.flows.select("flow", *hosts, "has_syn", opened="start")
    is_opening = (pl.col("index") == 0) & pl.col("has_syn")
    rows = (
        analysis.transactions.filter(
            pl.col("protocol").cast(pl.String) == "tls",
            pl.col("request_time").is_not_null(),
            pl.col("response_last_time").is_not_null(),
        )
        .join(opened, on="flow")
        .select(
            *hosts,
            "flow",
            "request_time",
            transaction="index",
            start=pl.when(is_opening).then("opened").otherwise("request_time"),
            end="response_last_time",
        )
        .sort("start", "flow", "transaction")
    )
    quiet_since = pl.col("end").cum_max().shift(1).over(hosts)
    begins = (pl.col("start") > quiet_since.dt.offset_by(_SILENCE)).fill_null(value=True)
    part = begins.cum_sum().over(hosts)
    return (
        rows.with_columns(part=part)
        .with_columns(retrieval=pl.struct(*hosts, "part").rle_id())
        .with_columns(retrieval=pl.col("retrieval").min().over(*hosts, "part").rank("dense") - 1)
        .select(
            pl.col("retrieval").cast(pl.UInt32),
            "flow",
            "transaction",
            "client",
            "start",
            "request_time",
            "end",
            initiator_flow=pl.lit(None, pl.UInt32),
            initiator_transaction=pl.lit(None, pl.UInt32),
        )
    )


def _retrievals(members: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return (
        members.group_by("retrieval")
        .agg(
            pl.col("client", "flow", "transaction").first(),
            pl.col("start").min(),
            pl.col("end").max(),
            transactions=pl.len(),
        )
        .sort("retrieval")
    )

"""Metrics of thresholds: figures of transactions, connections and retrievals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tcptrace_http.spent import spent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

__all__ = ["METRICS", "Metric", "Unit"]


class Unit(StrEnum):
    """Unit of a metric's values."""

    NANOSECONDS = "ns"
    SHARE = "share"
    COUNT = "count"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Metric:
    """Figure of every row of a table."""

    name: str
    unit: Unit
    doc: str
    #: Table of the metric.
    table: str
    #: Function that returns ``flow``, ``transaction`` (null for a connection's figure) and ``value``
    #: (Float64, null if the capture does not show it).
    values: Callable[[pl.LazyFrame], pl.LazyFrame]


def _of_transactions(rows: pl.LazyFrame, value: pl.Expr) -> pl.LazyFrame:
    import polars as pl

    return rows.select("flow", pl.col("index").alias("transaction"), value.cast(pl.Float64).alias("value"))


def _between(start: str, end: str) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    def values(transactions: pl.LazyFrame) -> pl.LazyFrame:
        return _of_transactions(transactions, spent(start, end).dt.total_nanoseconds())

    return values


def _response_bytes(transactions: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return _of_transactions(transactions, pl.col("response_body_bytes"))


def _stalled(waits: pl.LazyFrame) -> pl.LazyFrame:
    """Return the elapsed time of each transaction, and its share of stalls."""
    import polars as pl

    length = (pl.col("end") - pl.col("start")).dt.total_nanoseconds().cast(pl.Float64)
    stalls = pl.col("cause").cast(pl.String).str.starts_with("stall.")
    of_each = waits.group_by("flow", "transaction")
    return of_each.agg(elapsed=length.sum(), stalled=length.filter(stalls).sum())


def _stall_time(waits: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return _stalled(waits).select("flow", "transaction", pl.col("stalled").alias("value"))


def _stall_share(waits: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    share = pl.when(pl.col("elapsed") > 0).then(pl.col("stalled") / pl.col("elapsed"))
    return _stalled(waits).select("flow", "transaction", share.alias("value"))


def _of_known_flows(flows: pl.LazyFrame, value: pl.Expr) -> pl.LazyFrame:
    import polars as pl

    return flows.filter(pl.col("protocol").is_not_null()).select(
        "flow", pl.lit(None, pl.UInt32).alias("transaction"), value.cast(pl.Float64).alias("value")
    )


def _connect(flows: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return _of_known_flows(flows, pl.col("initial_rtt").dt.total_nanoseconds())


def _requests_per_connection(flows: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return _of_known_flows(flows, pl.col("transactions"))


def _retransmission_rate(flows: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    again = pl.col("client_retransmissions") + pl.col("server_retransmissions")
    sent = pl.col("client_packets") + pl.col("server_packets")
    return _of_known_flows(flows, pl.when(sent > 0).then(again / sent))


def _tls_handshake(handshakes: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    took = spent("client_hello_time", "done_time").dt.total_nanoseconds()
    return handshakes.select(
        "flow", pl.lit(None, pl.UInt32).alias("transaction"), took.cast(pl.Float64).alias("value")
    )


def _page_time(retrievals: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    elapsed = pl.col("elapsed").dt.total_nanoseconds().cast(pl.Float64)
    return retrievals.select("flow", "transaction", elapsed.alias("value"))


_ALL: Final = (
    Metric(
        "ttfb",
        Unit.NANOSECONDS,
        "from the last byte of a request to the first byte of its response",
        "transactions",
        _between("request_last_time", "response_first_time"),
    ),
    Metric(
        "elapsed",
        Unit.NANOSECONDS,
        "the total time of a transaction, including its handshake",
        "transactions",
        _between("start_time", "end_time"),
    ),
    Metric(
        "send",
        Unit.NANOSECONDS,
        "from the first to the last byte of a request",
        "transactions",
        _between("request_time", "request_last_time"),
    ),
    Metric(
        "receive",
        Unit.NANOSECONDS,
        "from the first to the last byte of a response",
        "transactions",
        _between("response_first_time", "response_last_time"),
    ),
    Metric("stall_time", Unit.NANOSECONDS, "the stall time of a transaction", "waits", _stall_time),
    Metric("stall_share", Unit.SHARE, "the share of stalls in a transaction's time", "waits", _stall_share),
    Metric("response_bytes", Unit.BYTES, "the body of a response", "transactions", _response_bytes),
    Metric("connect", Unit.NANOSECONDS, "the handshake's round trip of a connection", "flows", _connect),
    Metric(
        "tls_handshake",
        Unit.NANOSECONDS,
        "from the ClientHello of a connection until it may carry a request",
        "tls_handshakes",
        _tls_handshake,
    ),
    Metric(
        "requests_per_connection", Unit.COUNT, "transactions on a connection", "flows", _requests_per_connection
    ),
    Metric(
        "retransmission_rate",
        Unit.SHARE,
        "the share of a connection's packets that are retransmissions",
        "flows",
        _retransmission_rate,
    ),
    Metric(
        "page_time",
        Unit.NANOSECONDS,
        "the time of a retrieval: a page with its objects",
        "retrievals",
        _page_time,
    ),
)

#: Metrics by name.
METRICS: Final[Mapping[str, Metric]] = {metric.name: metric for metric in _ALL}

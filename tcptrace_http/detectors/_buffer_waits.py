"""Responses that waited for room in their sender's buffer, as the waits tell: what is outstanding against ACKs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms, ns
from tcptrace_http.detectors._wording import counted, times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["WAITED_MIN_NS", "long_waits", "waits_for_buffer"]

_CAUSE: Final = "send_limited.send_buffer"
#: Less is not worth a finding.
WAITED_MIN_NS: Final = 5_000_000
#: A buffer that is too small holds its sender at each turn. Once an ACK may have been lost on its way.
_WAITS_SURE: Final = 2
#: A host takes as long to go on where nothing holds it.
_WAIT_MIN_NS: Final = 1_000_000
#: A window that doubles gets as much through in two round trips as a full buffer in three, of which the pace of
#: the path hides a part. Its round trips are as long with their queue: where other connections keep a slow link
#: busy all the time, no larger buffer sends more.
_ROUNDS_MIN: Final = 2.5


def waits_for_buffer(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """By transaction the sum of its waits for its sender's buffer, where they begin and where they end."""
    import polars as pl

    length = pl.col("end") - pl.col("start")
    return (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == _CAUSE)
        .group_by("flow", "transaction", maintain_order=True)
        .agg(
            pl.col("start", "first_frame").first(),
            pl.col("last_frame").last(),
            waited=length.sum(),
            waits=pl.len(),
        )
    )


def long_waits(tables: Mapping[str, pl.DataFrame], waited: pl.LazyFrame) -> pl.LazyFrame:
    """Those of ``waited`` that a larger buffer would have spared round trips, with what they lost."""
    import polars as pl

    # A connection that was opened behind what others had in flight has measured their queue.
    rtt = ns("server_path_rtt").fill_null(0) + ns("client_path_rtt").fill_null(0)
    least = rtt.replace(0, None).min().over("client", "server").fill_null(0)
    flows = tables["flows"].lazy().select("flow", round_trip=least)
    queues = tables["queues"].lazy().select("flow", "transaction", queued=ns("mean_delay"))
    rounds = ns("waited") / pl.col("round_trip")
    needed = (rounds + 1).log(2)
    kept = (1 - needed / rounds).clip(0)
    return (
        waited.join(flows, on="flow", how="inner", maintain_order="left")
        .join(queues, on=["flow", "transaction"], how="left", maintain_order="left")
        .filter(pl.col("round_trip") > 0)
        .with_columns(round_trip=pl.col("round_trip") + pl.col("queued").fill_null(0))
        .filter(
            ns("waited") >= pl.max_horizontal(WAITED_MIN_NS, _WAIT_MIN_NS * pl.col("waits")),
            rounds >= _ROUNDS_MIN,
        )
        .with_columns(
            lost=(ns("waited") * kept).cast(pl.Int64).cast(pl.Duration("ns")),
            # One alone is a warning at most; else how much was lost decides.
            severity=pl.when(pl.col("waits") < _WAITS_SURE).then(pl.lit("warning")),
            summary=pl.format(
                "the response waited {} for room in its sender's buffer, {} ms in all, though the client's"
                " window had room and nothing was lost",
                times("waits"),
                ms("waited"),
            ),
            evidence=pl.format(
                "frames {} to {}: less was outstanding than the window must have grown to by the ACKs;"
                " round trip {} ms; a window that doubles would have needed {}",
                "first_frame",
                "last_frame",
                (pl.col("round_trip") / 1e6).round(1),
                counted(needed.ceil().cast(pl.Int64), "round trip"),
            ),
        )
    )

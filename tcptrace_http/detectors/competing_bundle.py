"""Connections of two hosts that are in slow start at the same time.

What it does
------------
Finds connections between the same two hosts whose first responses overlap. Each connection opens its own
congestion window on the same path.

Why it is bad
-------------
The connections share the path, but not what they learn about it. A connection that begins while another has a
large window repeats the round trips of slow start. Together the connections take more than one connection's
share of the bottleneck, and overshoot together.

Evidence
--------
First responses that waited for their congestion window and began during the first response of another
connection of the two hosts. Half of that connection's window is the share of one of two connections in an
ensemble. That window is its first flight, doubled per round trip, at most the window that it has shown. Lost
is the sum of the waits ``send_limited.slow_start`` of data that this half would have released at once. If
both began at the same time, no packet shows a cost and the finding is for information.

Fix
---
Use one HTTP/2 connection, whose streams share a window. Or use fewer connections to the host (browsers: six
at most; no domain sharding on one server), each used longer.

Reference
---------
L. Eggert, J. Heidemann, J. Touch, Effects of Ensemble-TCP, ACM CCR 30 (1), 2000; RFC 9040, section 7; RFC
3124.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, OPENINGS, PAIR, PROFILES
from tcptrace_http.detectors._slow_start import openings, with_lost
from tcptrace_http.detectors._wording import by_number, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("openings",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps")
GATHERS: Final = (OPENINGS, PROFILES, CONNECTIONS)

#: Share of the window for each of two connections in an ensemble.
SHARE: Final = 0.5
REMEDY: Final = (
    "HTTP/2 on one connection, or fewer connections to the host (client pool size, no domain sharding), each"
    " of them used longer"
)


def find(tables: Mapping[str, pl.DataFrame], *, share: float = SHARE) -> pl.LazyFrame:
    """Return the host pairs with connections in slow start at the same time; see :class:`Detector`."""
    import polars as pl

    before = pl.col("begin").shift(1)
    rounds = ((pl.col("begin") - before) / pl.col("round_trip").clip(lower_bound=1)).floor().clip(0, 32)
    grown = pl.col("initial_window_bytes").shift(1) * pl.lit(2.0).pow(rounds)
    by_then = pl.min_horizontal(grown, pl.col("largest_window_bytes").shift(1))
    is_busy = pl.col("finish").shift(1) > pl.col("begin")
    window = pl.when(is_busy).then((by_then * share).cast(pl.Int64)).otherwise(0)
    began = (
        openings(tables)
        .filter(pl.col("initial_window_bytes").is_not_null())
        .join(tables["connections"].lazy().select("flow", *PAIR), on="flow")
        .sort("begin", "flow")
        .with_columns(window=window.over(PAIR), busy_until=pl.col("finish").cum_max().shift(1).over(PAIR))
        .filter(pl.col("busy_until") > pl.col("begin"))
        .with_columns(elapsed=pl.col("finish") - pl.col("begin") + pl.col("round_trip"))
    )
    spared = with_lost(began.filter(pl.col("window") > pl.col("initial_window_bytes"))).select("flow", "lost")
    return (
        began.join(spared, on="flow", how="left", maintain_order="left")
        .with_columns(pl.col("lost").fill_null(pl.duration()))
        .sort("flow")
        .group_by(PAIR, maintain_order=True)
        .agg(
            flows=pl.col("flow"),
            times=pl.len(),
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            transaction=pl.when(pl.len() == 1).then(pl.col("transaction").first()),
            start=pl.col("begin").min(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.col("last_frame").max(),
            lost=pl.col("lost").sum(),
            elapsed=pl.col("elapsed").sum(),
            flows_shown=pl.col("flow").head(8).cast(pl.String).str.join(", "),
        )
        .select(
            "flow",
            "transaction",
            "first_frame",
            "last_frame",
            "start",
            "lost",
            "elapsed",
            "flows",
            severity=pl.when(pl.col("lost") == pl.duration()).then(pl.lit("info")),
            confidence=pl.when(pl.col("lost") > pl.duration()).then(0.7).otherwise(0.9),
            cause=pl.when(pl.col("lost") > pl.duration()).then(pl.lit("send_limited.slow_start")),
            summary=pl.format(
                "{} of {} to {} {} in slow start at the same time as another one of the two hosts",
                counted("times", "connection"),
                "client",
                "server",
                by_number("times", "was", "were"),
            ),
            evidence=pl.format("flows {}, from frame {} on", "flows_shown", "first_frame"),
            remedy=pl.lit(REMEDY),
        )
    )

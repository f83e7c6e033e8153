"""A connection repeats slow start on a path that an earlier connection has just measured.

What it does
------------
Finds connections that begin with the initial window although an earlier connection of the two hosts had shown
a larger flight shortly before. Their first response needed more than the initial window.

Why it is bad
-------------
Each connection measures the path again and pays the round trips of slow start again. Shared state between the
connections of two hosts (TCP control block interdependence) would save them.

Evidence
--------
The first flight on the later connection, if more data waited behind it. The maximum bytes in flight of any
earlier connection since its last loss, if its last response was already complete. Lost is the sum of the
waits ``send_limited.slow_start`` of data that a first flight of that size would have released at once.
Connections in a connection-per-request finding do not count again.

Fix
---
Reuse one connection (its window persists, see slow-start-restart), or use HTTP/2. Linux keeps ssthresh and
the round trip of a destination (``net.ipv4.tcp_no_metrics_save=0``), but not the window. For a path of known
capacity set ``ip route change … initcwnd``, with ``fq`` pacing.

Reference
---------
RFC 9040; L. Eggert, J. Heidemann, J. Touch, Effects of Ensemble-TCP, ACM CCR 30 (1), 2000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, OPENINGS, PAIR, PROFILES
from tcptrace_http.detectors._reuse import needless
from tcptrace_http.detectors._shown_windows import RECENT_SECONDS, with_shown_window
from tcptrace_http.detectors._slow_start import openings, with_lost
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("openings",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps")
GATHERS: Final = (OPENINGS, PROFILES, CONNECTIONS)

#: Minimum factor between the earlier flight and the first flight: a smaller one saves no round trip.
LARGER_MIN: Final = 1.4
REMEDY: Final = (
    "keep one connection in use instead (HTTP keep-alive, with net.ipv4.tcp_slow_start_after_idle=0, or HTTP/2);"
    " for a path of known capacity: ip route change … initcwnd, with fq pacing"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    recent_seconds: float = RECENT_SECONDS,
    larger_min: float = LARGER_MIN,
) -> pl.LazyFrame:
    """Return the host pairs whose connections repeat slow start; see :class:`Detector`."""
    import polars as pl

    connections = tables["connections"].lazy()
    first = pl.col("initial_window_segments")
    began = (
        openings(tables)
        .filter(first.is_not_null())
        .join(connections.select("flow", *PAIR), on="flow")
        .join(needless(tables["connections"]).select("flow"), on="flow", how="anti")
    )
    shown = (
        with_shown_window(began, connections, at="begin", recent_seconds=recent_seconds)
        .filter(pl.col("window") >= first * larger_min)
        .with_columns(shown="window", window=(pl.col("window") * pl.col("mss")).cast(pl.Int64))
    )
    return (
        with_lost(shown)
        .with_columns(elapsed=pl.col("finish") - pl.col("begin") + pl.col("round_trip"))
        .sort("flow")
        .group_by(PAIR, maintain_order=True)
        .agg(
            pl.col("shown", "earlier_flow", "initial_window_segments").first(),
            flows=pl.col("flow"),
            shown_flow=pl.col("flow").first(),
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            times=pl.len(),
            transaction=pl.when(pl.len() == 1).then(pl.col("transaction").first()),
            start=pl.col("begin").min(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.col("last_frame").max(),
            lost=pl.col("lost").sum(),
            elapsed=pl.col("elapsed").sum(),
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
            confidence=pl.lit(0.85),
            cause=pl.lit("send_limited.slow_start"),
            summary=pl.format(
                "{} of {} to {} repeated slow start, although an earlier one had shown {} in flight",
                counted("times", "connection"),
                "client",
                "server",
                counted("shown", "segment"),
            ),
            evidence=pl.format(
                "flow {} began with {}, and waited from frame {} on; flow {} had been faster",
                "shown_flow",
                counted("initial_window_segments", "segment"),
                "first_frame",
                "earlier_flow",
            ),
            remedy=pl.lit(REMEDY),
        )
    )

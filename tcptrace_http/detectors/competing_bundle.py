"""Connections of two hosts that are in slow start at the same time.

What it does
------------
Finds connections between the same two hosts whose first responses overlap, each of them opening a
congestion window of its own on the same path.

Why it is bad
-------------
They share the path, and none knows of the other. One that begins while another already has a large
window takes the round trips of slow start although the path's capacity is known; together they take
more than the share of one connection from everybody else, and overshoot together.

Evidence
--------
First responses that came in several flights and began while the first response on another connection
of the two hosts was still coming. Lost is what half of the largest flight seen by then, the share of
one of two in an ensemble, would have saved in waits: the shortest, less the pace of the data. Where they
began at the same time nothing shows that they cost anything, and the finding is for information.

Fix
---
One connection with HTTP/2, which shares a window among its streams; or fewer connections to the host
(browsers: six at most; no domain sharding on one server), each used longer.

Reference
---------
L. Eggert, J. Heidemann, J. Touch, Effects of Ensemble-TCP, ACM CCR 30 (1), 2000; RFC 9040, section 7;
RFC 3124.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, OPENINGS, PAIR
from tcptrace_http.detectors._rounds import is_limited_by_its_window, rounds_saved, time_of_rounds
from tcptrace_http.detectors._wording import by_number, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("openings",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps")
GATHERS: Final = (OPENINGS, CONNECTIONS)

#: Of an ensemble of two each has half of the window.
SHARE: Final = 0.5
REMEDY: Final = (
    "HTTP/2 on one connection, or fewer connections to the host (client pool size, no domain sharding), each"
    " of them used longer"
)


def find(tables: Mapping[str, pl.DataFrame], *, share: float = SHARE) -> pl.LazyFrame:
    """Pairs of hosts with connections in slow start at the same time; see :class:`Detector`."""
    import polars as pl

    flights = pl.col("flight_segments")
    last = pl.col("flight_end_ns").list.last().cast(pl.Int64)
    openings = (
        tables["openings"]
        .lazy()
        .join(tables["connections"].lazy().select("flow", *PAIR), on="flow")
        .filter(is_limited_by_its_window())
        .with_columns(finish=pl.col("start") + pl.duration(nanoseconds=last))
        .sort("start", "flow")
    )
    shown = (
        openings.select(*PAIR, "start", "finish", "flight_segments", "flight_end_ns")
        .explode("flight_segments", "flight_end_ns")
        .select(
            *PAIR,
            sent=pl.col("start") + pl.duration(nanoseconds=pl.col("flight_end_ns").cast(pl.Int64)),
            shown_until="finish",
            shown="flight_segments",
        )
        .sort("sent")
    )
    busy_until = pl.col("finish").cum_max().shift(1).over(PAIR)
    is_shown = (pl.col("shown_until") > pl.col("start")).fill_null(value=False)
    window = pl.when(is_shown).then((pl.col("shown") * share).floor())
    saved = rounds_saved(pl.col("window"))
    lost = pl.when(pl.col("window") > flights.list.first()).then(time_of_rounds(saved)).otherwise(0)
    return (
        openings.with_columns(busy_until=busy_until)
        .filter(pl.col("busy_until") > pl.col("start"))
        .join_asof(shown, left_on="start", right_on="sent", by=list(PAIR), check_sortedness=False)
        .with_columns(window=window)
        .with_columns(
            lost=pl.duration(nanoseconds=lost.fill_null(0)),
            elapsed=pl.duration(nanoseconds=last + pl.col("rtt").dt.total_nanoseconds()),
        )
        .sort("flow")
        .group_by(PAIR, maintain_order=True)
        .agg(
            times=pl.len(),
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            transaction=pl.when(pl.len() == 1).then(pl.col("transaction").first()),
            start=pl.col("start").min(),
            first_frame=pl.col("flight_first_frames").list.first().min(),
            last_frame=pl.col("flight_first_frames").list.last().max(),
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
            severity=pl.when(pl.col("lost") == pl.duration()).then(pl.lit("info")),
            confidence=pl.when(pl.col("lost") > pl.duration()).then(0.7).otherwise(0.9),
            cause=pl.when(pl.col("lost") > pl.duration()).then(pl.lit("send_limited.slow_start")),
            summary=pl.format(
                "{} of {} to {} {} in slow start while another of the two hosts was as well",
                counted("times", "connection"),
                "client",
                "server",
                by_number("times", "was", "were"),
            ),
            evidence=pl.format("flows {}, from frame {} on", "flows_shown", "first_frame"),
            remedy=pl.lit(REMEDY),
        )
    )

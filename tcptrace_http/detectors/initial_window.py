"""A server whose initial window is smaller than it may be, or too large for the path.

What it does
------------
Finds connections whose first flight, although there was more to send, was smaller than RFC 6928 allows:
``min(10 * MSS, max(2 * MSS, 14600))`` bytes; and those with a larger one that lost segments of it.

Why it is bad
-------------
Slow start doubles the window each round trip. From 2 or 3 segments a response of 14 kB takes two round
trips more than from 10, on every new connection. A window that overflows a queue on the path in its
first flight costs a retransmission instead, often by timeout, for there is little behind it that would
tell of the loss.

Evidence
--------
The flights of the first response on each connection. A small one is the initial window only if it ends
with a full segment, the next is larger, the receive window was larger still, and nothing was lost;
responses that fit in it show nothing, nor do paths of less than a few milliseconds. Lost are the waits
between flights that the allowed window would have saved: the shortest ones, less the pace of the data.

Fix
---
Linux: ``ip route change … initcwnd 10`` (the default since 2.6.39), or less towards slow links; a reset
``initcwnd`` in the route metrics is a common cause, so is an old kernel, appliance or proxy. For large
windows pacing (``fq``, ``SO_MAX_PACING_RATE``) keeps the first flight from overflowing the queue.

Reference
---------
RFC 6928; RFC 5681, section 3.1; RFC 3390.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, OPENINGS, SERVICE
from tcptrace_http.detectors._rounds import is_limited_by_its_window, rounds_saved, time_of_rounds
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("openings",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps")
GATHERS: Final = (OPENINGS, CONNECTIONS)

#: RFC 6928, section 2.
SEGMENTS_ALLOWED: Final = 10
BYTES_ALLOWED: Final = 14_600
#: A handshake that took longer had its SYN or SYN-ACK lost, after which the window is one segment
#: (RFC 5681, section 3.1): the first retransmission timeout is one second (RFC 6298).
SETUP_MAX_NS: Final = 900_000_000
REMEDY_SMALL: Final = (
    "Linux: ip route change … initcwnd 10 on the server (the default since 2.6.39; look at ip route show for"
    " a smaller one); else a newer kernel, appliance or proxy"
)
REMEDY_LARGE: Final = "Linux: ip route change … initcwnd 10 on the server, or pacing (fq) for the first flight"


def find(tables: Mapping[str, pl.DataFrame], *, segments_allowed: int = SEGMENTS_ALLOWED) -> pl.LazyFrame:
    """Servers whose initial window is not the one allowed; see :class:`Detector`."""
    import polars as pl

    full = pl.col("segment_bytes").cast(pl.Int64)
    allowed = pl.min_horizontal(full * segments_allowed, pl.max_horizontal(full * 2, pl.lit(BYTES_ALLOWED)))
    flights = pl.col("flight_segments")
    first = flights.list.first()
    window = (allowed / full.clip(1)).floor().cast(pl.Int64)
    setup = (pl.col("first_request_time") - pl.col("opened")).dt.total_nanoseconds()
    saved = rounds_saved(window)
    is_small = is_limited_by_its_window() & (first < window) & (setup < SETUP_MAX_NS) & (saved > 0)
    # What goes on for longer than a round trip is let go by ACKs: no window shows in it.
    is_one_window = pl.col("flight_end_ns").list.first().cast(pl.Int64) <= pl.col("rtt").dt.total_nanoseconds()
    # What is lost at its end may be the window of loss recovery already.
    is_large = is_one_window & (pl.col("first_flight_bytes") > allowed) & (pl.col("first_flight_resent") > 0)
    connections = tables["connections"].lazy().select("flow", *SERVICE, "first_request_time", opened="start")
    lost = pl.when(is_small).then(time_of_rounds(saved)).otherwise(0)
    elapsed = pl.col("flight_end_ns").list.last().cast(pl.Int64) + pl.col("rtt").dt.total_nanoseconds()
    return (
        tables["openings"]
        .lazy()
        .join(connections, on="flow", maintain_order="left")
        .filter(is_small | is_large)
        .with_columns(
            is_small=is_small,
            window=window,
            lost=pl.duration(nanoseconds=lost),
            elapsed=pl.duration(nanoseconds=elapsed),
            first=first,
            flights_shown=flights.cast(pl.List(pl.String)).list.join(", "),
        )
        .group_by(*SERVICE, "is_small", maintain_order=True)
        .agg(
            times=pl.len(),
            largest_first=pl.col("first").max(),
            window=pl.col("window").max(),
            lost=pl.col("lost").sum(),
            elapsed=pl.col("elapsed").sum(),
            resent=pl.col("first_flight_resent").sum(),
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            transaction=pl.when(pl.len() == 1).then(pl.col("transaction").first()),
            start=pl.col("start").min(),
            first_frame=pl.col("flight_first_frames").list.first().min(),
            last_frame=pl.col("flight_first_frames").list.last().max(),
            flights_shown=pl.col("flights_shown").first(),
            rtt_ms=(pl.col("rtt").min().dt.total_nanoseconds() / 1e6).round(1),
        )
        .select(
            "flow",
            "transaction",
            "first_frame",
            "last_frame",
            "start",
            "lost",
            "elapsed",
            # An application that pauses behind a full segment once looks the same.
            confidence=pl.when(pl.col("times") > 1).then(0.9).otherwise(0.75),
            cause=pl.lit("send_limited.slow_start"),
            summary=pl.when("is_small")
            .then(
                pl.format(
                    "{} port {} began {} with {} at most, where {} are allowed",
                    "server",
                    "server_port",
                    counted("times", "connection"),
                    counted("largest_first", "segment"),
                    "window",
                )
            )
            .otherwise(
                pl.format(
                    "{} port {} began {} with up to {} and had to send {} of them again",
                    "server",
                    "server_port",
                    counted("times", "connection"),
                    counted("largest_first", "segment"),
                    "resent",
                )
            ),
            evidence=pl.format(
                "the first response came in flights of {} segments, from frame {} on; round trip {} ms",
                "flights_shown",
                "first_frame",
                "rtt_ms",
            ),
            remedy=pl.when("is_small").then(pl.lit(REMEDY_SMALL)).otherwise(pl.lit(REMEDY_LARGE)),
        )
    )

"""A server whose initial window is smaller than allowed, or too large for the path.

What it does
------------
Finds connections whose first flight was smaller than RFC 6928 allows, ``min(10 * MSS, max(2 * MSS, 14600))``
bytes, although more data waited. Also finds connections with a larger first flight that lost segments of it.

Why it is bad
-------------
Slow start doubles the window each round trip. With an initial window of 2 or 3 segments, a response of 14 kB
takes two more round trips than with 10. Every new connection pays for them. An initial window that overflows
a queue on the path costs a retransmission. The retransmission often needs a timeout, because few later
segments reveal the loss.

Evidence
--------
The first flight of the server on each connection, if more data waited behind it for an ACK. Responses that
fit in the first flight prove nothing. Lost is the sum of the waits ``send_limited.slow_start`` of data that
the allowed window would have released at once. For too large a window the finding gives the retransmitted
segments, and lost is 0.

Fix
---
Linux: ``ip route change … initcwnd 10`` (the default since 2.6.39), or less towards slow links. Common causes
are a reset ``initcwnd`` in the route metrics and an old kernel, appliance or proxy. With large windows, use
pacing (``fq``, ``SO_MAX_PACING_RATE``) against queue overflow in the first flight.

Reference
---------
RFC 6928; RFC 5681, section 3.1; RFC 3390.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, OPENINGS, PROFILES, SERVICE
from tcptrace_http.detectors._recoveries import ms
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

#: Allowed initial window (RFC 6928, section 2).
SEGMENTS_ALLOWED: Final = 10
BYTES_ALLOWED: Final = 14_600
#: Maximum handshake time. A longer handshake lost its SYN or SYN-ACK, and the window is then one segment (RFC
#: 5681, section 3.1). The first retransmission timeout is one second (RFC 6298).
SETUP_MAX_NS: Final = 900_000_000
REMEDY_SMALL: Final = (
    "Linux: ip route change … initcwnd 10 on the server (the default since 2.6.39; check ip route show for a"
    " smaller one); or a newer kernel, appliance or proxy"
)
REMEDY_LARGE: Final = "Linux: ip route change … initcwnd 10 on the server, or pacing (fq) for the first flight"


def find(tables: Mapping[str, pl.DataFrame], *, segments_allowed: int = SEGMENTS_ALLOWED) -> pl.LazyFrame:
    """Return the servers whose initial window is not the allowed one; see :class:`Detector`."""
    import polars as pl

    full = pl.col("mss").cast(pl.Int64)
    allowed = pl.min_horizontal(full * segments_allowed, pl.max_horizontal(full * 2, pl.lit(BYTES_ALLOWED)))
    setup = (pl.col("first_request_time") - pl.col("opened")).dt.total_nanoseconds()
    connections = tables["connections"].lazy().select("flow", *SERVICE, "first_request_time", opened="start")
    rows = (
        openings(tables)
        .join(connections, on="flow", maintain_order="left")
        .with_columns(window=allowed, elapsed=pl.col("finish") - pl.col("begin") + pl.col("round_trip"))
    )
    is_small = (pl.col("initial_window_bytes") + full <= pl.col("window")) & (setup < SETUP_MAX_NS)
    small = with_lost(rows.filter(is_small)).with_columns(is_small=True, resent=0, first="initial_window_segments")
    large = (
        rows.filter(pl.col("first_flight_bytes") > pl.col("window"))
        .explode("lost_offsets")
        .filter(pl.col("lost_offsets") < pl.col("first_flight_bytes"))
        .group_by("flow", maintain_order=True)
        .agg(pl.all().exclude("lost_offsets").first(), resent=pl.len())
        .with_columns(is_small=False, lost=pl.duration(), first="first_flight_segments")
    )
    return (
        pl.concat([small, large], how="diagonal_relaxed")
        .with_columns(window=(pl.col("window") // full))
        .group_by(*SERVICE, "is_small", maintain_order=True)
        .agg(
            flows=pl.col("flow"),
            times=pl.len(),
            largest_first=pl.col("first").max(),
            window=pl.col("window").max(),
            lost=pl.col("lost").sum(),
            elapsed=pl.col("elapsed").sum(),
            resent=pl.col("resent").sum(),
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            transaction=pl.when(pl.len() == 1).then(pl.col("transaction").first()),
            start=pl.col("begin").min(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.col("last_frame").max(),
            first_bytes=pl.col("first_flight_bytes").max(),
            round_trip=pl.col("round_trip").min(),
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
            # A single pause of the application behind a full segment looks the same.
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
                    "{} port {} began {} with up to {} and retransmitted {} of them",
                    "server",
                    "server_port",
                    counted("times", "connection"),
                    counted("largest_first", "segment"),
                    "resent",
                )
            ),
            evidence=pl.format(
                "the server sent {} bytes before any ACK of them; frames {} to {}; round trip {} ms",
                "first_bytes",
                "first_frame",
                "last_frame",
                ms("round_trip"),
            ),
            remedy=pl.when("is_small").then(pl.lit(REMEDY_SMALL)).otherwise(pl.lit(REMEDY_LARGE)),
        )
    )

"""The server's part of the TLS handshake exceeds its initial window and waits a round trip.

What it does
------------
Finds TLS handshakes whose first server flight (ServerHello to Finished or ServerHelloDone) exceeds the
server's initial window. The rest of the flight waits for an ACK.

Why it is bad
-------------
The congestion window of a new connection is ten segments, about 14 kB. A larger certificate chain costs a
whole round trip before the first request on every full handshake. At 44 kB the chain costs two.

Evidence
--------
The bytes of the server's first flight, and its bytes before any ACK. The time from the first to the last byte
of the flight is one round trip of the path (or two, or three). No finding is made if the initial window fills
the path: the flight then has no pause. No finding is made for fewer than ten first segments that include a
short one, or for the wait of a short end. A write or Nagle's algorithm explains both. Lost are the round
trips, at most the time of the flight.

Fix
---
Use a smaller chain: omit the root and unnecessary intermediates, use ECDSA instead of RSA keys, divide a
certificate with very many names. Compress certificates (RFC 8879). Let clients resume sessions: a resumption
sends no certificate. Linux: ``ip route change … initcwnd 20`` on the server.

Reference
---------
RFC 6928, section 2; RFC 8446, section 4.4.2; RFC 8879; arXiv 2604.24869 (2026);
https://github.com/proftpd/proftpd/pull/124; https://github.com/quicwg/base-drafts/issues/3784.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms, ns
from tcptrace_http.detectors._tls import LOST_MIN, handshakes
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("tls_handshakes", "waits")
CAUSES: Final = ("setup.tls_handshake",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "pure_acks")

#: Allowed initial window (RFC 6928, section 2). Fewer segments with a short one may be the application's
#: first write.
SEGMENTS_ALLOWED: Final = 10
#: Maximum time of the data itself beyond whole round trips. A longer time has another reason.
ROUND_TRIPS_OVER_MAX: Final = 0.5
REMEDY: Final = (
    "make the certificate chain smaller (no root, no needless intermediates, ECDSA keys, fewer names), compress"
    " certificates (RFC 8879), resume sessions; or Linux: ip route change … initcwnd 20 on the server"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    segments_allowed: int = SEGMENTS_ALLOWED,
    round_trips_over_max: float = ROUND_TRIPS_OVER_MAX,
    lost_min: timedelta = LOST_MIN,
) -> pl.LazyFrame:
    """Return the handshakes with a flight larger than the initial window; see :class:`Detector`."""
    import polars as pl

    window, left = pl.col("first_flight_bytes"), pl.col("server_flight_bytes") - pl.col("first_flight_bytes")
    # Slow start doubles the window per round trip: 1, 3, 7 windows.
    rounds = ((pl.col("server_flight_bytes") / window + 1).log(2).ceil() - 1).cast(pl.Int64)
    is_full = window >= pl.col("first_flight_segments") * pl.col("mss")
    is_window = (pl.col("first_flight_segments") >= segments_allowed) | (is_full & (left >= pl.col("mss")))
    # Such a window keeps the bottleneck busy until the ACKs come back.
    fills_path = window * 8 / pl.col("link_rate") * 1e9 > ns("round_trip") / 2
    return (
        handshakes(tables)
        .filter(~pl.col("hello_retry"), pl.col("server_flight_bytes") > window, is_window)
        .with_columns(rounds=rounds, pause=pl.col("server_flight_last_time") - pl.col("server_hello_time"))
        .with_columns(lost=pl.min_horizontal("pause", pl.col("round_trip") * pl.col("rounds")))
        .filter(
            ns("pause") <= ns("round_trip") * (pl.col("rounds") + round_trips_over_max),
            ~fills_path.fill_null(value=False),
            pl.col("lost") >= lost_min,
        )
        .with_columns(
            start="server_hello_time",
            first_frame="server_hello_frame",
            last_frame="server_flight_last_frame",
            confidence=pl.when(pl.col("first_flight_segments") >= segments_allowed).then(0.9).otherwise(0.75),
            summary=pl.format(
                "the server's TLS handshake flight waited {} because it exceeds the first window by {} bytes",
                counted("rounds", "round trip"),
                left,
            ),
            evidence=pl.format(
                "flight of {} bytes{}, {} of them in {} before an ACK; frames {} to {} in {} ms; round trip {} ms",
                "server_flight_bytes",
                pl.format(" (certificate chain: {})", "certificate_bytes").fill_null(""),
                window,
                counted("first_flight_segments", "segment"),
                "server_hello_frame",
                "server_flight_last_frame",
                ms("pause"),
                ms("round_trip"),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

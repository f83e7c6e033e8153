"""The client acknowledges many segments at once, and slow start opens the window slowly.

What it does
------------
Finds responses in slow start with more round trips than ACKs of every second segment need. Most of the
client's ACKs covered more than two full segments.

Why it is bad
-------------
A sender that counts ACKs, or at most two segments per ACK (RFC 3465), opens its window in proportion to the
ACKs. With one ACK per flight the window grows by one or two segments per round trip instead of doubling. A
response of five round trips takes ten.

Evidence
--------
The waits ``send_limited.slow_start`` of the response, and the number of the connection's ACKs for more than
two segments. A burst or an offload engine also merges ACKs. A sender that counts bytes (Linux) then needs no
more round trips, and no finding is made. Lost is the sum of the waits beyond those round trips.

Fix
---
Receiver: send an ACK for every second segment (RFC 5681, section 4.2); turn off ACK thinning in modems and
proxies, and GRO or LRO if it merges segments that arrived separately (``ethtool -K DEV lro off``). Sender:
count bytes with a larger limit (RFC 3465, L > 2).

Reference
---------
RFC 2525, section 2.13; RFC 5681, section 4.2; H. Kruse, M. Allman, J. Griner, D. Tran, Experimentation and
Modeling of HTTP Over Satellite Channels, 2001, section 2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("send_limited.slow_start",)
NEEDS: Final = ("both_directions", "no_gaps", "segments_as_sent", "whole_payload", "pure_acks")

#: Minimum share and number of ACKs for more than two segments: systematic, not a single burst.
STRETCH_SHARE_MIN: Final = 0.5
STRETCH_ACKS_MIN: Final = 4
#: Growth factor of slow start per round trip with an ACK for each second segment.
DELAYED_ACK_GROWTH: Final = 1.5
#: Minimum wait as a share of a round trip. A shorter wait is for another ACK of the same flight.
ROUND_SHARE_MIN: Final = 0.5
#: Minimum round trip: a shorter one costs less than the measurement error.
RTT_MIN_NS: Final = 4_000_000

REMEDY: Final = (
    "Let the receiver acknowledge every second segment (RFC 5681, 4.2): no ACK thinning on the path, no LRO"
    " (ethtool -K DEV lro off); or a sender that counts acknowledged bytes (Linux)"
)
CONFIDENCE: Final = 0.75


def find(tables: Mapping[str, pl.DataFrame], *, stretch_share_min: float = STRETCH_SHARE_MIN) -> pl.LazyFrame:
    """Return the responses with slow start delayed by stretch ACKs; see :class:`Detector`."""
    import polars as pl

    key = ["flow", "transaction"]
    length = pl.col("end") - pl.col("start")
    rtt = pl.col("round_trip").dt.total_nanoseconds()
    profiles = (
        tables["profiles"]
        .lazy()
        .filter(
            pl.col("direction").cast(pl.String) == "server_to_client",
            pl.col("stretch_acks") >= STRETCH_ACKS_MIN,
            pl.col("stretch_acks") >= stretch_share_min * pl.col("acks"),
            pl.col("retransmissions") == 0,
            rtt >= RTT_MIN_NS,
        )
        .select("flow", "round_trip", "acks", "stretch_acks", "first_flight_bytes")
    )
    transactions = tables["transactions"].lazy().select("flow", "response_wire_bytes", transaction=pl.col("index"))
    factor = DELAYED_ACK_GROWTH
    flights = pl.col("response_wire_bytes") * (factor - 1) / pl.col("first_flight_bytes") + 1
    # The first flight does not wait.
    needed = (flights.log(factor).ceil() - 1).clip(0).cast(pl.UInt32)
    return (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String).is_in(CAUSES))
        .join(profiles, on="flow", maintain_order="left")
        .filter(length >= pl.col("round_trip") * ROUND_SHARE_MIN)
        .group_by(*key, "round_trip", "acks", "stretch_acks", "first_flight_bytes", maintain_order=True)
        .agg(
            pl.col("start", "first_frame").first(),
            pl.col("last_frame").last(),
            rounds=pl.len(),
            waited=length,
        )
        .join(transactions, on=key, maintain_order="left")
        .with_columns(needed=needed)
        .filter(pl.col("rounds") > pl.col("needed"))
        .with_columns(
            lost=pl.col("waited").list.slice(pl.col("needed")).list.sum(),
            confidence=pl.lit(CONFIDENCE),
            cause=pl.lit("send_limited.slow_start"),
            summary=pl.format(
                "{} of the client's {} ACKs were for more than two segments, and slow start waited for {}"
                " round trips although {} suffice",
                "stretch_acks",
                "acks",
                "rounds",
                "needed",
            ),
            evidence=pl.format(
                "frames {} to {}; first flight {} bytes; round trip {} ms",
                "first_frame",
                "last_frame",
                "first_flight_bytes",
                ms("round_trip"),
            ),
            remedy=pl.lit(REMEDY),
        )
        .drop("waited")
    )

"""The client acknowledges many segments at once, and slow start opens the window slowly.

What it does
------------
Finds responses in slow start that waited for more round trips than an ACK for each second segment needs, while
most of the client's ACKs were for more than two full segments.

Why it is bad
-------------
A sender that counts ACKs, or two segments for each at most (RFC 3465), opens its window by as much as it gets
ACKs. With one ACK for a whole flight it grows by one or two segments a round trip instead of doubling: a
response that would take five round trips takes ten.

Evidence
--------
The waits ``send_limited.slow_start`` of the response, and how many ACKs of the connection were for more than two
segments. ACKs that come together because the data did, as behind a burst or an offload engine, do no harm to a
sender that counts bytes (Linux): it needs no more round trips, and there is no finding. Lost is the sum of the
waits beyond those round trips.

Fix
---
Receiver: an ACK for every second segment (RFC 5681, section 4.2); turn off ACK thinning in modems and
proxies, and GRO or LRO where it joins what did not come together (``ethtool -K DEV lro off``). Sender: count
bytes with a larger limit (RFC 3465, L > 2).

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

#: Of the ACKs this share is for more than two segments: systematic, not a burst now and then.
STRETCH_SHARE_MIN: Final = 0.5
STRETCH_ACKS_MIN: Final = 4
#: With an ACK for each second segment slow start grows by this factor per round trip.
DELAYED_ACK_GROWTH: Final = 1.5
#: A wait of less than this share of a round trip is one for another ACK of the same flight.
ROUND_SHARE_MIN: Final = 0.5
#: Below this round trip a round costs less than can be measured.
RTT_MIN_NS: Final = 4_000_000

REMEDY: Final = (
    "Let the receiver acknowledge every second segment (RFC 5681, 4.2): no ACK thinning on the path, no LRO"
    " (ethtool -K DEV lro off); or a sender that counts acknowledged bytes (Linux)"
)
CONFIDENCE: Final = 0.75


def find(tables: Mapping[str, pl.DataFrame], *, stretch_share_min: float = STRETCH_SHARE_MIN) -> pl.LazyFrame:
    """Responses whose slow start was slowed by stretch ACKs; see :class:`Detector`."""
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
    # The first flight waits for nothing.
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
                "{} of the client's {} ACKs were for more than two segments, and slow start waited for {} round"
                " trips where {} would have done",
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

"""The client acknowledges many segments at once, and slow start opens the window slowly.

What it does
------------
Finds responses whose flights grew by little more than one segment for each ACK, while most of the client's
ACKs were for more than two full segments.

Why it is bad
-------------
A sender that counts ACKs, or two segments for each at most (RFC 3465), opens its window by as much as it gets
ACKs. With one ACK for a whole flight it grows by one or two segments a round trip instead of doubling: a
response that would take five round trips takes ten.

Evidence
--------
The number of ACKs and how many were for more than two segments; the flights, each a round trip after the
one before, that grew by less than half. ACKs that come together because the data did, as behind a burst or an
offload engine, do no harm to a sender that counts bytes (Linux), and are not told: the flights must show the
cost. Lost is the rounds beyond those that an ACK for each second segment needs.

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

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("flights",)
NEEDS: Final = ("both_directions", "no_gaps", "segments_as_sent", "whole_payload", "pure_acks")

#: Of the ACKs this share is for more than two segments: systematic, not a burst now and then.
STRETCH_SHARE_MIN: Final = 0.5
STRETCH_ACKS_MIN: Final = 4
#: A flight grows by about this many segments for each ACK at most: one, or two with RFC 3465.
GROWTH_PER_ACK_MAX: Final = 2.0
#: Rounds in which the window opened, however slowly: flights of one size have another limit.
GROWING_ROUNDS_MIN: Final = 3
#: With an ACK for each second segment slow start grows by this factor a round trip.
DELAYED_ACK_GROWTH: Final = 1.5
#: Each flight starts one round trip after the one before.
ROUND_SHARES: Final = (0.85, 1.5)
#: Below this round trip a round costs less than can be measured.
RTT_MIN_NS: Final = 4_000_000

REMEDY: Final = (
    "Let the receiver acknowledge every second segment (RFC 5681, 4.2): no ACK thinning on the path, no LRO"
    " (ethtool -K DEV lro off); or a sender that counts acknowledged bytes (Linux)"
)
CONFIDENCE: Final = 0.75


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    stretch_share_min: float = STRETCH_SHARE_MIN,
    growing_rounds_min: int = GROWING_ROUNDS_MIN,
) -> pl.LazyFrame:
    """Responses whose slow start was slowed by stretch ACKs; see :class:`Detector`."""
    import polars as pl

    flights = pl.col("flight_segments").list.head(pl.col("flight_segments").list.len() - 1).cast(pl.List(pl.Int64))
    growth = flights.list.diff().list.drop_nulls()
    starts = pl.col("flight_start_ns").cast(pl.List(pl.Int64))
    rtt = pl.col("rtt").dt.total_nanoseconds()
    segments = pl.col("flight_segments").list.sum()
    rounds = pl.col("flight_segments").list.len()
    factor = DELAYED_ACK_GROWTH
    needed = (segments * (factor - 1) / pl.col("flight_segments").list.first() + 1).log(factor).ceil().clip(1)
    surplus = (rounds - needed).cast(pl.Int64)
    return (
        tables["flights"]
        .lazy()
        .with_columns(
            round=starts.list.diff().list.drop_nulls().list.median(),
            growing_rounds=growth.list.eval((pl.element() > 0).cast(pl.Int64)).list.sum(),
            growth=growth.list.sum(),
        )
        .filter(
            pl.col("stretch_acks") >= STRETCH_ACKS_MIN,
            pl.col("stretch_acks") >= stretch_share_min * pl.col("acks"),
            pl.col("growing_rounds") >= growing_rounds_min,
            pl.col("growth") <= GROWTH_PER_ACK_MAX * pl.col("acks"),
            pl.col("retransmissions") + pl.col("earlier_retransmissions") == 0,
            (pl.col("round") / rtt).is_between(*ROUND_SHARES),
            rtt >= RTT_MIN_NS,
            surplus > 0,
        )
        .with_columns(
            lost=(surplus * pl.col("round")).cast(pl.Int64).cast(pl.Duration("ns")),
            first_frame=pl.col("flight_first_frames").list.first(),
            last_frame=pl.col("flight_first_frames").list.last(),
            confidence=pl.lit(CONFIDENCE),
            cause=pl.lit("send_limited.slow_start"),
            summary=pl.format(
                "{} of the client's {} ACKs were for more than two segments, and slow start took {} round trips"
                " where {} would have done",
                "stretch_acks",
                "acks",
                rounds,
                needed.cast(pl.Int64),
            ),
            evidence=pl.format(
                "flights of {} segments start in frames {}; round trip {} ms",
                pl.col("flight_segments").cast(pl.List(pl.String)).list.join(", "),
                pl.col("flight_first_frames").cast(pl.List(pl.String)).list.join(", "),
                (rtt / 1e6).round(1),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

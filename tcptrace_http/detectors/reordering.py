"""The path delivers segments out of order.

What it does
------------
Finds flows whose segments overtook each other. If the receiver did not wait for the late segment, the finding
is structure without a cost.

Why it is bad
-------------
The receiver cannot use data behind a hole until the late segment fills it. Three duplicate ACKs look like a
loss: the sender retransmits data that is still in flight, and halves its window.

Evidence
--------
A segment that fills a hole and was sent before the data behind the hole. Its IPv4 identification or timestamp
proves the order, or it arrived before the sender could detect the hole. Near the sender, segments are
captured in sending order: SACKs reported a hole that was filled without a retransmission, or with a spurious
one. Lost is the silence before the late segment.

Fix
---
Balance the load of links by flow, not by packet (layer 3+4 hashing on bonds and ECMP). On Linux senders RACK
(``net.ipv4.tcp_recovery=1``) and ``net.ipv4.tcp_reordering`` tolerate more reordering. On receivers with
several queues keep one flow on one queue.

Reference
---------
RFC 4737; RFC 8985; S. Jaiswal et al., Measurement and Classification of Out-of-Sequence Packets in a Tier-1
IP Backbone, INFOCOM 2003; M. Mellia et al., Passive Analysis of TCP Anomalies, 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import CONFIDENCE_MIN, ms, ns
from tcptrace_http.detectors._wording import by_number, counted, times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("recoveries", "waits")
NEEDS: Final = ("both_directions", "no_gaps")

#: Words of ``spurious_by`` with which the receiver confirms the arrival of the original. An early ACK is only
#: an inference from a round trip, and acknowledged data may be retransmitted for any reason.
ARRIVED_BY: Final = ("dsack", "timestamps", "original_arrived")
REMEDY: Final = (
    "spread load over links by flow, not by packet (bonds and ECMP: layer 3+4 hashing);"
    " Linux senders: net.ipv4.tcp_recovery=1 (RACK)"
)


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the flows with reordering on their path; see :class:`Detector`."""
    import polars as pl

    late = (pl.col("end") - pl.col("start")).cast(pl.Duration("ns"))
    is_response = pl.col("direction").cast(pl.String) == "server_to_client"
    kind = pl.col("kind").cast(pl.String)
    is_seen = kind == "reordering"
    is_reported = (kind == "fast_recovery") & pl.col("spurious_by").cast(pl.String).is_in(ARRIVED_BY)
    return (
        tables["recoveries"]
        .lazy()
        .filter(is_seen | is_reported, pl.col("confidence") >= CONFIDENCE_MIN)
        # Near the sender, the wait for a late segment looks like the wait for the flight.
        .with_columns(silence=pl.when(is_seen).then("silence").otherwise(pl.duration(nanoseconds=0)))
        .group_by("flow", "direction", maintain_order=True)
        .agg(
            pl.col("first_frame", "start").first(),
            pl.col("last_frame").max(),
            pl.col("confidence").max(),
            transaction=pl.when(pl.col("transaction").n_unique() == 1).then(pl.col("transaction").first()),
            times=pl.len(),
            segments=pl.col("resent_segments").sum(),
            latest=late.filter(is_seen).max(),
            most_acks=pl.col("duplicate_acks").max(),
            lost=pl.col("silence").sum(),
        )
        .with_columns(
            severity=pl.when(ns("lost") == 0).then(pl.lit("info")),
            cause=pl.when(ns("lost") > 0).then(pl.lit("network.reordering")),
            summary=pl.format(
                "{} of the {} {} overtaken on the path{}",
                counted("segments", "segment"),
                pl.when(is_response).then(pl.lit("server")).otherwise(pl.lit("client")),
                by_number("segments", "was", "were"),
                pl.format(", by up to {} ms", ms("latest")).fill_null(""),
            ),
            evidence=pl.format(
                "{}, first in frame {}; up to {}; {} ms of silence",
                times("times"),
                "first_frame",
                counted("most_acks", "duplicate ACK"),
                ms("lost"),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

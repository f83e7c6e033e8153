"""The path delivers segments in another order than they were sent.

What it does
------------
Finds flows whose segments overtook each other: often, or so far that duplicate ACKs followed, or so
late that the receiver waited.

Why it is bad
-------------
Data behind the hole cannot be used until it is filled. Three duplicate ACKs look like a loss: the
sender sends again what is on its way, and halves its window.

Evidence
--------
A segment that fills a hole and was sent before what came behind the hole: its IPv4 identification or
timestamp says so, or it came sooner than the sender can have heard of the hole. What was lost is the
time in which nothing else came by before it.

Fix
---
Spread load over links by flow, not by packet (layer 3+4 hashing on bonds and ECMP, no per-packet load
balancing); on Linux senders RACK (``net.ipv4.tcp_recovery=1``) and ``net.ipv4.tcp_reordering`` bear
more; on receivers with several queues keep one flow on one queue.

Reference
---------
RFC 4737; RFC 8985; S. Jaiswal et al., Measurement and Classification of Out-of-Sequence Packets in a
Tier-1 IP Backbone, INFOCOM 2003; M. Mellia et al., Passive Analysis of TCP Anomalies, 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import CONFIDENCE_MIN, ms, ns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("recoveries", "waits")
NEEDS: Final = ("no_gaps",)

#: Duplicate ACKs that look like a loss (RFC 5681, section 3.2).
DUPLICATE_ACKS: Final = 3
#: One segment that comes late is a rerouting; a path that reorders does so again.
TIMES_MIN: Final = 3
REMEDY: Final = (
    "spread load over links by flow, not by packet (bonds and ECMP: layer 3+4 hashing);"
    " Linux senders: net.ipv4.tcp_recovery=1 (RACK)"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    duplicate_acks: int = DUPLICATE_ACKS,
    times_min: int = TIMES_MIN,
) -> pl.LazyFrame:
    """Flows whose path reorders; see :class:`Detector`."""
    import polars as pl

    late = (pl.col("end") - pl.col("start")).cast(pl.Duration("ns"))
    is_response = pl.col("direction").cast(pl.String) == "server_to_client"
    looks_like_loss = pl.col("most_acks") >= duplicate_acks
    return (
        tables["recoveries"]
        .lazy()
        .filter(pl.col("kind").cast(pl.String) == "reordering", pl.col("confidence") >= CONFIDENCE_MIN)
        .group_by("flow", "direction", maintain_order=True)
        .agg(
            pl.col("first_frame", "start").first(),
            pl.col("last_frame").max(),
            pl.col("confidence").max(),
            transaction=pl.when(pl.col("transaction").n_unique() == 1).then(pl.col("transaction").first()),
            times=pl.len(),
            segments=pl.col("resent_segments").sum(),
            latest=late.max(),
            most_acks=pl.col("duplicate_acks").max(),
            lost=pl.col("silence").sum(),
        )
        .filter((pl.col("times") >= times_min) | looks_like_loss | (ns("lost") > 0))
        .with_columns(
            severity=pl.when(ns("lost") == 0).then(pl.lit("info")),
            cause=pl.when(ns("lost") > 0).then(pl.lit("network.reordering")),
            summary=pl.format(
                "{} segments of the {} were overtaken on the path, by up to {} ms",
                "segments",
                pl.when(is_response).then(pl.lit("server")).otherwise(pl.lit("client")),
                ms("latest"),
            ),
            evidence=pl.format(
                "{} times, first in frame {}; up to {} duplicate ACKs; {} ms in which nothing else came",
                "times",
                "first_frame",
                "most_acks",
                ms("lost"),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

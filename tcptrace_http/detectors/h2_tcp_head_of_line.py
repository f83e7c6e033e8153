"""One lost segment holds up all streams of an HTTP/2 connection.

What it does
------------
Finds lost segments, and the streams whose bytes came behind them. Their data had arrived, or would have
arrived, but TCP could not deliver it.

Why it is bad
-------------
TCP delivers bytes to its application in order. One loss stops every stream for at least one round trip. With
separate connections or QUIC, one loss stops one stream. On a lossy path each loss costs more with more
streams per connection.

Evidence
--------
Waits for a loss (``stall.fast_recovery``, ``stall.retransmission_timeout``, ``stall.tail_loss``) in streams
without bytes in the lost segment. There is one finding per lost segment. Lost is the sum over the streams
behind the segment. The detectors retransmission-timeout and tail-loss cover the stream whose own bytes were
lost.

Fix
---
Repair the path first: find the packet drops. Let the server pace (fq; BBR) and use RACK and tail-loss probes,
so that a loss costs one round trip. Use HTTP/3, whose streams are independent (nginx ``listen 443 quic``,
Caddy and Envoy by configuration). Give large downloads their own connection.

Reference
---------
RFC 9113, section 5; RFC 9114, section 1.2; RFC 9000, section 2; RFC 8985.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import with_hosts
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._wording import by_number, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("stall.fast_recovery", "stall.retransmission_timeout", "stall.tail_loss")
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")

#: Minimum loss for a finding: host scheduling alone costs this much.
LOST_MIN: Final = timedelta(milliseconds=5)
#: Maximum number of streams that a finding lists.
STREAMS_SHOWN: Final = 8
REMEDY: Final = (
    "find the device that drops packets; {}: fq pacing, net.ipv4.tcp_recovery=1 (RACK), tcp_early_retrans=3 and"
    " tcp_sack=1, so that a loss costs one round trip; HTTP/3 (nginx listen 443 quic), whose streams are"
    " independent of each other's losses; a separate connection for large downloads"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the lost segments with other streams behind them; see :class:`Detector`."""
    import polars as pl

    stands = pl.col("behind_stream").is_not_null()
    streams = tables["transactions"].lazy().select("flow", "stream", transaction="index")
    return (
        tables["waits"]
        .lazy()
        .with_columns(pl.col("cause").cast(pl.String), lost=pl.col("end") - pl.col("start"))
        .filter(pl.col("cause").is_in(CAUSES))
        .join(streams, on=["flow", "transaction"], how="left", maintain_order="left")
        # The retransmission releases every stream behind the segment, and the segment's own stream.
        .group_by("flow", "direction", "cause", "end", maintain_order=True)
        .agg(
            pl.col("first_frame", "last_frame").max(),
            pl.col("start").filter(stands).min(),
            pl.col("confidence").filter(stands).mean(),
            pl.col("lost").filter(stands).sum(),
            longest=pl.col("lost").filter(stands).max(),
            behind=stands.sum(),
            transaction=pl.when(stands.sum() == 1).then(pl.col("transaction").filter(stands).first()),
            shown=pl.col("stream").filter(stands).head(STREAMS_SHOWN).cast(pl.String).str.join(", "),
        )
        .filter(pl.col("behind") > 0, pl.col("longest") >= lost_min)
        .pipe(with_hosts)
        .with_columns(
            summary=pl.format(
                "{} waited up to {} ms behind a lost segment of the {} with none of {} bytes",
                counted("behind", "stream"),
                ms("longest"),
                "who",
                by_number("behind", "its", "their"),
            ),
            evidence=pl.format(
                "streams {}{}; frames {} to {}; {} ms in all",
                "shown",
                pl.when(pl.col("behind") > STREAMS_SHOWN).then(pl.lit(" …")).otherwise(pl.lit("")),
                "first_frame",
                "last_frame",
                ms("lost"),
            ),
            remedy=pl.format(REMEDY, "who"),
        )
    )

"""Segments inside responses are not full: the server writes pieces that do not fill segments.

What it does
------------
Finds connections whose responses have several short segments before the last one. The responses took more
segments than their bytes need.

Why it is bad
-------------
Each segment costs 40 bytes of IP and TCP headers, link headers, an interrupt, and part of an ACK. A
congestion window counts segments, so a window of short segments carries less. With Nagle's algorithm each
short segment may delay the next (nagle-hold, nagle-delayed-ack and odd-short-final-segment give that time).

Evidence
--------
The number of segments, of short segments, and of full segments for the same bytes. A header counts 66 bytes:
Ethernet, IPv4, and TCP with timestamps. No time is claimed: lost is 0 and the severity info.

Fix
---
Write in larger pieces, or let the kernel fill segments: nginx ``output_buffers 2 32k``, ``proxy_buffering
on`` or larger ``proxy_buffers``, ``tcp_nopush on``; chunked encoding with size line, data and CRLF in one
writev; MSG_MORE or TCP_CORK around the writes; fewer flushes in applications.

Reference
---------
D. Gürkan, A Simulation Study on HTTP Performance Analysis in Terms of Its Interaction with TCP, Bilkent
University, 1998 (segment-filled pipelining); RFC 896; J. Mogul, G. Minshall, Rethinking the TCP Nagle
Algorithm, 2001.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._wording import by_number, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("segmentation",)
NEEDS: Final = ("no_gaps", "segments_as_sent", "whole_payload")

#: Minimum number of extra segments. One is a separate head or one flush; several are a pattern.
EXTRA_SEGMENTS_MIN: Final = 3
#: Minimum share of extra segments.
EXTRA_SHARE_MIN: Final = 0.1
#: Minimum number of extra segments per short segment. Full segments of a path with a smaller MTU look short
#: but cost few extra segments; each truly short one costs at least half of one. A full segment that arrived
#: excludes such a path.
EXTRA_OF_UNFILLED_MIN: Final = 0.5
#: Ethernet 14, IPv4 20, TCP with timestamps 32.
HEADER_BYTES: Final = 66

REMEDY: Final = (
    "Write in larger pieces or let the kernel fill segments (nginx: tcp_nopush on, larger output_buffers,"
    " proxy_buffering on; MSG_MORE or TCP_CORK; head, chunk size and data in one writev)"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    extra_segments_min: int = EXTRA_SEGMENTS_MIN,
    extra_share_min: float = EXTRA_SHARE_MIN,
) -> pl.LazyFrame:
    """Return the connections with unfilled segments in their responses; see :class:`Detector`."""
    import polars as pl

    full = pl.col("segment_bytes").cast(pl.UInt64)
    needed = ((pl.col("message_bytes") + full - 1) // full).cast(pl.Int64)
    return (
        tables["segmentation"]
        .lazy()
        .filter(pl.col("direction") == "server_to_client", pl.col("unfilled_segments") > 0)
        .with_columns(extra=pl.col("segments").cast(pl.Int64) - needed)
        .filter(pl.col("extra") >= extra_share_min * pl.col("segments"))
        .group_by("flow", maintain_order=True)
        .agg(
            pl.col("segments", "unfilled_segments", "extra", "message_bytes").sum(),
            responses=pl.len(),
            had_full=(pl.col("full_segments_by_end") > 0).any(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.col("first_frame").max(),
            start=pl.col("first_time").min(),
        )
        .filter(
            pl.col("extra") >= extra_segments_min,
            pl.col("had_full") | (pl.col("extra") >= EXTRA_OF_UNFILLED_MIN * pl.col("unfilled_segments")),
        )
        .with_columns(
            transaction=pl.lit(None, pl.UInt32),
            lost=pl.lit(0).cast(pl.Duration("ns")),
            confidence=pl.lit(0.95),
            cause=pl.lit(None, pl.String),
            severity=pl.lit("info"),
            summary=pl.format(
                "{} of {} segments of {} {} short before the last: {} segments more than their bytes fill,"
                " {} bytes of headers",
                "unfilled_segments",
                "segments",
                counted("responses", "response"),
                by_number("unfilled_segments", "was", "were"),
                "extra",
                pl.col("extra") * HEADER_BYTES,
            ),
            evidence=pl.format(
                "{} bytes in {} segments, {} suffice; the first response starts in frame {}",
                "message_bytes",
                "segments",
                pl.col("segments").cast(pl.Int64) - pl.col("extra"),
                "first_frame",
            ),
            remedy=pl.lit(REMEDY),
        )
    )

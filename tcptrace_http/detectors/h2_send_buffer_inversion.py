"""An urgent HTTP/2 response waits behind less urgent bytes that the server had already sent or buffered.

What it does
------------
Finds responses that waited behind bytes of a stream with a lower urgency. Without any urgency, finds small
responses behind large ones, for information.

Why it is bad
-------------
A server that writes megabytes into its socket fixes their order. A stream requested later waits behind all of
them, whatever its urgency. On a slow path the wait takes seconds, and priorities have no effect.

Evidence
--------
The time in which bytes of other streams preceded the response's own bytes (the waits
``send_limited.multiplexed_behind``). Both urgencies follow RFC 9218 (3 if only one stream has one). Lost is
the sum of the waits behind less urgent streams. Without any urgency the server chooses the order: the finding
is ``info``, with a confidence of 0.5 at most.

Fix
---
Limit the unsent data in the kernel: ``net.ipv4.tcp_notsent_lowat=16384`` (or the socket option
``TCP_NOTSENT_LOWAT``), with BBR and fq; a small frame (nginx ``http2_chunk_size 8k``); a server that follows
the ``priority`` field. Clients: send ``priority: u=…``.

Reference
---------
RFC 9218, sections 4.1 and 10; P. Meenan, Optimizing HTTP/2 prioritization with BBR and tcp_notsent_lowat,
2018 (https://blog.cloudflare.com/http-2-prioritization-with-nginx).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("send_limited.multiplexed_behind",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")

#: Minimum loss. A stream waits for one or two frames of other streams on any server.
LOST_MIN: Final = timedelta(milliseconds=20)
#: Default urgency (RFC 9218, section 4.1).
DEFAULT_URGENCY: Final = 3
#: Without urgency: maximum size of the waiting response, one default frame (RFC 9113, section 4.2), and
#: minimum factor of the bytes before it.
SMALL_BYTES_MAX: Final = 16_384
LARGER_MIN: Final = 10
CONFIDENCE_BY_SIZE: Final = 0.5
REMEDY: Final = (
    "server: net.ipv4.tcp_notsent_lowat=16384 (or TCP_NOTSENT_LOWAT), with bbr and fq, so that the next frame"
    " is chosen late; small frames (nginx http2_chunk_size 8k); follow the priority field (RFC 9218); client:"
    " priority: u=0 to u=7 on its requests"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    lost_min: timedelta = LOST_MIN,
    small_bytes_max: int = SMALL_BYTES_MAX,
    larger_min: int = LARGER_MIN,
) -> pl.LazyFrame:
    """Return the responses behind less urgent bytes; see :class:`Detector`."""
    import polars as pl

    own = pl.col("urgency").fill_null(DEFAULT_URGENCY)
    other = pl.col("behind_urgency").fill_null(DEFAULT_URGENCY)
    has_urgency = pl.col("urgency").is_not_null() | pl.col("behind_urgency").is_not_null()
    is_small = (pl.col("bytes") <= small_bytes_max) & (pl.col("behind_bytes") >= larger_min * pl.col("bytes"))
    return (
        _behind(tables)
        .filter(pl.when(has_urgency).then(own < other).otherwise(is_small))
        .with_columns(has_urgency=has_urgency, urgency=own, behind_urgency=other)
        .group_by("flow", "transaction", maintain_order=True)
        .agg(
            pl.col("start", "first_frame", "stream", "bytes").first(),
            pl.col("behind_stream", "behind_bytes", "urgency", "behind_urgency", "confidence", "has_urgency")
            .sort_by("lost")
            .last(),
            pl.col("lost").sum(),
            last_frame=pl.max_horizontal("last_frame", "response_first_frame").max(),
        )
        .filter(pl.col("lost") >= lost_min)
        .with_columns(
            cause=pl.lit(CAUSES[0]),
            severity=pl.when(~pl.col("has_urgency")).then(pl.lit("info")),
            confidence=pl.when("has_urgency")
            .then("confidence")
            .otherwise(pl.min_horizontal("confidence", pl.lit(CONFIDENCE_BY_SIZE))),
            summary=pl.when("has_urgency")
            .then(
                pl.format(
                    "the response of urgency {} waited {} ms behind bytes of stream {}, of urgency {}",
                    "urgency",
                    ms("lost"),
                    "behind_stream",
                    "behind_urgency",
                )
            )
            .otherwise(
                pl.format(
                    "the response of {} bytes waited {} ms behind bytes of stream {}, which has {}; no urgency was"
                    " given",
                    "bytes",
                    ms("lost"),
                    "behind_stream",
                    "behind_bytes",
                )
            ),
            evidence=pl.format("stream {}; frames {} to {}", "stream", "first_frame", "last_frame"),
            remedy=pl.lit(REMEDY),
        )
    )


def _behind(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the waits of responses behind other streams, with size and urgency of both."""
    import polars as pl

    about = ("urgency", "response_first_frame", pl.col("response_wire_bytes").alias("bytes"))
    streams = tables["transactions"].lazy()
    own = streams.select("flow", "stream", *about, transaction="index")
    other = streams.filter(pl.col("stream").is_not_null()).select(
        "flow", behind_stream="stream", behind_urgency="urgency", behind_bytes="response_wire_bytes"
    )
    return (
        tables["waits"]
        .lazy()
        .filter(
            pl.col("cause").cast(pl.String).is_in(CAUSES),
            pl.col("direction").cast(pl.String) == "server_to_client",
        )
        .select(
            *("flow", "transaction", "start", "first_frame", "last_frame", "confidence", "behind_stream"),
            lost=pl.col("end") - pl.col("start"),
        )
        .join(own, on=["flow", "transaction"], how="inner", maintain_order="left")
        .join(other, on=["flow", "behind_stream"], how="inner", maintain_order="left")
    )

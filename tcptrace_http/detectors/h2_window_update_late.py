"""A receiver of HTTP/2 had all that its window allowed, and gave no more.

What it does
------------
Finds responses and uploads over HTTP/2 whose receiver had got all DATA of a used-up window, and sent its
WINDOW_UPDATE only a while later.

Why it is bad
-------------
The sender may not send, and nothing is on its way: the path is idle for that time, once per window. Where the
window of the connection is used up, one stream that nobody reads stops all others.

Evidence
--------
The last DATA of the window, and the WINDOW_UPDATE that followed late (the waits
``send_limited.h2_window_update``). A capture at the sender's side shows both one path later; that time is taken
off. Whether the application did not read or its library held the update back is not to be told from outside:
confidence is 0.5 at most. Lost is the sum of these waits.

Fix
---
Read the body of every stream without pause, or cancel it (RST_STREAM); no blocking work in the callback that
takes data (Node.js streams, Netty event loops). Libraries: give back the window as data is read, at half of it
at the latest. A window of several round trips hides short pauses.

Reference
---------
RFC 9113, sections 5.2.2 and 6.9.1; https://github.com/haproxy/haproxy/pull/1732;
https://github.com/cockroachdb/cockroach/pull/35161.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._h2_windows import NEEDS, waited_for_window
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("send_limited.h2_window_update",)

#: Far from the receiver only the path's least round trip tells when it had all: it may have been late by jitter.
LOST_MIN: Final = timedelta(milliseconds=20)
#: The application may have been slow, or its library: both look the same.
CONFIDENCE_MAX: Final = 0.5
REMEDY: Final = (
    "{}: read the bodies of all streams without pause, or reset those that nobody reads; no blocking work in"
    " the callback that takes data; WINDOW_UPDATE when half of the window is read, at the latest; a window of"
    " several round trips hides short pauses"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Messages that waited for a receiver with all of its window; see :class:`Detector`."""
    import polars as pl

    is_of_stream = pl.col("constraint") == "h2_stream_window"
    which = pl.when(is_of_stream).then(pl.lit("of its stream")).otherwise(pl.lit("of the connection"))
    return waited_for_window(tables, CAUSES, room=pl.lit(""), lost_min=lost_min).with_columns(
        confidence=pl.min_horizontal("confidence", pl.lit(CONFIDENCE_MAX)),
        summary=pl.format(
            "the {} had all that its window {} allowed of the {}, and gave no more for {} ms, {}",
            "receiver",
            which,
            "what",
            ms("lost"),
            times("waits"),
        ),
        evidence=pl.format(
            "frames {} to {} of stream {}; WINDOW_UPDATE in frame {}; the {} gives a stream {} bytes, and gave the"
            " connection {} at its start",
            "first_frame",
            "last_frame",
            "stream",
            pl.col("released_by").cast(pl.String).fill_null("unknown"),
            "receiver",
            "stream_window",
            "connection_window",
        ),
        remedy=pl.format(REMEDY, "receiver"),
    )

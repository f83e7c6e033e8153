"""An HTTP/2 receiver had received its whole window and sent no WINDOW_UPDATE.

What it does
------------
Finds responses and uploads over HTTP/2 whose receiver had received all DATA of the window and sent its
WINDOW_UPDATE late.

Why it is bad
-------------
The sender must not send and nothing is in flight: the path is idle once per window. If the connection window
is used up, one unread stream stops all others.

Evidence
--------
The last DATA of the window, and the WINDOW_UPDATE that followed late (the waits
``send_limited.h2_window_update``). A capture at the sender's side shows both one round trip later; that time
is subtracted. A slow application and a late library look the same from outside, so the confidence is at most
0.5. Lost is the sum of these waits.

Fix
---
Read the body of every stream without pause, or cancel the stream (RST_STREAM). Do no blocking work in the
data callback (Node.js streams, Netty event loops). Libraries: send WINDOW_UPDATE as data is read, at the
latest at half of the window. A window of several round trips hides short pauses.

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

#: Minimum loss. Far from the receiver, only the shortest round trip gives the time when the receiver had the
#: whole window. Jitter may add this much.
LOST_MIN: Final = timedelta(milliseconds=20)
#: Maximum confidence: a slow application and a late library look the same.
CONFIDENCE_MAX: Final = 0.5
REMEDY: Final = (
    "{}: read the bodies of all streams without pause, or reset unread ones; do no blocking work in the data"
    " callback; send WINDOW_UPDATE at the latest when half of the window is read; a window of"
    " several round trips hides short pauses"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the messages that waited for a receiver with its whole window; see :class:`Detector`."""
    import polars as pl

    is_of_stream = pl.col("constraint") == "h2_stream_window"
    which = pl.when(is_of_stream).then(pl.lit("of its stream")).otherwise(pl.lit("of the connection"))
    return waited_for_window(tables, CAUSES, room=pl.lit(""), lost_min=lost_min).with_columns(
        confidence=pl.min_horizontal("confidence", pl.lit(CONFIDENCE_MAX)),
        summary=pl.format(
            "the {} had received the whole window {} of the {}, and sent no WINDOW_UPDATE for {} ms, {}",
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

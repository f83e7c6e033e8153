"""The short end of each response comes 200 ms late: TCP_CORK or MSG_MORE that nobody took back.

What it does
------------
Finds messages whose short end came 200 ms after the full segments before it, without an ACK that released it;
and messages of one short segment that came as late as a whole.

Why it is bad
-------------
A corked socket sends full segments only. If the application does not clear TCP_CORK (or sends its last part
with MSG_MORE), the rest waits for a timer of 200 ms in the kernel: each response that does not end on a full
segment, and each that is smaller than one, comes that much later. It looks like a slow server.

Evidence
--------
The wait ``stall.cork_timeout``: full segments that came at once, and a short rest that came when the timer ran
out and no ACK did. An application that sleeps does not stop exactly at the end of a full segment. Lost is that
wait.

Fix
---
Clear TCP_CORK after each response, or leave MSG_MORE out of its last send (setting TCP_NODELAY pushes the rest
too). nginx and lighttpd do that themselves; look at modules and applications that set the option.

Reference
---------
tcp(7), TCP_CORK; J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996,
section 2.2 (the remedy that is misused here).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import LOST_MIN, holds
from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl


__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload", "pure_acks")

CAUSES: Final = ("stall.cork_timeout",)

REMEDY: Final = (
    "Clear TCP_CORK after each message, or send its last part without MSG_MORE (setting TCP_NODELAY pushes what"
    " is held)"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Short ends of messages that waited for the timer of a corked socket; see :class:`Detector`."""
    import polars as pl

    return holds(tables, CAUSES, lost_min=lost_min).with_columns(
        summary=pl.format(
            "{} bytes of the {} came {} ms late, when the timer of a corked socket ran out{}",
            "bytes",
            "what",
            ms("lost"),
            "doubt",
        ),
        evidence=pl.format(
            "frame {} came {} ms behind frame {}; no ACK released it", "last_frame", ms("lost"), "first_frame"
        ),
        remedy=pl.lit(REMEDY),
    )

"""The short last segment of each response comes 200 ms late: TCP_CORK or MSG_MORE is never cleared.

What it does
------------
Finds messages whose short last segment came 200 ms after the full segments before it, without a releasing
ACK. Also finds messages of one short segment with the same delay.

Why it is bad
-------------
A corked socket sends full segments only. Without a clearing of TCP_CORK (or with MSG_MORE on the last send)
the rest waits for a kernel timer of 200 ms. Every response that does not end on a full segment is that late.
The delay looks like a slow server.

Evidence
--------
The wait ``stall.cork_timeout``: full segments without a pause, then a short rest at the timer's expiry,
without an ACK. A sleeping application does not stop exactly at the end of a full segment. Lost is that wait.

Fix
---
Clear TCP_CORK after each response, or send its last part without MSG_MORE (setting TCP_NODELAY also sends the
rest). nginx and lighttpd do so; check modules and applications that set the option.

Reference
---------
tcp(7), TCP_CORK; J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section
2.2 (the remedy, misused in this case).
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
    "Clear TCP_CORK after each message, or send its last part without MSG_MORE (setting TCP_NODELAY sends the"
    " held data)"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the short last segments that waited for the timer of a corked socket; see :class:`Detector`."""
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

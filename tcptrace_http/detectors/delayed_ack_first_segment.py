"""A window of one segment waits for the delayed ACK of its only segment.

What it does
------------
Finds messages whose first flight is one segment and whose next data follows the delayed ACK of that segment.
The initial window is one segment, or the sender restarts with one segment after an idle period or an RTO.

Why it is bad
-------------
The receiver acknowledges every second full segment immediately. A single segment waits for the delayed-ACK
timer: 40 ms (Linux) to 200 ms (BSD). A window of one segment never offers a second one. Slow start then
begins with a pause unrelated to the path. Windows of at least two segments avoid the pause.

Evidence
--------
The wait ``stall.delayed_ack_first_segment``: a single full segment in flight, its ACK later than the round
trip, and the data released by this ACK. Lost is only the delay of the ACK: any window costs the round trip
itself.

Fix
---
Linux: ``ip route change ... initcwnd 10`` (the default since 2.6.39, RFC 6928); keep the window of an idle
connection (``net.ipv4.tcp_slow_start_after_idle=0``). Other stacks: an initial window of at least two
segments (RFC 5681).

Reference
---------
H. Kruse, M. Allman, J. Griner, D. Tran, Experimentation and Modeling of HTTP Over Satellite Channels, 2001,
sections 2.1 and 5.1; RFC 1122, section 4.2.3.2; RFC 6928.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import CLIENT_HELLO, LOST_MIN, holds
from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl


__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload", "pure_acks")

CAUSES: Final = ("stall.delayed_ack_first_segment",)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the one-segment windows whose ACK was delayed; see :class:`Detector`."""
    import polars as pl

    # The detector tls-client-hello-split covers the rest of a ClientHello.
    is_own = pl.col("place").ne_missing(CLIENT_HELLO)
    return (
        holds(tables, CAUSES, lost_min=lost_min)
        .filter(is_own)
        .with_columns(
            summary=pl.format(
                "a window of one segment of the {} (frame {}) waited for its ACK, which the {} delayed by {} ms{}",
                "what",
                "first_frame",
                "receiver",
                ms("lost"),
                "doubt",
            ),
            evidence=pl.format(
                "frame {} was alone in flight; the ACK in frame {} released frame {} ({} bytes)",
                "first_frame",
                "released_by",
                "last_frame",
                "bytes",
            ),
            remedy=pl.format(
                "Let the {} begin with at least two segments, today ten (RFC 6928; Linux: ip route change ..."
                " initcwnd 10), and keep its window when idle (net.ipv4.tcp_slow_start_after_idle=0)",
                "who",
            ),
        )
    )

"""A window of one segment waits for the delayed ACK of its only segment.

What it does
------------
Finds messages whose first flight is one segment, and whose next data came when the delayed ACK of that
segment did: an initial window of one segment, or a sender that starts again with one after an idle period or a
retransmission timeout.

Why it is bad
-------------
The receiver acknowledges every second full segment at once and a single one when its timer ends, 40 ms
(Linux) to 200 ms (BSD) later. A window of one segment can never offer it a second: slow start begins with a
pause that has nothing to do with the path. Windows of two segments and more do not have it.

Evidence
--------
The wait ``stall.delayed_ack_first_segment``: one full segment alone in flight, its ACK later than the path
takes, and the data that this ACK released. Lost is the delay of the ACK alone: its round trip is the window's
due.

Fix
---
Linux: ``ip route change ... initcwnd 10`` (the default since 2.6.39, RFC 6928); let a connection keep its
window when idle (``net.ipv4.tcp_slow_start_after_idle=0``). Other stacks: an initial window of at least two
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
    """Windows of one segment whose ACK was delayed; see :class:`Detector`."""
    import polars as pl

    # The rest of a ClientHello is tls-client-hello-split's.
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

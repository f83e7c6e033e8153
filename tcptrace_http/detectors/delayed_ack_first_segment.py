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
One full segment alone in flight, its ACK later than the path takes, and the next data no later behind
that ACK than the path takes. Nagle's algorithm is told apart: it never holds a full segment, and on a flow
that has shown a larger flight the window is not what holds a short one. Lost is the delay of the ACK alone:
its round trip is the window's due.

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

from tcptrace_http.detectors._held import DELAYED_ACK_MIN, LOST_MIN, held
from tcptrace_http.detectors._hold_owner import FROM_CLIENT
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._when_left import when_left

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["CAUSE", "NEEDS", "READS", "find", "find_in_waits"]

READS: Final = ("pauses",)
NEEDS: Final = ("both_directions", "no_gaps", "segments_as_sent", "whole_payload", "pure_acks")

CAUSE: Final = "stall.delayed_ack_first_segment"

REMEDY: Final = (
    "Let the sender begin with at least two segments, today ten (RFC 6928; Linux: ip route change ..."
    " initcwnd 10), and keep its window when idle (net.ipv4.tcp_slow_start_after_idle=0)"
)
#: A short segment behind the only full one is held by an old Nagle's algorithm as well as by a window of one.
CONFIDENCE_OF_FULL: Final = 0.9
CONFIDENCE_OF_SHORT: Final = 0.6


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    delayed_ack_min: timedelta = DELAYED_ACK_MIN,
    lost_min: timedelta = LOST_MIN,
) -> pl.LazyFrame:
    """First flights of one segment whose ACK was delayed; see :class:`Detector`."""
    import polars as pl

    is_full = pl.col("released_bytes") % pl.col("segment_bytes") == 0
    who = pl.when(pl.col("direction") == FROM_CLIENT).then(pl.lit("server")).otherwise(pl.lit("client"))
    return (
        held(tables, delayed_ack_min=delayed_ack_min, lost_min=lost_min)
        .filter(pl.col("owner") == "delayed-ack-first-segment")
        .with_columns(
            cause=pl.lit(CAUSE),
            start=pl.col("released_time") - pl.col("ack_delay"),
            lost=pl.col("ack_delay"),
            confidence=pl.when(is_full).then(CONFIDENCE_OF_FULL).otherwise(CONFIDENCE_OF_SHORT),
            summary=pl.format(
                "a window of one segment ({} bytes, frame {}) waited for its ACK, which the {} delayed by {} ms",
                "previous_bytes",
                "previous_frame",
                who,
                ms("ack_delay"),
            ),
            evidence=pl.format(
                "frame {} ({} bytes) alone in flight, ACK in frame {}, then frame {} ({} bytes)",
                "previous_frame",
                "previous_bytes",
                "ack_frame",
                "released_frame",
                "released_bytes",
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def find_in_waits(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Other windows of one segment, as the waits tell: of a restart, or behind what a timer had sent again."""
    import polars as pl

    waits = (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == CAUSE)
        .with_columns(lost=pl.col("end") - pl.col("start"))
        .filter(pl.col("lost") >= LOST_MIN)
    )
    return (
        when_left(waits, tables)
        .join(find(tables), on=["flow", "transaction", "last_frame"], how="anti", maintain_order="left")
        .with_columns(
            cause=pl.lit(CAUSE),
            start=pl.col("left") - pl.col("lost"),
            summary=pl.format(
                "a window of one segment (frame {}) waited for its ACK, which was delayed by {} ms",
                "first_frame",
                ms("lost"),
            ),
            evidence=pl.format(
                "nothing else was in flight behind frame {}; its ACK ({}) let frame {} go",
                "first_frame",
                pl.coalesce(pl.format("frame {}", "ack_frame"), pl.lit("behind data that was sent again")),
                "last_frame",
            ),
            remedy=pl.lit(REMEDY),
        )
    )

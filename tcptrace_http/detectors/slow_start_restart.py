"""After an idle period the sender restarts slow start.

What it does
------------
Finds messages after an idle period in the small, growing flights of slow start, on a flow with a larger
window before.

Why it is bad
-------------
The sender drops its congestion window (reset to the initial window, or halved per elapsed RTO). After one
second of reading, the user's next page comes over a cold connection. Each doubling costs one more round trip,
although nothing was lost.

Evidence
--------
The waits ``stall.slow_start_restart``: segments that the window before the idle period would have released at
once, and the ACKs that released them. Lost is the sum of these waits.

Fix
---
Linux: ``net.ipv4.tcp_slow_start_after_idle=0`` on the server (``sysctl -w``), or BBR, which does not restart.
Pacing (``fq``) keeps the burst from overflowing a queue.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.4; RFC 5681,
section 4.1; RFC 7661.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import holds
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "LOST_MIN", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "whole_payload", "pure_acks")

CAUSES: Final = ("stall.slow_start_restart",)
#: Minimum loss: a shorter round trip costs less than host scheduling.
LOST_MIN: Final = timedelta(milliseconds=4)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the messages with slow-start restart after an idle period; see :class:`Detector`."""
    import polars as pl

    return (
        holds(tables, CAUSES, lost_min=timedelta())
        .group_by("flow", "transaction", "who", "what", "cause", maintain_order=True)
        .agg(
            pl.col("start", "first_frame").first(),
            pl.col("last_frame").last(),
            pl.col("lost").sum(),
            pl.col("confidence").mean(),
            pl.col("released_by"),
            waits=pl.len(),
        )
        .filter(pl.col("lost") >= lost_min)
        .with_columns(
            summary=pl.format(
                "after an idle period the {} waited {} for its window to grow again, {} ms in all",
                "what",
                times("waits"),
                ms("lost"),
            ),
            evidence=pl.format(
                "frames {} to {}; ACKs in frames {} released data that the window before the idle period allowed",
                "first_frame",
                "last_frame",
                pl.col("released_by").cast(pl.List(pl.String)).list.join(", "),
            ),
            remedy=pl.format(
                "Linux: net.ipv4.tcp_slow_start_after_idle=0 on the {}, with fq pacing;"
                " or a congestion control that does not restart (bbr)",
                "who",
            ),
        )
    )

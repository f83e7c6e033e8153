"""After an idle period the server opens its congestion window again from the start.

What it does
------------
Finds responses that came after an idle period in the small, growing flights of slow start, on a flow
that had shown a much larger flight before.

Why it is bad
-------------
The congestion window that the connection had earned is thrown away (reset to the initial window, or
halved for each timeout that passed). A user who reads a page for a second gets the next one over a
cold connection: one round trip more for each doubling, although nothing was lost.

Evidence
--------
The waits ``stall.slow_start_restart``: after an idle period less was in flight than before it when the sender
stopped, and the window of that time would have let the data go. Lost is their sum.

Fix
---
Linux: ``net.ipv4.tcp_slow_start_after_idle=0`` on the server (``sysctl -w``), or BBR, which does not
restart. Pacing (``fq``) keeps the burst from overflowing a queue.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.4;
RFC 5681, section 4.1; RFC 7661.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._limited import limited
from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "whole_payload", "segments_as_sent", "pure_acks")

#: A round trip of less costs less than hosts lose by scheduling.
LOST_MIN: Final = timedelta(milliseconds=4)
REMEDY: Final = (
    "Linux: net.ipv4.tcp_slow_start_after_idle=0 on the server, with fq pacing;"
    " or a congestion control that does not restart (bbr)"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Responses that were slow-started again after an idle period; see :class:`Detector`."""
    import polars as pl

    return limited(
        tables,
        "stall.slow_start_restart",
        what="its window to grow again after an idle period",
        lost_min=lost_min,
        waits_min=1,
    ).with_columns(
        evidence=pl.format(
            "frames {} to {}; round trip {} ms; {} of {} idle periods of the connection restarted the window",
            "first_frame",
            "last_frame",
            ms("round_trip"),
            "restarts",
            pl.col("restarts") + pl.col("kept_windows"),
        ),
        remedy=pl.lit(REMEDY),
    )

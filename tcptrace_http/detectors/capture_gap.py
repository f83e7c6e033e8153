"""The capture lacks packets that were on the wire: its receiver acknowledged what no packet holds.

What it does
------------
Finds HTTP flows with acknowledged bytes that the capture lacks. They are holes in the sequence numbers that
no later packet fills, or data beyond the last packet. A segment lost on the path is retransmitted and fills
its hole. These segments were lost on the way into the capture file.

Why it is bad
-------------
A missing packet looks like a lost, late or unsent one. Messages lose bytes and false time gaps appear.
Detectors that follow segments are unreliable there.

Evidence
--------
The number of holes and of bytes, and the frame behind the first hole. tcpdump reports the same packets at its
end as "packets dropped by kernel", dumpcap and Wireshark as "dropped". The wire lost nothing, so the time
lost is 0.

Fix
---
Give the capture a larger buffer and less work: ``tcpdump -B 65536`` (KiB), a port filter, ``-n``, a file on a
fast disk or in memory. On a mirror port (SPAN), check its own drop counters: one port cannot carry both
directions of a full link.

Reference
---------
tcpdump(1), -B; Wireshark, tcp.analysis.ack_lost_segment ("ACKed unseen segment"); V. Paxson, Automated Packet
Trace Analysis of TCP Implementations, 1997, on drops of the packet filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._capture import TCPDUMP, capture_finding
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("flaws",)
NEEDS: Final = ()


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return one row if any HTTP flow lacks acknowledged bytes; see :class:`Detector`."""
    import polars as pl

    return capture_finding(tables["flaws"], "capture_gap").with_columns(
        severity=pl.lit("warning"),
        summary=pl.format(
            "the capture lacks {} that the receiver acknowledged, in {} of {}",
            counted("bytes", "byte"),
            counted("count", "hole"),
            "of_flows",
        ),
        evidence=pl.format(
            "flow {} first; the first hole is before frame {}",
            "flow_min",
            pl.col("first_frame").cast(pl.String).fill_null("- (beyond the last)"),
        ),
        remedy=pl.format(
            "Capture again with {} {} (a larger buffer, a filter) onto a fast disk, and check that it ends"
            " with 0 packets dropped by kernel",
            pl.lit(TCPDUMP),
            "filter",
        ),
    )

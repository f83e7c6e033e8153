"""Packets in the capture are larger than the packets on the wire.

What it does
------------
Finds HTTP flows with packets whose payload exceeds the receiver's MSS, less the timestamps option. The
network card cuts them after the capture point (TSO, GSO), or the kernel merged them before it (GRO, LRO). A
loopback interface, with an MSS of 64 KB, has no such packets.

Why it is bad
-------------
The segments inside such a super-segment have no individual times. Segment fill and the pace of the path are
invisible. Holds of at least two milliseconds lie between packets and remain visible.

Evidence
--------
The number of packets, the largest size, and the first frame. The wire lost nothing, so the time lost is 0.

Fix
---
On the capture host run ``ethtool -K INTERFACE gro off lro off tso off gso off``, then capture. Turn the
offloads on again afterwards: they save CPU time. Or capture on another host, behind the card.

Reference
---------
Linux, Documentation/networking/segmentation-offloads.rst; Wireshark wiki, CaptureSetup/Offloading; RFC 9293,
section 3.7.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._capture import capture_finding
from tcptrace_http.detectors._wording import by_number, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("flaws",)
NEEDS: Final = ()


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return one row if any HTTP flow has packets larger than segments; see :class:`Detector`."""
    import polars as pl

    return capture_finding(tables["flaws"], "segmentation_offload").with_columns(
        severity=pl.lit("info"),
        summary=pl.format(
            "{} of {} {} more payload than a segment may, the largest {} bytes: the captured packets are not"
            " the segments on the wire",
            counted("count", "packet"),
            "of_flows",
            by_number("count", "has", "have"),
            "bytes_max",
        ),
        evidence=pl.format("flow {} first, frame {}", "flow_min", "first_frame"),
        remedy=pl.lit(
            "Run ethtool -K INTERFACE gro off lro off tso off gso off on the capture host, before the capture"
        ),
    )

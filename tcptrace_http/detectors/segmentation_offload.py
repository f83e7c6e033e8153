"""Packets in the capture are larger than any that was on the wire.

What it does
------------
Finds HTTP flows with packets whose payload exceeds what the client announced to accept (its MSS, less the
timestamps option): the network card was still to cut them (TSO, GSO), or the kernel had merged them
before the capture saw them (GRO, LRO). A loopback interface, whose MSS is 64 KB, has none.

Why it is bad
-------------
Inside such a packet no segment has a time of its own: how segments were filled and the pace of the path do
not show. A wait of two milliseconds is between packets, so what was held for so long does show.

Evidence
--------
The number of packets, the largest, and the frame of the first. Nothing is lost by it on the wire, so the
time lost is 0.

Fix
---
Where the capture is taken: ``ethtool -K INTERFACE gro off lro off tso off gso off``, then capture; turn
them on again afterwards, for they save processor time. Or capture on another host, behind the card.

Reference
---------
Linux, Documentation/networking/segmentation-offloads.rst; Wireshark wiki, CaptureSetup/Offloading;
RFC 9293, section 3.7.1.
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
    """One row if any HTTP flow has packets larger than segments; see :class:`Detector`."""
    import polars as pl

    return capture_finding(tables["flaws"], "segmentation_offload").with_columns(
        severity=pl.lit("info"),
        summary=pl.format(
            "{} of {} {} more payload than a segment may, the largest {} bytes: what the capture shows are"
            " not the segments of the wire",
            counted("count", "packet"),
            "of_flows",
            by_number("count", "has", "have"),
            "bytes_max",
        ),
        evidence=pl.format("flow {} first, frame {}", "flow_min", "first_frame"),
        remedy=pl.lit(
            "Run ethtool -K INTERFACE gro off lro off tso off gso off on the host that captures, before it does"
        ),
    )

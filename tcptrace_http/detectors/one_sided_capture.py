"""Only one direction of a flow was captured.

What it does
------------
Finds HTTP flows with packets of one end only. These packets acknowledge data of the other end, whose packets
are not in the capture.

Why it is bad
-------------
Requests lack responses, or responses lack requests. The flow has no waiting times and no round trips. Without
ACKs, a held segment looks like a thinking server.

Evidence
--------
The number of flows, and which end's packets are there. An unanswered request is no such flow: its packets
acknowledge nothing. The wire lost nothing, so the time lost is 0.

Fix
---
Capture at one of the two ends, or mirror both directions of the port. Check for asymmetric routes, and for a
filter with ``src host`` or ``dst port``, which excludes one direction.

Reference
---------
Wireshark wiki, CaptureSetup/Ethernet; W. John et al., Estimating Routing Symmetry on Single Links by Passive
Flow Measurements, 2010.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._capture import TCPDUMP, capture_finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("flaws",)
NEEDS: Final = ()


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return one row if any HTTP flow lacks one direction; see :class:`Detector`."""
    import polars as pl

    of_client = pl.col("flows_of_client")
    return capture_finding(tables["flaws"], "one_sided_capture").with_columns(
        severity=pl.lit("warning"),
        summary=pl.format(
            "only one direction was captured for {}: of {} the client's packets, of {} the server's packets",
            "of_flows",
            of_client,
            pl.col("flows") - of_client,
        ),
        evidence=pl.format("flow {} first, from frame {}", "flow_min", "first_frame"),
        remedy=pl.format(
            "Run {} {} at one of the two ends, or mirror both directions of the port; the filter must accept both",
            pl.lit(TCPDUMP),
            "filter",
        ),
    )

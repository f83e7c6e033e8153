"""Only one direction of a flow was captured.

What it does
------------
Finds HTTP flows with packets of one end only that acknowledge data of the other end: it has answered, but
its packets are not in the capture.

Why it is bad
-------------
Requests without responses, or responses without requests: there are no waiting times, no round trips and
no ACKs to tell a held segment from a thinking server by.

Evidence
--------
The number of flows, and which end's packets are there. A request that nobody answered is none of these:
it acknowledges nothing. Nothing is lost by it on the wire, so the time lost is 0.

Fix
---
Capture at one of the two ends, or mirror both directions of the port. Routes may be asymmetric; a filter
for ``src host`` or ``dst port`` keeps one direction out.

Reference
---------
Wireshark wiki, CaptureSetup/Ethernet; W. John et al., Estimating Routing Symmetry on Single Links by
Passive Flow Measurements, 2010.
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
    """One row if of any HTTP flow one direction is missing; see :class:`Detector`."""
    import polars as pl

    of_client = pl.col("flows_of_client")
    return capture_finding(tables["flaws"], "one_sided_capture").with_columns(
        severity=pl.lit("warning"),
        summary=pl.format(
            "only one direction was captured of {}: of {} what the client sent, of {} what the server sent",
            "of_flows",
            of_client,
            pl.col("flows") - of_client,
        ),
        evidence=pl.format("flow {} first, from frame {}", "flow_min", "first_frame"),
        remedy=pl.format(
            "Run {} {} at one of the two ends, or mirror both directions of the port; the filter must let both in",
            pl.lit(TCPDUMP),
            "filter",
        ),
    )

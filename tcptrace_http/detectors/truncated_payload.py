"""The snapshot length cut off the payload of packets.

What it does
------------
Finds flows with segments whose captured payload is shorter than their headers announce. Flows without
recognized HTTP count too: the missing payload may be the reason.

Why it is bad
-------------
Heads of messages are incomplete. Requests, responses, their lengths and their links are unknown, or not
recognized as HTTP.

Evidence
--------
The number of cut segments and of missing bytes, and the first frame. The wire lost nothing, so the time lost
is 0.

Fix
---
Capture with ``tcpdump -s 0`` or ``dumpcap -s 0`` (both are defaults today). ``editcap -s`` and anonymizers
also cut.

Reference
---------
tcpdump(1), -s; pcap-savefile(5), captured and original length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._capture import TCPDUMP, capture_finding
from tcptrace_http.detectors._wording import by_number, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("flaws",)
NEEDS: Final = ()


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return one row if any flow has cut segments; see :class:`Detector`."""
    import polars as pl

    has_http = pl.col("http_flows") > 0
    return capture_finding(tables["flaws"], "truncated_payload").with_columns(
        severity=pl.when(has_http).then(pl.lit("warning")).otherwise(pl.lit("info")),
        summary=pl.format(
            "{} of {}, {} of them known to be HTTP or TLS, {} captured only in part: {} of payload cut off",
            counted("count", "segment"),
            counted("flows", "flow"),
            "http_flows",
            by_number("count", "was", "were"),
            counted("bytes", "byte"),
        ),
        evidence=pl.format("flow {} first, frame {}", "flow_min", "first_frame"),
        remedy=pl.format("Run {} {}, which captures whole packets", pl.lit(TCPDUMP), "filter"),
    )

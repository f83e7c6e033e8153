"""Packets were captured only in part: the snapshot length cut off their payload.

What it does
------------
Finds flows with segments of which the capture holds fewer payload bytes than their headers announce. Also
flows in which no HTTP was found: it may not have been recognized for that reason.

Why it is bad
-------------
Heads of messages end in the middle, so that requests, responses, their lengths and what they link to are
unknown, or not even recognized as HTTP.

Evidence
--------
The number of segments and of bytes cut off, and the frame of the first. Nothing is lost by it on the
wire, so the time lost is 0.

Fix
---
``tcpdump -s 0``, ``dumpcap -s 0`` (both defaults today); ``editcap -s`` and anonymizers cut as well.

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
    """One row if any flow has segments that were captured in part; see :class:`Detector`."""
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

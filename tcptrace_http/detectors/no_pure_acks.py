"""The capture holds no ACK without data, although such ACKs were sent.

What it does
------------
Finds HTTP flows without any pure ACK in a direction in which TCP must have sent some: data was acknowledged
by later data alone, and later than a delayed ACK may be, or full segments came in pairs.

Why it is bad
-------------
A delayed ACK, a closed window and a loss show by ACKs. Without them neither what released a segment nor when
the client had the last byte is known.

Evidence
--------
The number of flows and the directions whose ACKs are missing. Data is acknowledged by data alone, and beyond
the path's round trip that takes once more than 3.5 s (a delayed ACK and a lost answer take less), three times
more than 210 ms, or eight pairs of full segments came. Nothing is lost by it on the wire, so the time lost is 0.

Fix
---
Capture or export with a filter that keeps whole connections (``tcp port 80``), not one for HTTP or for
packets with data.

Reference
---------
RFC 1122, section 4.2.3.2; RFC 5681, section 4.2; Wireshark User's Guide, section 5.7.1 (Export Specified
Packets).
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
    """One row if pure ACKs of any HTTP flow are missing; see :class:`Detector`."""
    import polars as pl

    return capture_finding(tables["flaws"], "no_pure_acks").with_columns(
        severity=pl.lit("info"),
        summary=pl.format(
            "The capture holds no ACK without data of {}: what released a segment, and when data arrived, is not"
            " known there.",
            "of_flows",
        ),
        evidence=pl.format("flow {} first, from frame {}", "flow_min", "first_frame"),
        remedy=pl.format(
            "Run {} {}, or export whole connections: a display filter for HTTP or for data drops the ACKs",
            pl.lit(TCPDUMP),
            "filter",
        ),
    )

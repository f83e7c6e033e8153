"""The capture holds no ACK without data, although such ACKs were sent.

What it does
------------
Finds HTTP flows without any pure ACK in a direction in which TCP must have sent one. Later data alone
acknowledged the data, later than a delayed ACK may come, or full segments came in pairs.

Why it is bad
-------------
ACKs reveal delayed ACKs, closed windows and losses. Without ACKs the release of a segment and the arrival of
the last byte are unknown.

Evidence
--------
The number of flows and the directions whose ACKs are missing. Only data acknowledges data. Beyond the round
trip, one acknowledgment takes more than 3.5 s (a delayed ACK and a lost answer take less). Three
acknowledgments that take more than 210 ms, or eight pairs of full segments, also suffice. The wire lost
nothing, so the time lost is 0.

Fix
---
Capture or export with a filter that keeps whole connections (``tcp port 80``), not with a filter for HTTP or
for packets with data.

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
    """Return one row if pure ACKs of any HTTP flow are missing; see :class:`Detector`."""
    import polars as pl

    return capture_finding(tables["flaws"], "no_pure_acks").with_columns(
        severity=pl.lit("info"),
        summary=pl.format(
            "The capture holds no ACK without data of {}: the release of segments and the arrival of data are"
            " unknown there.",
            "of_flows",
        ),
        evidence=pl.format("flow {} first, from frame {}", "flow_min", "first_frame"),
        remedy=pl.format(
            "Run {} {}, or export whole connections: a display filter for HTTP or for data drops the ACKs",
            pl.lit(TCPDUMP),
            "filter",
        ),
    )

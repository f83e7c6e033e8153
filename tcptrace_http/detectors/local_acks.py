"""ACKs of the client's data come from a middlebox near the client, not from the server.

What it does
------------
Finds HTTP flows whose handshake took far longer than the ACKs of the client's data, while every answer took
at least the handshake time. A NAT, a proxy or an accelerator acknowledges instead of the server.

Why it is bad
-------------
Every wait for the server contains the round trip of the path, and the ACKs do not show it. The middlebox
hides the server's own ACKs, losses and windows.

Evidence
--------
The number of flows. The handshake took at least 8 times as long as the quickest ACK, and 20 ms longer; three
ACKs took less than half of it, and each of at least three answers took a round trip of the handshake. The
wire lost nothing, so the time lost is 0.

Fix
---
Capture behind the middlebox, or at the server.

Reference
---------
RFC 3135, sections 3.1 and 4; RFC 3449, section 5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._capture import capture_finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("flaws",)
NEEDS: Final = ()


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return one row if a middlebox acknowledges the client's data of any HTTP flow; see :class:`Detector`."""
    import polars as pl

    return capture_finding(tables["flaws"], "local_acks").with_columns(
        severity=pl.lit("info"),
        summary=pl.format(
            "A middlebox near the client acknowledges the data of {}: its ACKs do not show the server or the"
            " path behind it.",
            "of_flows",
        ),
        evidence=pl.format("flow {} first, from frame {}", "flow_min", "first_frame"),
        remedy=pl.lit("Capture behind the middlebox (NAT, proxy, accelerator), or on the server"),
    )

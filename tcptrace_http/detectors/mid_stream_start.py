"""The capture began when the connection was already open.

What it does
------------
Finds HTTP flows of which neither SYN nor SYN-ACK was captured.

Why it is bad
-------------
The handshake tells the round trip, the segment size and the scale of the windows. Without it a window
cannot be read, a short segment is told from a full one by comparison only, and what the connection did
before (its first response, its losses) is unknown.

Evidence
--------
The number of flows, and the first frame of each. Nothing is lost by it on the wire, so the time lost
is 0.

Fix
---
Start the capture before the client connects, or have it connect anew (close the browser, restart the
pool of the proxy). A filter must let SYNs in: none that asks for payload or for ``tcp[13] & 8``.

Reference
---------
RFC 9293, section 3.5; RFC 7323, section 2.2; Wireshark, tcp.completeness.
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
    """One row if any HTTP flow was joined after its handshake; see :class:`Detector`."""
    import polars as pl

    return capture_finding(tables["flaws"], "mid_stream_start").with_columns(
        severity=pl.lit("info"),
        summary=pl.format(
            "the capture holds no handshake of {}: their windows, segment size and round trip are known less well",
            "of_flows",
        ),
        evidence=pl.format("flow {} first, from frame {}", "flow_min", "first_frame"),
        remedy=pl.format("Start {} {} before the client connects", pl.lit(TCPDUMP), "filter"),
    )

"""The capture began when the connection was already open.

What it does
------------
Finds HTTP flows without a captured SYN or SYN-ACK.

Why it is bad
-------------
The handshake gives the round trip, the MSS and the window scale. Without the handshake the windows are
unreadable, and only comparison tells short segments from full ones. The earlier responses and losses of the
connection are unknown.

Evidence
--------
The number of flows, and the first frame of each. The wire lost nothing, so the time lost is 0.

Fix
---
Start the capture before the client connects, or make the client reconnect (close the browser, restart the
proxy's pool). The filter must accept SYNs: do not filter for payload or ``tcp[13] & 8``.

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
    """Return one row if any HTTP flow was captured without its handshake; see :class:`Detector`."""
    import polars as pl

    return capture_finding(tables["flaws"], "mid_stream_start").with_columns(
        severity=pl.lit("info"),
        summary=pl.format(
            "the capture holds no handshake of {}: their windows, segment size and round trip are less certain",
            "of_flows",
        ),
        evidence=pl.format("flow {} first, from frame {}", "flow_min", "first_frame"),
        remedy=pl.format("Start {} {} before the client connects", pl.lit(TCPDUMP), "filter"),
    )

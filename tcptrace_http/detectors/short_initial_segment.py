"""The response opens with a short segment, and what follows waits for its acknowledgment.

What it does
------------
Finds responses whose first segment is short, carries the head alone, and whose later data was held
until the ACK of that segment came: by Nagle's algorithm (a short segment waits while a short one is
unacknowledged), or because a window of one short and one full segment is not enough for the
receiver to acknowledge at once.

Why it is bad
-------------
A receiver acknowledges every second full segment; a single short one it acknowledges when its
delayed-ACK timer ends, 40 ms (Linux) to 200 ms (BSD) later. Every response on a persistent
connection pays that. Where the ACK is not delayed, it still costs one round trip per response.

Evidence
--------
The short first segment, the ACK of it, and the data that followed that ACK by no more than the path
takes. Server think time is told apart by that: it does not follow the ACK.

Fix
---
Write head and body in one call (writev, or MSG_MORE or TCP_CORK around them), or set TCP_NODELAY.
nginx: ``tcp_nodelay on`` and, with ``sendfile on``, ``tcp_nopush on``; remove ``postpone_output 0``.
Python http.server: ``wbufsize = 65536`` or ``disable_nagle_algorithm = True``. Java
com.sun.net.httpserver: ``-Dsun.net.httpserver.nodelay=true``. Node.js: leave ``noDelay`` on.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.2;
RFC 896; RFC 1122, section 4.2.3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._held import DELAYED_ACK_MIN, LOST_MIN, held
from tcptrace_http.detectors._held_findings import held_findings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("pauses",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "whole_payload", "segments_as_sent", "pure_acks")

REMEDY = (
    "Send the head and the body in one write (writev, MSG_MORE or TCP_CORK), or set TCP_NODELAY"
    " (in nginx: tcp_nodelay on, and tcp_nopush on with sendfile on)"
)
#: What to change in servers that name themselves in the Server field.
REMEDIES = {
    "nginx": "nginx: no postpone_output 0",
    "BaseHTTP|SimpleHTTP|Python": ("Python http.server: set wbufsize = 65536 or disable_nagle_algorithm = True"),
    "Apache": "Apache httpd: do not flush the head alone; leave TCP_NODELAY on",
}


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    delayed_ack_min: timedelta = DELAYED_ACK_MIN,
    lost_min: timedelta = LOST_MIN,
) -> pl.LazyFrame:
    """Responses held behind the short segment that opened them; see :class:`Detector`."""
    import polars as pl

    return (
        held(tables, delayed_ack_min=delayed_ack_min, lost_min=lost_min)
        .filter(pl.col("owner") == "short-initial-segment")
        .pipe(
            held_findings,
            what="the response opened with a {} (frame {}),",
            remedy=REMEDY,
            remedies=REMEDIES,
        )
    )

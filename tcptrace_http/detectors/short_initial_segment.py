"""The response opens with a short segment, and the following data waits for its ACK.

What it does
------------
Finds responses whose first segment is short, and whose later data was held until the ACK of that segment.
Nagle's algorithm holds a short segment while another is unacknowledged. Or the window holds one short and one
full segment, too little for an immediate ACK. (The detector odd-short-final-segment covers a first segment
beyond the head with only the last segment held.)

Why it is bad
-------------
A receiver acknowledges every second full segment at once. It acknowledges a single short segment after its
delayed-ACK timer, 40 ms (Linux) to 200 ms (BSD). Every response on a persistent connection pays this delay.
Without a delayed ACK the hold still costs one round trip per response.

Evidence
--------
The waits ``stall.nagle_delayed_ack`` and ``stall.nagle_hold`` behind the first segment of the response: that
segment, its ACK, and the data released by this ACK. Lost is that wait. Its confidence is at most 0.5 if the
application may have written the data then.

Fix
---
Write head and body in one call (writev, or MSG_MORE or TCP_CORK around them), or set TCP_NODELAY. nginx:
``tcp_nodelay on`` and, with ``sendfile on``, ``tcp_nopush on``; remove ``postpone_output 0``. Python
http.server: ``wbufsize = 65536`` or ``disable_nagle_algorithm = True``. Java com.sun.net.httpserver:
``-Dsun.net.httpserver.nodelay=true``. Node.js: leave ``noDelay`` on.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.2; RFC 896; RFC
1122, section 4.2.3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import LOST_MIN, NAGLE, Held, held_findings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl


__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = NAGLE
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "whole_payload", "pure_acks")

REMEDY: Final = (
    "Send the head and the body in one write (writev, MSG_MORE or TCP_CORK), or set TCP_NODELAY"
    " (in nginx: tcp_nodelay on, and tcp_nopush on with sendfile on)"
)
#: Setting of each server that the Server field names.
REMEDIES: Final = {
    "nginx": "nginx: no postpone_output 0",
    "BaseHTTP|SimpleHTTP|Python": ("Python http.server: set wbufsize = 65536 or disable_nagle_algorithm = True"),
    "Apache": "Apache httpd: do not flush the head alone; leave TCP_NODELAY on",
}
HELD: Final = Held(
    detector="short-initial-segment",
    what="the {} opened with {}",
    remedy=REMEDY,
    remedies=REMEDIES,
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the responses held behind their short first segment; see :class:`Detector`."""
    return held_findings(tables, HELD, lost_min=lost_min)

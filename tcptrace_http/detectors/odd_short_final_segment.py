"""The last, short segment of the response waits for the acknowledgment of an earlier one.

What it does
------------
Finds responses whose final short segment was held until the ACK of an earlier segment. Linux's variant of
Nagle's algorithm (Minshall) waits for a short segment. The original algorithm waits for any unacknowledged
segment, such as an odd full one.

Why it is bad
-------------
The receiver has no second full segment to acknowledge. The delayed ACK, 40 ms (Linux) to 200 ms (BSD), delays
the last bytes of the response. Servers that write chunks of other sizes than the MSS show the delay for
certain response lengths only, so it looks random. Without a delayed ACK the hold behind a short segment still
costs one round trip per response. (The detector nagle-hold covers a hold behind full segments only.)

Evidence
--------
The waits ``stall.nagle_delayed_ack`` and ``stall.nagle_hold`` of the last segment: the unacknowledged
segment, its ACK, and the last segment, released by this ACK. Lost is that wait. Its confidence is at most 0.5
if the application may have written the data then.

Fix
---
Set TCP_NODELAY on persistent connections, or hand the whole response to the kernel at once. nginx:
``tcp_nodelay on``, larger ``output_buffers``, ``tcp_nopush on`` with ``sendfile on``. Go:
``SetNoDelay(true)``, which is the default.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.3; RFC 896; G.
Minshall, draft-minshall-nagle-01.
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
    "Set TCP_NODELAY on persistent connections, or write the whole response in one call"
    " (in nginx: tcp_nodelay on, and tcp_nopush on with sendfile on)"
)
#: Setting of each server that the Server field names.
REMEDIES: Final = {
    "nginx": "nginx: larger output_buffers",
    "Apache": "Apache httpd: leave TCP_NODELAY on (it is the default), write larger buckets",
}
HELD: Final = Held(
    detector="odd-short-final-segment",
    what="the last, short segment of the {} waited behind {}",
    remedy=REMEDY,
    remedies=REMEDIES,
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the responses whose last short segment was held; see :class:`Detector`."""
    return held_findings(tables, HELD, lost_min=lost_min)

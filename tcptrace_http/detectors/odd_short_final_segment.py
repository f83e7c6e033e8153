"""The last, short segment of the response waits for the acknowledgment of an earlier one.

What it does
------------
Finds responses whose final short segment was held until the ACK of an earlier segment came: a short
one (Nagle's algorithm as Linux has it, after Minshall), or an odd full one (the original algorithm,
which lets nothing short out while anything is unacknowledged).

Why it is bad
-------------
The receiver has no second full segment to acknowledge, so its ACK is delayed, 40 ms (Linux) to
200 ms (BSD), and the last bytes of the response with it. It happens when a server writes in chunks
that are no multiple of the segment size, to responses of certain lengths only, so it looks random.
Behind a short segment it still costs one round trip per response where the ACK is not delayed. (Behind full
ones alone it does so, too, with the original algorithm: that is nagle-hold.)

Evidence
--------
The waits ``stall.nagle_delayed_ack`` and ``stall.nagle_hold`` of the last segment: the segment that it waited
for, the ACK of that, and the last segment, which this ACK released. Lost is that wait. Its confidence is at most
0.5 if the application may have written the data then.

Fix
---
Set TCP_NODELAY on persistent connections, or hand the whole response to the kernel at once. nginx:
``tcp_nodelay on``, larger ``output_buffers``, ``tcp_nopush on`` with ``sendfile on``. Go:
``SetNoDelay(true)``, which is the default.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.3;
RFC 896; G. Minshall, draft-minshall-nagle-01.
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
#: What to change in servers that name themselves in the Server field.
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
    """Responses whose last short segment was held; see :class:`Detector`."""
    return held_findings(tables, HELD, lost_min=lost_min)

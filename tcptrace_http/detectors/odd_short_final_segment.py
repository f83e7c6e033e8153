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
The segment before the pause, the ACK of it, and the last segment, which followed that ACK by no more
than the path takes. Server think time is told apart by that: it does not follow the ACK.

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
    "Set TCP_NODELAY on persistent connections, or write the whole response in one call"
    " (in nginx: tcp_nodelay on, and tcp_nopush on with sendfile on)"
)
#: What to change in servers that name themselves in the Server field.
REMEDIES = {
    "nginx": "nginx: larger output_buffers",
    "Apache": "Apache httpd: leave TCP_NODELAY on (it is the default), write larger buckets",
}


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    delayed_ack_min: timedelta = DELAYED_ACK_MIN,
    lost_min: timedelta = LOST_MIN,
) -> pl.LazyFrame:
    """Responses whose last short segment was held; see :class:`Detector`."""
    import polars as pl

    return (
        held(tables, delayed_ack_min=delayed_ack_min, lost_min=lost_min)
        .filter(pl.col("owner") == "odd-short-final-segment")
        .pipe(
            held_findings,
            what="the last, short segment waited behind a {} (frame {}),",
            remedy=REMEDY,
            remedies=REMEDIES,
        )
    )

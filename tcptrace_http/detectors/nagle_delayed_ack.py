"""Data waits behind a short segment for the receiver's delayed ACK: write, write, read.

What it does
------------
Finds data that Nagle's algorithm held back until a delayed ACK came, in either direction: in the middle
of a response whose server writes in pieces, or in a request whose client sends its head and its body, or
two parts of its head, in two writes; or data that a window of a short segment and less than two full ones had
no room for, until the delayed ACK of these came. (If the response opens with the head alone, this is
short-initial-segment; if its last, short segment is held, odd-short-final-segment.)

Why it is bad
-------------
A short segment may not leave while another short one is unacknowledged (RFC 896). The receiver has less
than two full segments to acknowledge and waits for its timer, 40 ms (Linux) to 200 ms (BSD). Each waits
for the other. A request that is split so costs it before the server has even begun.

Evidence
--------
The wait ``stall.nagle_delayed_ack``: the short segment, the delayed ACK of it, and the data that this ACK
released. Lost is that wait. Its confidence is at most 0.5 if the application may have written the data then.

Fix
---
Send what is there in one call: writev, sendmsg, MSG_MORE or TCP_CORK on Linux; or set TCP_NODELAY.
Servers: larger output buffers, ``tcp_nodelay on`` (nginx). Clients: head and body of a POST in one write;
Python http.client and urllib3 do that for bodies of bytes, libcurl and Go set TCP_NODELAY.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, sections 2.2 and 2.3;
RFC 896; RFC 1122, section 4.2.3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import LOST_MIN, NAGLE, Held, held_findings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl


__all__ = ["CAUSES", "NEEDS", "READS", "REMEDY", "REMEDY_OF_REQUESTS", "find"]

READS: Final = ("waits",)
CAUSES: Final = NAGLE
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload", "pure_acks")

REMEDY: Final = (
    "Write the response in larger pieces (writev, MSG_MORE or TCP_CORK), or set TCP_NODELAY"
    " (in nginx: tcp_nodelay on, larger output_buffers or proxy_buffers)"
)
REMEDY_OF_REQUESTS: Final = (
    "Send head and body of the request in one write (writev, MSG_MORE or TCP_CORK), or set TCP_NODELAY"
    " on the client's socket"
)
HELD: Final = Held(
    detector="nagle-delayed-ack",
    what="data of the {} waited behind {}",
    remedy=REMEDY,
    remedy_of_requests=REMEDY_OF_REQUESTS,
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Data held until a delayed ACK came; see :class:`Detector`."""
    return held_findings(tables, HELD, lost_min=lost_min)

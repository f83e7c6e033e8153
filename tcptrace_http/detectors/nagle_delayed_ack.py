"""Data waits behind a short segment for the receiver's delayed ACK: write, write, read.

What it does
------------
Finds data that Nagle's algorithm held until a delayed ACK came, in either direction. The server writes the
middle of a response in pieces. Or the client sends head and body, or two parts of the head, in two writes.
Also finds data beyond a window of a short segment and fewer than two full ones, held until their delayed ACK.
(The detector short-initial-segment covers a response that opens with the head alone. The detector
odd-short-final-segment covers a held last segment.)

Why it is bad
-------------
A short segment must wait while another short one is unacknowledged (RFC 896). The receiver has fewer than two
full segments to acknowledge and waits for its timer, 40 ms (Linux) to 200 ms (BSD). Each end waits for the
other. A split request pays this delay before the server begins.

Evidence
--------
The wait ``stall.nagle_delayed_ack``: the short segment, its delayed ACK, and the data released by this ACK.
Lost is that wait. Its confidence is at most 0.5 if the application may have written the data then.

Fix
---
Send all available data in one call: writev, sendmsg, MSG_MORE or TCP_CORK on Linux; or set TCP_NODELAY.
Servers: larger output buffers, ``tcp_nodelay on`` (nginx). Clients: head and body of a POST in one write;
Python http.client and urllib3 do that for bodies of bytes, libcurl and Go set TCP_NODELAY.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, sections 2.2 and 2.3; RFC
896; RFC 1122, section 4.2.3.2.
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
    """Return the data held until a delayed ACK; see :class:`Detector`."""
    return held_findings(tables, HELD, lost_min=lost_min)

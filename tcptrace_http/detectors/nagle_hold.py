"""Data waits one ordinary round trip behind a short segment: Nagle's algorithm without a delayed ACK.

What it does
------------
Finds data that Nagle's algorithm held until the ordinary, undelayed ACK of an earlier short segment, in
either direction. The server writes the middle of a response in pieces, or the client sends a request in two
writes. The original algorithm also holds the short end of a response behind full segments. Also finds the
rest of a response that waited in the buffer until the next response filled its segment. (The detector
short-initial-segment covers a response that opens with the head alone. The detector odd-short-final-segment
covers a last segment held behind a short one.)

Why it is bad
-------------
A short segment must wait while another short one (originally, any segment: RFC 896) is unacknowledged. Each
such pair of writes costs one round trip, even without a delayed ACK: at least 100 ms on a long path.

Evidence
--------
The wait ``stall.nagle_hold``: the short segment (or all bytes in flight), its ACK, and the short segment
released by this ACK. Lost is that wait. Its confidence is at most 0.5 if the application may have written the
data then. For a rest filled by the next response: the full segment with the end of one response and the start
of the next, released by no ACK.

Fix
---
Send all available data in one call: writev, sendmsg, MSG_MORE or TCP_CORK on Linux; or set TCP_NODELAY.
Servers: larger output buffers, ``tcp_nodelay on`` (nginx). Clients: head and body of a POST in one write;
Python http.client and urllib3 do that for bodies of bytes, libcurl and Go set TCP_NODELAY.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.3; RFC 896; G.
Minshall, draft-minshall-nagle-01.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import HOLD, LOST_MIN, NAGLE, Held, held_findings, holds
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors.nagle_delayed_ack import REMEDY, REMEDY_OF_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = NAGLE
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload", "pure_acks")
HELD: Final = Held(
    detector="nagle-hold",
    what="data of the {} waited behind {}",
    remedy=REMEDY,
    remedy_of_requests=REMEDY_OF_REQUESTS,
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the data held until an ordinary ACK or until the next response; see :class:`Detector`."""
    import polars as pl

    behind_ack = held_findings(tables, HELD, lost_min=lost_min)
    filled = holds(tables, (HOLD,), lost_min=lost_min).with_columns(
        summary=pl.format(
            "the rest of the {} was held for {} ms, until the next {} filled its segment",
            "what",
            ms("lost"),
            "what",
        ),
        evidence=pl.format("frame {} has the end of one {} and the start of the next", "last_frame", "what"),
        remedy=pl.lit(REMEDY),
    )
    is_released = pl.col("released_by").is_not_null()
    return pl.concat([behind_ack.filter(is_released), filled.filter(~is_released)], how="diagonal")

"""Data waits one ordinary round trip behind a short segment: Nagle's algorithm without a delayed ACK.

What it does
------------
Finds data that Nagle's algorithm held back until the ordinary, undelayed ACK of an earlier short segment
came, in either direction: in the middle of a response whose server writes in pieces, or in a request whose
client sends it in two writes. The original algorithm holds the short end of a response behind full segments as
well; that is told where a window that had been used before had room for it. (Where the response opens with the
head alone, this is short-initial-segment; where its last, short segment is held behind a short one,
odd-short-final-segment.) And the rest of a response that waited in the buffer until the next response, when it
was asked for or written, filled its segment.

Why it is bad
-------------
A short segment may not leave while another short one (originally, anything: RFC 896) is unacknowledged, so each
such pair of writes costs one round trip, whether or not the receiver delays its ACK: 100 ms and more on a long
path.

Evidence
--------
The short segment (or all that was outstanding, if that and what waited is no more than had been in flight at
once before), the ACK of it, and the short segment that followed that ACK by no more than the path takes. Lost is
the time from when the data could have left, in the pace of what was sent before and through the queue that this
met, to when it left. An application that writes piece by piece, slower than ACKs come, has written what was held
somewhat later: as the pauses tell that nothing held, and how many pieces each ACK let go.
Of a rest that the next response filled: the full segment that brings the end of one response and the start of the
next, and came when that one's request let it go, or when no ACK did.

Fix
---
Send what is there in one call: writev, sendmsg, MSG_MORE or TCP_CORK on Linux; or set TCP_NODELAY.
Servers: larger output buffers, ``tcp_nodelay on`` (nginx). Clients: head and body of a POST in one write;
Python http.client and urllib3 do that for bodies of bytes, libcurl and Go set TCP_NODELAY.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.3; RFC 896;
G. Minshall, draft-minshall-nagle-01.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._held import DELAYED_ACK_MIN, LOST_MIN, held
from tcptrace_http.detectors._held_findings import held_findings
from tcptrace_http.detectors._host_pairs import LOSS_WAITS
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._when_left import when_left
from tcptrace_http.detectors.nagle_delayed_ack import REMEDY, REMEDY_OF_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["NEEDS", "READS", "find", "find_in_waits"]

READS: Final = ("pauses",)
NEEDS: Final = ("both_directions", "no_gaps", "segments_as_sent", "whole_payload", "pure_acks")

#: Another response fills the rest of one in its own time, which a pause of the application may be as well.
CONFIDENCE_OF_FILLED: Final = 0.8


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    delayed_ack_min: timedelta = DELAYED_ACK_MIN,
    lost_min: timedelta = LOST_MIN,
) -> pl.LazyFrame:
    """Data held until an ordinary ACK came; see :class:`Detector`."""
    import polars as pl

    return (
        held(tables, delayed_ack_min=delayed_ack_min, lost_min=lost_min)
        .filter(pl.col("owner") == "nagle-hold")
        .pipe(
            held_findings,
            what="data waited behind a {} (frame {}),",
            remedy=REMEDY,
            remedy_of_requests=REMEDY_OF_REQUESTS,
        )
    )


def find_in_waits(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """The rest of a response that was held until the next response filled its segment, which is no short one."""
    import polars as pl

    segment = ["flow", "transaction", "last_frame"]
    cause = pl.col("cause").cast(pl.String)
    waits = tables["waits"].lazy().filter(cause == "stall.nagle_hold")
    repairs = tables["waits"].lazy().filter(cause.is_in(LOSS_WAITS))
    openings = tables["transactions"].lazy().select("flow", transaction="index", last_frame="response_first_frame")
    # The last of all responses has none behind it. What was held and then lost came with its repair, which may
    # bring the next response, too: that filled nothing.
    fillers = openings.filter(pl.col("transaction") > 0).with_columns(pl.col("transaction") - 1)
    return (
        when_left(waits, tables)
        .join(openings, on=segment, how="anti", maintain_order="left")
        .join(repairs, on=segment, how="anti", maintain_order="left")
        .join(fillers, on=segment, how="semi", maintain_order="left")
        .join(held(tables), on=segment, how="anti", maintain_order="left")
        .with_columns(lost=pl.col("end") - pl.col("start"))
        .filter(pl.col("lost") >= lost_min)
        .with_columns(
            start=pl.col("left") - pl.col("lost"),
            confidence=pl.lit(CONFIDENCE_OF_FILLED),
            summary=pl.format(
                "the rest of the response was held for {} ms, until the next response filled its segment",
                ms("lost"),
            ),
            evidence=pl.format(
                "frame {} brings the end of the response and the start of the next, which let it go",
                "last_frame",
            ),
            remedy=pl.lit(REMEDY),
        )
    )

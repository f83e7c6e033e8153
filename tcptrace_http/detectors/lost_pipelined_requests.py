"""Pipelined requests that the server never answered.

What it does
------------
Names connections with pipelined requests that the server closed before its last answer: after ``Connection:
close`` or its maximum number of requests.

Why it is bad
-------------
The requests behind the last response must be sent again on a new connection, with a handshake and slow start.
If the server closes while requests arrive, its RST may destroy responses that the client has not read yet
(RFC 9112, section 9.6).

Evidence
--------
The requests without a response that were sent before the last response arrived, and the server's FIN or RST.
The finding says whether the first request was repeated on a new connection. Lost is the time from the close
to the repetition.

Fix
---
Apache: ``MaxKeepAliveRequests 0`` (default 100). nginx: ``keepalive_requests 1000``. lighttpd:
``server.max-keep-alive-requests``. Clients: pipeline no more requests than the server answers, and close the
sending half only after the last response.

Reference
---------
RFC 9112, sections 9.3.2 and 9.6; H. F. Nielsen et al., Network Performance Effects of HTTP/1.1, CSS1, and
PNG, SIGCOMM 1997.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, ENDINGS, FIRST_REQUESTS
from tcptrace_http.detectors._repeats import of_services, with_repeat
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("endings",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")
GATHERS: Final = (ENDINGS, CONNECTIONS, FIRST_REQUESTS)

REMEDY: Final = (
    "Apache MaxKeepAliveRequests 0, nginx keepalive_requests 1000, lighttpd server.max-keep-alive-requests:"
    " more than clients pipeline; the server must read on until the client has all responses"
    " (nginx lingering_close)"
)


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the connections with unanswered pipelined requests; see :class:`Detector`."""
    import polars as pl

    rows = (
        tables["endings"]
        .lazy()
        .filter(
            pl.col("kind") == "unanswered",
            pl.col("answered") > 0,
            "pipelined",
            pl.col("server_gap_bytes") == 0,
        )
    )
    what = pl.format(
        "the server closed after {} and left {} unanswered, from {} {} on",
        counted("answered", "response"),
        counted("unanswered", "pipelined request"),
        "method",
        pl.col("target").str.head(80),
    )
    return of_services(
        with_repeat(rows, tables),
        lost=pl.col("repeat_time") - pl.col("close_time"),
        what=what,
        remedy=pl.lit(REMEDY),
    ).with_columns(confidence=pl.when(pl.col("repeated") > 0).then(0.95).otherwise(0.85))

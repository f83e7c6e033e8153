"""A response that ends before its announced end.

What it does
------------
Names responses whose server closed the connection with a FIN before the end of the body: before the
Content-Length, or before the last chunk.

Why it is bad
-------------
The message is incomplete (RFC 9112, section 8): a client must not treat it as complete, and caches must not
store it as complete. Clients without a check show half a page or a broken image; others repeat the request.

Evidence
--------
The FIN, the received bytes of the body and the announced bytes. The capture holds every byte, and the request
is not HEAD. Lost is the time from the request to its repetition on a new connection.

Fix
---
Find the reason for the early end: an upstream that closed early (nginx: "upstream prematurely closed
connection", ``proxy_read_timeout``, ``proxy_buffering``, a full ``proxy_temp_path``), a crashed worker. Or a
Content-Length was computed before a filter changed the body.

Reference
---------
RFC 9112, sections 6.3 and 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, ENDINGS, FIRST_REQUESTS
from tcptrace_http.detectors._repeats import of_services, with_repeat

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("endings",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")
GATHERS: Final = (ENDINGS, CONNECTIONS, FIRST_REQUESTS)

REMEDY: Final = (
    "find what stopped writing: the server's error log (nginx: upstream prematurely closed connection;"
    " proxy_read_timeout, space in proxy_temp_path), or a Content-Length that is not the body's"
)


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the responses cut off by a FIN; see :class:`Detector`."""
    import polars as pl

    rows = (
        tables["endings"]
        .lazy()
        .filter(
            pl.col("kind") == "truncated_response",
            pl.col("method").is_not_null(),
            pl.col("method") != "HEAD",
            # The server may have sent the bytes that the capture lacks.
            pl.col("server_gap_bytes") == 0,
        )
    )
    announced = pl.when(pl.col("announced_bytes").is_not_null()).then(
        pl.format("{} of {} announced bytes", "body_bytes", "announced_bytes")
    )
    what = pl.format(
        "the server closed the connection inside the response to {} {}, after {}",
        "method",
        pl.col("target").str.head(80),
        announced.otherwise(pl.format("{} bytes and no last chunk", "body_bytes")),
    )
    return of_services(
        with_repeat(rows, tables),
        lost=pl.col("repeat_time") - pl.col("start"),
        what=what,
        remedy=pl.lit(REMEDY),
    ).with_columns(confidence=pl.lit(0.95))

"""A response that ends before its announced end.

What it does
------------
Names responses whose connection the server closed in order, by a FIN, before the body had the length
that Content-Length announced, or before the last chunk.

Why it is bad
-------------
The message is incomplete (RFC 9112, section 8): a client must not take it for whole, and caches must
not store it as such. Clients that do not check show half a page or a broken image; others ask again.

Evidence
--------
The FIN, the bytes of the body that came and those announced; no byte was missed by the capture, and
the response was not to a HEAD request. Lost is the time from the request to the same one on a new
connection.

Fix
---
Look for what stops writing: an upstream that closed early (nginx: "upstream prematurely closed
connection", ``proxy_read_timeout``, ``proxy_buffering``, a full ``proxy_temp_path``), a worker that
died, a Content-Length of before a filter changed the body.

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
    """Responses that a FIN cut off; see :class:`Detector`."""
    import polars as pl

    rows = (
        tables["endings"]
        .lazy()
        .filter(
            pl.col("kind") == "truncated_response",
            pl.col("method").is_not_null(),
            pl.col("method") != "HEAD",
            # What the capture lacks the server may have sent.
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

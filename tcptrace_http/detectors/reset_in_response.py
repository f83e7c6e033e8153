"""A connection reset before the response was complete.

What it does
------------
Names responses that an RST cut off, who sent it, and whether the client asked again.

Why it is bad
-------------
What had arrived may be lost as well: an RST lets the receiver's kernel drop data that its application
had not read. The client must send the request again, on a new connection, if that is safe at all.

Evidence
--------
The RST, the bytes of the body that had come and those that Content-Length announced; no byte of the
response was missed by the capture. Where the client sent the RST it has given up itself, which is for
information only. Lost is the time from the request to the same one on a new connection.

Fix
---
Look for what closes with data unread or unsent: ``SO_LINGER`` with 0, a worker that crashed or was
killed (deployments without graceful stop), a proxy's or load balancer's timeout
(``proxy_read_timeout``, idle timeout), a body of a request that the server does not read before it
closes (nginx ``lingering_close on``; RFC 9112, section 9.6).

Reference
---------
RFC 9293, section 3.10.7.4; RFC 9112, sections 8 and 9.6.
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

REMEDY_SERVER: Final = (
    "find what resets: a crashed or killed worker, SO_LINGER 0, a proxy's timeout (proxy_read_timeout, idle"
    " timeout of a load balancer), or a request body left unread (nginx lingering_close on)"
)
REMEDY_CLIENT: Final = "the client gave up: see its timeout, or what its user did, before the server's settings"


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Responses that an RST cut off; see :class:`Detector`."""
    import polars as pl

    rows = tables["endings"].lazy().filter(pl.col("kind") == "reset_in_response", pl.col("method").is_not_null())
    of_body = pl.when(pl.col("announced_bytes").is_not_null()).then(pl.format(" of {}", "announced_bytes"))
    what = pl.format(
        "the {} reset the connection inside the response to {} {}, after {}{} bytes of its body",
        pl.when("by_client").then(pl.lit("client")).otherwise(pl.lit("server")),
        "method",
        pl.col("target").str.head(80),
        "body_bytes",
        of_body.otherwise(pl.lit("")),
    )
    lost = pl.col("repeat_time") - pl.col("start")
    found = [
        of_services(
            with_repeat(rows.filter(pl.col("by_client") == by_client), tables),
            lost=pl.when(pl.lit(not by_client)).then(lost),
            what=what,
            remedy=pl.lit(REMEDY_CLIENT if by_client else REMEDY_SERVER),
        ).with_columns(severity=pl.lit("info" if by_client else None, dtype=pl.String))
        for by_client in (False, True)
    ]
    return pl.concat(found).with_columns(confidence=pl.lit(0.95))

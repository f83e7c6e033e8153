"""A RST ended the connection before the response was complete.

What it does
------------
Names responses cut off by a RST, the sender of the RST, and a repetition by the client.

Why it is bad
-------------
Received data may be lost too: after a RST the receiver's kernel may drop unread data. The client must repeat
the request on a new connection, if a repetition is safe.

Evidence
--------
The RST, the received bytes of the body and the bytes announced by Content-Length. The capture holds every
byte of the response. A RST from the client means that the client gave up; the finding is then for
information. Lost is the time from the request to its repetition on a new connection.

Fix
---
Find the close with unread or unsent data: ``SO_LINGER`` with 0, a crashed or killed worker (deployments
without graceful stop), a proxy's or load balancer's timeout (``proxy_read_timeout``, idle timeout), a request
body that the server does not read before the close (nginx ``lingering_close on``; RFC 9112, section 9.6).

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
    """Return the responses cut off by a RST; see :class:`Detector`."""
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

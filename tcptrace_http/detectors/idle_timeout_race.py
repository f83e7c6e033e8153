"""A request that meets a connection the server is closing.

What it does
------------
Names requests on an idle persistent connection that the server closed at that time. The server's FIN or RST
crosses the request on the path, or the client ignored an earlier FIN. The server's kernel answers the request
with a RST. The client must send the request again on a new connection. If the FIN came at least one round
trip before the request, there is no race: the client does not watch its idle connections.

Why it is bad
-------------
The request fails, or needs a second attempt with a new handshake. A client may retry automatically only if
the method is idempotent (RFC 9110, section 9.2.2). A POST becomes an error for the user (502 of a proxy). The
race is rare and hard to reproduce. The cause is a client timeout that is not shorter than the server's.

Evidence
--------
The connection had carried responses and was idle; the first FIN or RST of the server does not acknowledge the
request: the server closed before the request arrived. No byte answers the request. Lost is the time from the
request to its repetition on a new connection, if captured.

Fix
---
Close idle connections at the client before the server does. Set an idle timeout a few seconds below the
server's (nginx ``upstream`` ``keepalive_timeout 4s`` towards Node.js' ``server.keepAliveTimeout`` of 5 s;
Apache ``KeepAliveTimeout 5``; AWS load balancers: the back end's over 60 s), or raise the server's timeout.
Use ``proxy_next_upstream error non_idempotent`` only if a repetition is safe.

Reference
---------
RFC 9112, sections 9.3.1 and 9.5.
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

#: Minimum idle time. No server closes an idle connection earlier. A server that closes sooner after its
#: response has no idle timeout and does not keep connections.
IDLE_MIN_NS: Final = 200_000_000
#: Maximum time from the request to the server's close: one round trip at most, and the kernel's time. A later
#: close has another reason: the request, or the server, was lost.
CLOSE_MAX_NS: Final = 100_000_000
#: Remedy for a client that ignored an earlier close.
REMEDY_OF_UNHEEDED: Final = (
    "let the client drop an idle connection when the server closes it: watch the socket while it is idle, or test"
    " it before it is used again (a client library's setting or a newer version of it), and repeat idempotent"
    " requests at once"
)
REMEDY: Final = (
    "make the client's idle timeout a few seconds shorter than the server's (nginx upstream"
    " keepalive_timeout below the back end's; Node.js server.keepAliveTimeout, Apache KeepAliveTimeout above"
    " the load balancer's), and repeat idempotent requests at once"
)


def find(tables: Mapping[str, pl.DataFrame], *, idle_min_ns: int = IDLE_MIN_NS) -> pl.LazyFrame:
    """Return the requests that met a closing connection; see :class:`Detector`."""
    import polars as pl

    idle = pl.col("idle").dt.total_nanoseconds()
    rows = (
        tables["endings"]
        .lazy()
        .filter(
            pl.col("kind") == "unanswered",
            pl.col("answered") > 0,
            ~pl.col("pipelined"),
            ~pl.col("request_acknowledged"),
            pl.col("server_gap_bytes") == 0,
            idle >= idle_min_ns,
        )
        .join(tables["connections"].lazy().select("flow", "initial_rtt"), on="flow", maintain_order="left")
        .with_columns(
            round_trip=pl.col("initial_rtt").fill_null(pl.duration()) + pl.duration(nanoseconds=CLOSE_MAX_NS),
            unheeded=pl.col("start") - pl.col("close_time"),
        )
        .filter(-pl.col("unheeded") <= pl.col("round_trip"))
    )
    is_unheeded = pl.col("unheeded") > pl.col("round_trip")
    request = pl.format("{} {}", "method", pl.col("target").str.head(80))
    what = (
        pl.when(is_unheeded)
        .then(
            pl.format(
                "the client sent {} on a connection that the server had closed {} s before",
                request,
                (pl.col("unheeded").dt.total_nanoseconds() / 1e9).round(1),
            )
        )
        .otherwise(
            pl.format(
                "{} met the server's close of a connection that had been idle for {} s",
                request,
                (idle / 1e9).round(1),
            )
        )
    )
    return of_services(
        with_repeat(rows, tables),
        lost=pl.col("repeat_time") - pl.col("start"),
        what=what,
        remedy=pl.when(is_unheeded).then(pl.lit(REMEDY_OF_UNHEEDED)).otherwise(pl.lit(REMEDY)),
    ).with_columns(
        confidence=pl.when(pl.col("repeated") > 0).then(0.95).otherwise(0.85),
    )

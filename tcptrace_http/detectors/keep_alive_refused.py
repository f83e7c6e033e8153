"""A server that closes although the client asked for a persistent connection.

What it does
------------
Names servers that end a connection after one response or a few. The request allowed a persistent connection
(HTTP/1.1 without ``Connection: close``, or HTTP/1.0 with ``Connection: keep-alive``). The finding says how
the server ends the connection. The response ends it (``Connection: close``, HTTP/1.0, a body ended by the
close), or a FIN follows at once.

Why it is bad
-------------
The client opens a new connection for its next request. The new connection costs a handshake and slow start
from the initial window. A request in flight is lost and must be sent again.

Evidence
--------
The last request allows a persistent connection. The server's FIN or RST is the first one and follows the
response within little more than a round trip. Or the response announces the close, whichever end closes
first. The server answered at most about twenty requests, and the client soon opened another connection to the
port. Lost is the handshake of that connection. If connection-per-request counts that handshake, or requests
stayed unanswered, those findings claim the time.

Fix
---
nginx: ``keepalive_timeout`` over 0, ``keepalive_requests 1000``. Apache: ``KeepAlive On``,
``MaxKeepAliveRequests 0`` (unlimited; the default is 100), no ``nokeepalive`` for the client in
``BrowserMatch``. lighttpd: ``server.max-keep-alive-requests = 1000``. Applications: answer in HTTP/1.1, with
Content-Length or chunked.

Reference
---------
RFC 9112, sections 9.3 and 9.6; J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations,
1996, section 1.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, ENDINGS, SERVICE
from tcptrace_http.detectors._reuse import needless
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("connections",)
NEEDS: Final = ("both_directions", "whole_payload")
GATHERS: Final = (CONNECTIONS, ENDINGS)

#: Maximum number of answered requests. Servers in use allow more by default: 100 for Apache's
#: MaxKeepAliveRequests and, until 1.19.10, for nginx's keepalive_requests.
ANSWERED_MAX: Final = 20
#: Maximum time from the response to the close. The server's scheduling takes less; idle timeouts are at least
#: one second.
CLOSE_AT_ONCE_NS: Final = 100_000_000
#: Maximum time until the client's next connection, if it has more requests.
NEXT_MAX_SECONDS: Final = 5
#: Minimum number of connections with pipelined requests. One may be an accident, two are the server's
#: behaviour.
HABIT_MIN: Final = 2
#: Maximum number of frames that a finding lists.
FRAMES_SHOWN: Final = 8
REMEDY: Final = (
    "nginx: keepalive_timeout 75s, keepalive_requests 1000; Apache: KeepAlive On, MaxKeepAliveRequests 0;"
    " lighttpd: server.max-keep-alive-requests = 1000; applications: answer in HTTP/1.1 with Content-Length"
    " or chunked and without Connection: close"
)


def find(tables: Mapping[str, pl.DataFrame], *, answered_max: int = ANSWERED_MAX) -> pl.LazyFrame:
    """Return the servers that refuse persistent connections; see :class:`Detector`."""
    import polars as pl

    # HTTP/2 has no such field; h2-connection-churn covers its connections.
    connections = tables["connections"].lazy().filter(pl.col("protocol").cast(pl.String).ne_missing("h2"))
    said = ~pl.col("response_persists")
    by_server = pl.col("closed_by").cast(pl.String).str.starts_with("server")
    at_once = pl.col("close_time") - pl.col("last_response_time") <= (
        pl.col("initial_rtt").fill_null(pl.duration()) + pl.duration(nanoseconds=CLOSE_AT_ONCE_NS)
    )
    nexts = connections.select(*SERVICE, opened="start", next_flow="flow", next_setup="initial_rtt").sort("opened")
    told = needless(tables["connections"]).select(next_flow="flow", is_counted=pl.lit(value=True))
    # Unanswered requests have their own loss.
    unanswered = (
        tables["endings"]
        .lazy()
        .filter(pl.col("kind") == "unanswered")
        .select("flow", is_unanswered=pl.lit(value=True))
        .unique()
    )
    # A client that receives this announcement may close before the server does.
    refuses = (said & pl.col("close_frame").is_not_null()) | (by_server & at_once)
    refused = (
        connections.join(unanswered, on="flow", how="left")
        .filter("request_persists", refuses, pl.col("transactions") <= answered_max)
        .sort("last_response_time")
        .join_asof(
            nexts,
            left_on="last_response_time",
            right_on="opened",
            by=list(SERVICE),
            strategy="forward",
            tolerance=timedelta(seconds=NEXT_MAX_SECONDS),
            check_sortedness=False,
        )
        .filter(pl.col("next_flow").is_not_null())
        .join(told, on="next_flow", how="left")
        .sort("flow")
    )
    # One new connection may follow several closed ones.
    is_first = (
        pl.col("next_flow").is_first_distinct()
        & pl.col("is_counted").is_null()
        & pl.col("is_unanswered").is_null()
    )
    setup = pl.when(is_first).then(pl.col("next_setup").fill_null(pl.duration())).otherwise(pl.duration())
    return (
        refused.with_columns(setup=setup, said=said)
        .group_by(SERVICE, maintain_order=True)
        .agg(
            flows=pl.col("flow"),
            times=pl.len(),
            fewest=pl.col("transactions").min(),
            most=pl.col("transactions").max(),
            said_times=pl.col("said").sum(),
            answered_all=pl.col("is_unanswered").is_null().sum(),
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            start=pl.col("last_response_time").min(),
            first_frame=pl.col("close_frame").min(),
            last_frame=pl.col("close_frame").max(),
            lost=pl.col("setup").sum(),
            elapsed=(pl.col("last_response_time") - pl.col("start")).sum(),
            shown=pl.col("close_frame").head(FRAMES_SHOWN).cast(pl.String).str.join(", "),
        )
        # A single connection that ended with unanswered requests has its own finding.
        .filter((pl.col("answered_all") > 0) | (pl.col("times") >= HABIT_MIN))
        .select(
            "flow",
            "first_frame",
            "last_frame",
            "start",
            "lost",
            "elapsed",
            "flows",
            transaction=pl.lit(None),
            confidence=pl.when(pl.col("said_times") > 0).then(0.98).otherwise(0.9),
            cause=pl.when(pl.col("lost") > pl.duration()).then(pl.lit("setup.handshake")),
            # Without a loss of its own the finding is structure only.
            severity=pl.when(pl.col("lost") <= pl.duration()).then(pl.lit("info")),
            summary=pl.format(
                "{} port {} closed {} after {}{}, although the requests allowed a persistent connection",
                "server",
                "server_port",
                counted("times", "connection"),
                pl.when(pl.col("most") > pl.col("fewest"))
                .then(pl.format("{} to ", "fewest"))
                .otherwise(pl.lit("")),
                counted("most", "response"),
            ),
            evidence=pl.format(
                "the response announces the close on {} of {}; the first FIN or RST is in frames {}{}",
                "said_times",
                "times",
                "shown",
                pl.when(pl.col("times") > FRAMES_SHOWN).then(pl.lit(" …")).otherwise(pl.lit("")),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

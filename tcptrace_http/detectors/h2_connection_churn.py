"""HTTP/2 connections that end after few streams while their client continues.

What it does
------------
Names clients and ports whose HTTP/2 connections repeatedly end by GOAWAY or FIN after few streams. The client
opens the next connection right away.

Why it is bad
-------------
Each new connection costs its handshakes (two round trips with TLS), and begins in slow start with an empty
HPACK table. HTTP/2 intends one connection for all requests to a server.

Evidence
--------
Connections of at most twenty streams that ended before the SYN of the client's next connection to the same
port. That SYN came within five seconds of their last response. Each next connection counts once. Lost is the
time that the first requests on the next connections waited for the handshakes. Connections opened ahead of
need do not count. A finding needs at least three such connections to one port.

Fix
---
Server closes: nginx ``keepalive_requests 1000`` (for HTTP/2 too), grpc ``MaxConnectionAge`` over minutes,
Envoy ``max_requests_per_connection`` unset. Client closes: one client, channel or session for all requests
(grpc channel, .NET ``HttpClient``, Go ``http.Transport``, curl with one handle or ``--next``). The detector
connection-per-request covers a proxy that speaks HTTP/1.0 to its upstream or closes those connections.

Reference
---------
RFC 9113, sections 9.1 and 6.8; https://github.com/grafana/synthetic-monitoring-agent/pull/354;
https://github.com/grpc/grpc-node/issues/2176.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, H2_CONNECTIONS, HANDSHAKES, SERVICE
from tcptrace_http.detectors._reuse import KEPT_OPEN_NS, OPENED_AHEAD_NS
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("h2_connections",)
NEEDS: Final = ("both_directions", "handshake", "whole_payload")
GATHERS: Final = (CONNECTIONS, H2_CONNECTIONS, HANDSHAKES)

#: Maximum number of streams of a short connection. Servers in use allow more requests by default (nginx
#: keepalive_requests: 1000).
STREAMS_MAX: Final = 20
#: Minimum number of short connections. Fewer are chance: a client started several times.
CHURN_MIN: Final = 3
#: Minimum share of the closes for the end that must change.
MOST: Final = 0.5
#: Maximum number of frames that a finding lists.
FRAMES_SHOWN: Final = 8
REMEDY_SERVER: Final = (
    "the server ends the connections: nginx keepalive_requests 1000 or more; grpc MaxConnectionAge of minutes,"
    " with MaxConnectionAgeGrace; Envoy max_requests_per_connection unset; behind a load balancer its limit per"
    " connection"
)
REMEDY_CLIENT: Final = (
    "the client ends the connections: one client, channel or session for all requests (one gRPC channel, one"
    " .NET HttpClient, one Go http.Transport, one Node.js http2 session)"
)


def find(
    tables: Mapping[str, pl.DataFrame], *, streams_max: int = STREAMS_MAX, churn_min: int = CHURN_MIN
) -> pl.LazyFrame:
    """Return the clients and ports with repeated short connections; see :class:`Detector`."""
    import polars as pl

    connections = _connections(tables)
    nexts = connections.select(*SERVICE, "opened", next_flow="flow", next_setup="setup").sort("opened")
    churned = (
        connections.filter(pl.col("streams") <= streams_max, pl.col("ended").is_not_null())
        .drop_nulls("last_response_time")
        .sort("last_response_time", "flow")
        .join_asof(
            nexts,
            left_on="last_response_time",
            right_on="opened",
            by=list(SERVICE),
            strategy="forward",
            tolerance=timedelta(microseconds=KEPT_OPEN_NS // 1000),
            check_sortedness=False,
        )
        .filter(pl.col("ended") <= pl.col("opened_right"), pl.col("next_flow").is_first_distinct())
        .filter(pl.len().over(SERVICE) >= churn_min)
        .sort("flow")
    )
    return (
        churned.group_by(SERVICE, maintain_order=True)
        .agg(
            flows=pl.col("flow"),
            times=pl.len(),
            fewest=pl.col("streams").min(),
            most=pl.col("streams").max(),
            goaways=pl.col("goaway_frame").is_not_null().sum(),
            by_server=pl.col("is_by_server").mean(),
            start=pl.col("last_response_time").min(),
            first_frame=pl.col("end_frame").min(),
            last_frame=pl.col("end_frame").max(),
            lost=pl.col("next_setup").sum(),
            elapsed=(pl.col("last_response_time") - pl.col("opened")).sum(),
            shown=pl.col("end_frame").head(FRAMES_SHOWN).cast(pl.String).str.join(", "),
        )
        .with_columns(is_by_server=pl.col("by_server") > MOST)
        .select(
            *("first_frame", "last_frame", "start", "lost", "elapsed", "flows"),
            flow=pl.lit(None),
            transaction=pl.lit(None),
            confidence=pl.lit(0.9),
            cause=pl.lit("setup.handshake"),
            severity=pl.when(pl.col("lost") <= pl.duration()).then(pl.lit("info")),
            summary=pl.format(
                "{} to {} port {} ended after {}{}, by the {}, and {} opened the next at once",
                counted("times", "HTTP/2 connection"),
                "server",
                "server_port",
                pl.when(pl.col("most") > pl.col("fewest"))
                .then(pl.format("{} to ", "fewest"))
                .otherwise(pl.lit("")),
                counted("most", "stream"),
                pl.when("is_by_server").then(pl.lit("server")).otherwise(pl.lit("client")),
                "client",
            ),
            evidence=pl.format(
                "{} of {} sent GOAWAY; GOAWAY, FIN or RST in frames {}{}",
                "goaways",
                "times",
                "shown",
                pl.when(pl.col("times") > FRAMES_SHOWN).then(pl.lit(" …")).otherwise(pl.lit("")),
            ),
            remedy=pl.when("is_by_server").then(pl.lit(REMEDY_SERVER)).otherwise(pl.lit(REMEDY_CLIENT)),
        )
    )


def _connections(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the HTTP/2 connections: when and by which end each ended, and how long its first request waited for
    handshakes.
    """
    import polars as pl

    waited = pl.col("first_request_time") - pl.col("start")
    handshakes = pl.coalesce(pl.col("done_time") - pl.col("start"), "initial_rtt", waited)
    is_ahead = waited - handshakes > pl.duration(nanoseconds=OPENED_AHEAD_NS)
    says_goaway = (pl.col("goaway_time") <= pl.col("close_time")).fill_null(pl.col("goaway_time").is_not_null())
    by_goaway = pl.col("goaway_by").cast(pl.String) == "server_to_client"
    by_close = pl.col("closed_by").cast(pl.String).str.starts_with("server")
    return (
        tables["h2_connections"]
        .lazy()
        .join(tables["connections"].lazy(), on="flow", maintain_order="left")
        .filter("has_syn")
        .join(
            tables["handshakes"].lazy().select("flow", "done_time"), on="flow", how="left", maintain_order="left"
        )
        .with_columns(
            opened="start",
            ended=pl.min_horizontal("goaway_time", "close_time"),
            end_frame=pl.min_horizontal("goaway_frame", "close_frame"),
            is_by_server=pl.when(says_goaway).then(by_goaway).otherwise(by_close),
            setup=pl.when(is_ahead)
            .then(pl.duration())
            .otherwise(pl.min_horizontal(waited, handshakes))
            .fill_null(pl.duration()),
        )
    )

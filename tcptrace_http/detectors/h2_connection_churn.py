"""HTTP/2 connections that end after few streams while their client goes on.

What it does
------------
Names clients and ports where one HTTP/2 connection after another ends by GOAWAY or FIN after few streams, and
the client opens the next one right away.

Why it is bad
-------------
Each new connection costs its handshakes, with TLS two round trips, and begins with an empty HPACK table and in
slow start. One connection is meant to carry all requests to a server.

Evidence
--------
Connections of at most twenty streams, ended no later than the SYN of the client's next connection to the same
port, which came within five seconds of their last response; each next connection is counted once. Lost is the
time in which the next first requests waited for the handshakes (not where it was opened ahead). Said from three
such connections to one port on.

Fix
---
Server closes: nginx ``keepalive_requests 1000`` (for HTTP/2 too), grpc ``MaxConnectionAge`` over minutes, Envoy
``max_requests_per_connection`` unset. Client closes: one client, channel or session for all requests (grpc
channel, .NET ``HttpClient``, Go ``http.Transport``, curl with one handle or ``--next``). A proxy that speaks
HTTP/1.0 or closes to its upstream is connection-per-request's.

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

#: No server in use ends a connection after fewer requests unless told to (nginx keepalive_requests: 1000).
STREAMS_MAX: Final = 20
#: Fewer are chance: a client that was started several times.
CHURN_MIN: Final = 3
#: Who ends most of the connections is to change.
MOST: Final = 0.5
#: Frames that a finding names; the rest are as many more of the same.
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
    """Clients and ports with one short connection after another; see :class:`Detector`."""
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
                "{} of {} said GOAWAY; GOAWAY, FIN or RST in frames {}{}",
                "goaways",
                "times",
                "shown",
                pl.when(pl.col("times") > FRAMES_SHOWN).then(pl.lit(" …")).otherwise(pl.lit("")),
            ),
            remedy=pl.when("is_by_server").then(pl.lit(REMEDY_SERVER)).otherwise(pl.lit(REMEDY_CLIENT)),
        )
    )


def _connections(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Those of HTTP/2: when and by whom each ended, and how long its first request waited for the handshakes."""
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

"""A new connection for each request, although an earlier one was free.

What it does
------------
Names clients that open a TCP connection, send one request, and open another connection after the response.
HTTP/1.0 works this way, and so do HTTP/1.1 peers configured without persistent connections.

Why it is bad
-------------
Each request first waits for a handshake: one round trip, with TLS two or three. Each response starts in slow
start with the initial window, whatever earlier connections learned about the path. Servers keep state for
every closed connection (TIME-WAIT). The kernel's work for a connection exceeds the work for a small response.

Evidence
--------
Connections with one transaction each whose SYN came after the response on an earlier, free connection.
Parallel connections do not count while no earlier connection is free. Lost is the requests' wait for the
handshake. The round trips of slow start that the previous connection's window would have saved are lost as
well. The handshake of a connection opened ahead of need does not count. A finding needs at least three such
connections to one port and a client that reuses almost none.

Fix
---
nginx: ``keepalive_timeout 75s`` (0 turns it off), and towards upstreams ``keepalive 32`` with
``proxy_http_version 1.1`` and ``proxy_set_header Connection ""``. Apache: ``KeepAlive On``. lighttpd:
``server.max-keep-alive-requests``. Clients: use one session or agent for all requests (Python
``requests.Session``, Node.js ``http.Agent({keepAlive: true})``, Go: read the body to its end), no
``Connection: close``.

Reference
---------
J. C. Mogul, The Case for Persistent-Connection HTTP, SIGCOMM 1995; RFC 9112, section 9.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, OPENINGS, PAIR, PROFILES, SERVICE
from tcptrace_http.detectors._reuse import NEEDLESS_MIN, SINGLE_SHARE_MIN, needless
from tcptrace_http.detectors._shown_windows import with_shown_window
from tcptrace_http.detectors._slow_start import openings, with_lost

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("connections",)
NEEDS: Final = ("both_directions", "handshake", "whole_payload")
GATHERS: Final = (CONNECTIONS, OPENINGS, PROFILES)

#: Minimum share of the closes for the end that must change.
MOST: Final = 0.5
#: Maximum number of frames that a finding lists.
FRAMES_SHOWN: Final = 8
REMEDY_CLIENT: Final = (
    "the client asks for the close: let it keep connections (a session or agent with keep-alive, HTTP/1.1"
    " without Connection: close)"
)
REMEDY_SERVER: Final = (
    "the server closes: nginx keepalive_timeout 75s; Apache KeepAlive On; lighttpd"
    " server.max-keep-alive-requests over 1; applications: HTTP/1.1 with Content-Length or chunked"
)
REMEDY_UNUSED: Final = (
    "both ends keep the connection, but the client does not reuse it: use one session or connection pool for"
    " all requests (requests.Session, http.Agent keepAlive, reading bodies to their end)"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    needless_min: int = NEEDLESS_MIN,
    single_share_min: float = SINGLE_SHARE_MIN,
) -> pl.LazyFrame:
    """Return the clients and ports with one connection per request; see :class:`Detector`."""
    import polars as pl

    flows = needless(tables["connections"], needless_min=needless_min, single_share_min=single_share_min)
    rounds = _rounds_saved(flows, tables)
    lost = (pl.col("setup") + pl.col("rounds").fill_null(pl.duration())).sum()
    setup_ms = (pl.col("setup").sum().dt.total_nanoseconds() / 1e6).round(1)
    rounds_ms = (pl.col("rounds").sum().dt.total_nanoseconds() / 1e6).round(1)
    asks_close = (~pl.col("request_persists")).mean() > MOST
    refuses = (~pl.col("response_persists")).mean() > MOST
    closes = pl.col("closed_by").cast(pl.String).str.starts_with("server").mean() > MOST
    return (
        flows.join(rounds, on="flow", how="left", maintain_order="left")
        .group_by(SERVICE, maintain_order=True)
        .agg(
            flows=pl.col("flow"),
            connections=pl.len(),
            lost=lost,
            elapsed=(pl.col("last_response_time") - pl.col("start")).sum(),
            start=pl.col("start").min(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.col("first_frame").max(),
            setup_ms=setup_ms,
            rounds_ms=rounds_ms,
            shown=pl.col("first_frame").head(FRAMES_SHOWN).cast(pl.String).str.join(", "),
            remedy=pl.when(asks_close)
            .then(pl.lit(REMEDY_CLIENT))
            .when(refuses | closes)
            .then(pl.lit(REMEDY_SERVER))
            .otherwise(pl.lit(REMEDY_UNUSED)),
        )
        .select(
            "first_frame",
            "last_frame",
            "start",
            "lost",
            "elapsed",
            "flows",
            "remedy",
            flow=pl.lit(None),
            transaction=pl.lit(None),
            confidence=pl.lit(0.95),
            cause=pl.lit("setup.handshake"),
            summary=pl.format(
                "{} opened {} connections to {} port {} for one request each; one persistent connection suffices",
                "client",
                "connections",
                "server",
                "server_port",
            ),
            evidence=pl.format(
                "SYNs in frames {}; {} ms waiting for handshakes, {} ms in round trips of slow start",
                pl.when(pl.col("connections") > FRAMES_SHOWN).then(pl.col("shown") + " …").otherwise("shown"),
                "setup_ms",
                "rounds_ms",
            ),
        )
    )


def _rounds_saved(flows: pl.LazyFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return, per flow, the round trips that the largest window of earlier connections would have saved, as
    time.
    """
    import polars as pl

    began = (
        openings(tables)
        .filter(pl.col("initial_window_bytes").is_not_null())
        .join(flows.select("flow", *PAIR, opened="start"), on="flow")
    )
    shown = with_shown_window(began, tables["connections"].lazy(), at="opened")
    return with_lost(shown.with_columns(window=(pl.col("window") * pl.col("mss")).cast(pl.Int64))).select(
        "flow", rounds="lost"
    )

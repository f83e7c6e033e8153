"""Rows of each flow for the detectors that compare several flows of two hosts.

Each pair of hosts keeps its first flows by flow number. The whole capture keeps as many as memory allows. The
choice does not depend on the parts of the capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._gather import Gather

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

__all__ = [
    "CONNECTIONS",
    "ENDINGS",
    "FIRST_REQUESTS",
    "H2_CONNECTIONS",
    "HANDSHAKES",
    "LOSS_WAITS",
    "OPENINGS",
    "PAIR",
    "PROFILES",
    "RECOVERIES",
    "SERVICE",
]

#: Key of the flows between two hosts, and key of the flows between a client and a server port.
PAIR: Final = ("client", "server")
SERVICE: Final = ("client", "server", "server_port")
#: Maximum number of flow rows. A row takes about 200 bytes, so the rows take about 25 MB. A page load has
#: about a hundred connections. A busy server port has many more per day, and the first ones suffice.
FLOWS_MAX: Final = 1 << 17
#: Maximum number of flows per host pair. A pathology of two hosts shows in far fewer connections.
FLOWS_OF_A_PAIR_MAX: Final = 1024
#: Maximum number of rows with lists of waits or failures. These rows are larger and rarer.
NOTABLE_MAX: Final = 1 << 15

#: Waits caused by lost data.
LOSS_WAITS: Final = ("stall.retransmission_timeout", "stall.tail_loss", "stall.fast_recovery")

_OF_A_CONNECTION: Final = (
    "flow",
    *SERVICE,
    "first_frame",
    "start",
    "end",
    "has_syn",
    "transactions",
    "first_request_time",
    "last_response_time",
    "request_persists",
    "response_persists",
    "closed_by",
    "close_time",
    "close_frame",
    "initial_rtt",
    "server_loss_time",
    "server_retransmissions",
    "server_packets",
    "protocol",
    "largest_window_segments",
)


#: Columns of a server's first flight and of its window.
_OF_A_WINDOW: Final = (
    *("first_flight_bytes", "first_flight_segments", "initial_window_bytes", "initial_window_segments"),
    "largest_window_bytes",
)

#: Columns of a TLS handshake: its session, and the times of its phases.
_OF_A_HANDSHAKE: Final = (
    *("server_name", "version", "resumed", "hello_retry", "round_trips"),
    *("client_hello_frame", "client_hello_time", "server_hello_time", "server_flight_last_time", "done_time"),
)


#: Columns of an HTTP/2 connection: its streams, and how it ended.
_OF_H2: Final = ("streams", "goaway_frame", "goaway_time", "goaway_by")


def _connections(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    import polars as pl

    return tables["flows"].lazy().filter(pl.col("transactions") > 0).select(_OF_A_CONNECTION)


def _first_of_each_pair(rows: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return rows.sort("flow").filter(pl.int_range(pl.len()).over(PAIR) < FLOWS_OF_A_PAIR_MAX).head(FLOWS_MAX)


def _first_requests(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    import polars as pl

    return (
        tables["transactions"]
        .lazy()
        .filter(pl.col("index") == 0, pl.col("request_time").is_not_null())
        .select("flow", "request_time", "request_frame", requested=pl.struct("method", "target").hash())
    )


def _handshakes(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    of_flow = tables["flows"].lazy().select("flow", *SERVICE, "start", "initial_rtt", "last_response_time")
    return (
        tables["tls_handshakes"]
        .lazy()
        .select("flow", *_OF_A_HANDSHAKE)
        .join(of_flow, on="flow", maintain_order="left")
    )


def _h2_connections(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    return tables["h2_connections"].lazy().select("flow", *_OF_H2)


def _openings(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    import polars as pl

    length = (pl.col("end") - pl.col("start")).dt.total_nanoseconds()
    is_of_window = pl.col("cause").cast(pl.String) == "send_limited.slow_start"
    is_of_response = pl.col("direction").cast(pl.String) == "server_to_client"
    is_loss = pl.col("cause").is_in(LOSS_WAITS)
    transactions = (
        tables["transactions"]
        .lazy()
        .filter(pl.col("index") == 0)
        .select(
            "flow",
            begin="response_first_time",
            finish="response_last_time",
            response_bytes=pl.col("response_wire_bytes").fill_null(0),
        )
    )
    return (
        tables["waits"]
        .lazy()
        .filter(pl.col("transaction") == 0, is_of_response, is_of_window | is_loss, pl.col("offset").is_not_null())
        .group_by("flow", maintain_order=True)
        .agg(
            offsets=pl.col("offset").filter(is_of_window).cast(pl.Int64),
            waits_ns=length.filter(is_of_window),
            lost_offsets=pl.col("offset").filter(is_loss).cast(pl.Int64),
            first_frame=pl.col("first_frame").first(),
            last_frame=pl.col("last_frame").last(),
        )
        .join(transactions, on="flow", maintain_order="left")
        .with_columns(transaction=pl.lit(0, pl.UInt32))
    )


def _profiles(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    import polars as pl

    return (
        tables["profiles"]
        .lazy()
        .filter(pl.col("direction").cast(pl.String) == "server_to_client")
        .select("flow", "mss", "round_trip", *_OF_A_WINDOW)
    )


def _endings(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    import polars as pl

    of_flow = tables["flows"].lazy().select("flow", *SERVICE, "server_gap_bytes", "client_packets")
    return (
        tables["endings"]
        .lazy()
        .join(of_flow, on="flow", maintain_order="left")
        .with_columns(requested=pl.struct("method", "target").hash())
    )


def _recoveries(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    import polars as pl

    return _summed(
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").is_in(LOSS_WAITS))
        .select("flow", recovery=pl.col("end") - pl.col("start"))
    )


def _summed(rows: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return rows.group_by("flow").agg(pl.col("recovery").sum()).sort("flow").head(FLOWS_MAX)


def _first(limit: int) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    return lambda rows: rows.sort("flow").head(limit)


#: Connections with HTTP messages.
CONNECTIONS: Final = Gather("connections", _connections, _first_of_each_pair, "flows")
#: First request of each connection, with its target as a number for comparison.
FIRST_REQUESTS: Final = Gather("first_requests", _first_requests, _first(FLOWS_MAX), "transactions")
#: TLS handshakes of the connections.
HANDSHAKES: Final = Gather("handshakes", _handshakes, _first_of_each_pair, "tls_handshakes")
#: HTTP/2 connections.
H2_CONNECTIONS: Final = Gather("h2_connections", _h2_connections, _first(FLOWS_MAX), "h2_connections")
#: First response of each connection that waited for its congestion window or lost data.
OPENINGS: Final = Gather("openings", _openings, _first(NOTABLE_MAX), "waits")
#: Inferred profile of the server of each opening.
PROFILES: Final = Gather("profiles", _profiles, _first(NOTABLE_MAX), "profiles")
#: Time that the transactions of each connection waited for lost data.
RECOVERIES: Final = Gather("recoveries", _recoveries, _summed, "waits", adds_up=True)
#: Connections that ended with a failure for the client.
ENDINGS: Final = Gather("endings", _endings, _first(NOTABLE_MAX), "endings")

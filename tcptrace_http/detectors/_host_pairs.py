"""What is kept of each flow for the detectors that look over several flows of two hosts.

Of each pair of hosts the first flows are kept, by number, and of the capture as many as memory bears:
which these are does not depend on the parts in which the capture came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._detector import Gather

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

__all__ = ["CONNECTIONS", "ENDINGS", "FIRST_REQUESTS", "LOSS_WAITS", "OPENINGS", "PAIR", "RECOVERIES", "SERVICE"]

#: What is shared by the flows of two hosts; and of a client and a server's port.
PAIR: Final = ("client", "server")
SERVICE: Final = ("client", "server", "server_port")
#: A row takes some 200 bytes, so that these take about 25 MB; a page load has a hundred connections, a
#: day of a busy server's port many more, of which the first tell enough.
FLOWS_MAX: Final = 1 << 17
#: A pathology of two hosts shows in far fewer connections.
FLOWS_OF_A_PAIR_MAX: Final = 1024
#: Rows with lists of flights, or of what went wrong: larger, and rarer.
NOTABLE_MAX: Final = 1 << 15

#: Waits that are there because data was lost.
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
    "largest_window_segments",
)


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
        .select("flow", "request_time", "request_frame", asked=pl.struct("method", "target").hash())
    )


def _openings(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:

    return tables["flights"].lazy().filter("begins_flow")


def _endings(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    import polars as pl

    of_flow = tables["flows"].lazy().select("flow", *SERVICE, "server_gap_bytes", "client_packets")
    return (
        tables["endings"]
        .lazy()
        .join(of_flow, on="flow", maintain_order="left")
        .with_columns(asked=pl.struct("method", "target").hash())
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


#: Connections that carried HTTP.
CONNECTIONS: Final = Gather("connections", _connections, _first_of_each_pair)
#: The first request on each of them, and what it asked for as a number to compare.
FIRST_REQUESTS: Final = Gather("first_requests", _first_requests, _first(FLOWS_MAX))
#: The first response on each that needed several flights.
OPENINGS: Final = Gather("openings", _openings, _first(NOTABLE_MAX))
#: How long the transactions of each connection waited for lost data.
RECOVERIES: Final = Gather("recoveries", _recoveries, _summed)
#: Connections that let their client down.
ENDINGS: Final = Gather("endings", _endings, _first(NOTABLE_MAX))

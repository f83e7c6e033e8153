"""TLS handshakes that a transaction waited for, with what is known of their path."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import CLIENT_HELLO, HANDSHAKE, NAGLE, holds
from tcptrace_http.detectors._holds import LOST_MIN as HELD_MIN
from tcptrace_http.detectors.delayed_ack_first_segment import CAUSES as FIRST_SEGMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSE", "HELD", "LOST_MIN", "handshakes"]

CAUSE: Final = "setup.tls_handshake"
#: Causes of held data in a handshake, the delayed ACK of a one-segment window among them.
HELD: Final = (*NAGLE, *FIRST_SEGMENT)
#: A round trip of less is one inside a site, as for slow start.
LOST_MIN: Final = timedelta(milliseconds=4)


def handshakes(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """One row per handshake: its columns, ``transaction``, and of the server's profile the path and first flight.

    The first transaction of a flow alone waits for one: handshakes in a tunnel (CONNECT), whose path goes on
    behind the proxy, are left out. So are those in which data was lost, overtaken or held by Nagle's algorithm:
    other detectors have that time.
    """
    import polars as pl

    waits = (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == CAUSE)
        .select("flow", "transaction")
        .unique("flow", maintain_order=True)
    )
    profiles = (
        tables["profiles"]
        .lazy()
        .filter(pl.col("direction").cast(pl.String) == "server_to_client")
        .select("flow", "mss", "round_trip", "link_rate", "first_flight_bytes", "first_flight_segments")
    )
    disturbed = (
        tables["recoveries"]
        .lazy()
        .join(tables["tls_handshakes"].lazy().select("flow", "client_hello_time", "done_time"), on="flow")
        .filter(pl.col("end") >= pl.col("client_hello_time"), pl.col("start") <= pl.col("done_time"))
    )
    held = holds(tables, HELD, lost_min=HELD_MIN).filter(pl.col("place").is_in([CLIENT_HELLO, HANDSHAKE]))
    return (
        waits.join(tables["tls_handshakes"].lazy(), on="flow", maintain_order="left")
        .join(profiles, on="flow", maintain_order="left")
        .join(disturbed, on="flow", how="anti", maintain_order="left")
        .join(held, on="flow", how="anti", maintain_order="left")
        .with_columns(cause=pl.lit(CAUSE))
    )

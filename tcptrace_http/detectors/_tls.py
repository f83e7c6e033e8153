"""TLS handshakes that a transaction waited for, with the path of their flow."""

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
#: Causes of held data in a handshake, including the delayed ACK of a one-segment window.
HELD: Final = (*NAGLE, *FIRST_SEGMENT)
#: Minimum loss. A shorter round trip is one inside a site, as for slow start.
LOST_MIN: Final = timedelta(milliseconds=4)


def handshakes(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return one row per handshake: its columns, ``transaction``, and the path and first flight of the server's
    profile.

    Only the first transaction of a flow waits for a handshake. Handshakes in a tunnel (CONNECT) are left out:
    their path continues behind the proxy. Handshakes with lost, reordered or Nagle-held data are left out
    too: other detectors claim that time.
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

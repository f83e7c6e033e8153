"""The receive window is smaller than the path needs.

What it does
------------
Finds responses in flights as large as the client's receive window, with a wait of one round trip for each
flight. The client read all the time. Also finds uploads with the same waits for the server's receive window.

Why it is bad
-------------
The path carries at most one window per round trip, at any link rate: 64 KB at 100 ms are 5 Mbit/s.

Evidence
--------
Data that filled the window, and the ACK that released the next data (the waits
``send_limited.receive_window``). A connection without a captured handshake is left out: its window scale is
unknown, and unscaled windows look a hundred times too small. Lost is the sum of these waits.

Fix
---
Do not set ``SO_RCVBUF`` at the receiver (of an upload, the server): Linux then tunes the buffer up to
``net.ipv4.tcp_rmem`` (third value: at least twice the bandwidth-delay product). Enable window scaling on both
ends (``net.ipv4.tcp_window_scaling=1``) and in every middlebox.

Reference
---------
RFC 7323, section 2; RFC 4898, SndLimTimeRwin; Y. Zhang et al., On the Characteristics and Origins of Internet
Flow Rates, SIGCOMM 2002; M. Siekkinen et al., Root Cause Analysis of Throughput, 2008.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._limited import limited
from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("send_limited.receive_window",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "pure_acks")

#: Minimum loss for a finding.
LOST_MIN: Final = timedelta(milliseconds=20)
#: Minimum number of waits. One full window may be chance; a limited response fills its window repeatedly.
WAITS_MIN: Final = 3
REMEDY: Final = (
    "{}: do not set SO_RCVBUF, and let net.ipv4.tcp_rmem (third value) allow twice the bandwidth-delay"
    " product; net.ipv4.tcp_window_scaling=1 on both ends and through every middlebox"
)


def find(
    tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN, waits_min: int = WAITS_MIN
) -> pl.LazyFrame:
    """Return the messages limited by the receive window; see :class:`Detector`."""
    import polars as pl

    sent = pl.col("request_header_bytes").fill_null(0) + pl.col("request_body_bytes")
    sizes = (
        tables["transactions"]
        .lazy()
        .select("flow", "response_wire_bytes", transaction=pl.col("index"), request_bytes=sent)
    )
    scales = ("client_window_scale", "server_window_scale")
    flows = tables["flows"].lazy().filter("has_syn").select("flow", *scales)
    is_request = pl.col("what") == "request"
    size = pl.when(is_request).then("request_bytes").otherwise("response_wire_bytes").cast(pl.String)
    scale = pl.when(is_request).then("server_window_scale").otherwise("client_window_scale").cast(pl.String)
    found = limited(
        tables,
        CAUSES,
        room=pl.format("the {}'s receive window", "receiver"),
        lost_min=lost_min,
        waits_min=waits_min,
    )
    return (
        found.join(sizes, on=["flow", "transaction"], how="left", maintain_order="left")
        .join(flows, on="flow", how="inner", maintain_order="left")
        .with_columns(
            evidence=pl.format(
                "frames {} to {}; {} bytes; round trip {} ms; window {} bytes, scale {}",
                "first_frame",
                "last_frame",
                pl.coalesce(size, pl.lit("unknown")),
                ms("round_trip"),
                pl.coalesce(pl.col("receive_window_max").cast(pl.String), pl.lit("unknown")),
                pl.coalesce(scale, pl.lit("none")),
            ),
            remedy=pl.format(REMEDY, "receiver"),
        )
    )

"""The client's receive window is smaller than the path needs.

What it does
------------
Finds responses that the server sent in flights as large as the client's window, waiting a round trip
for each, although the client read all along.

Why it is bad
-------------
At most one window a round trip goes over the path, however fast it is: 64 KB at 100 ms are 5 Mbit/s.

Evidence
--------
Data that filled the window, and the ACK that let the next go (the waits ``send_limited.receive_window``).
Nothing is said of a connection whose client's SYN was not captured: by how much its windows are scaled is not
known, and unscaled ones look a hundred times too small.
Lost is the sum of these waits.

Fix
---
Do not set ``SO_RCVBUF`` in the client: Linux then tunes the buffer up to ``net.ipv4.tcp_rmem`` (its third
value: at least twice the path's bandwidth times delay). Window scaling on both ends
(``net.ipv4.tcp_window_scaling=1``) and through every middlebox.

Reference
---------
RFC 7323, section 2; RFC 4898, SndLimTimeRwin; Y. Zhang et al., On the Characteristics and Origins of
Internet Flow Rates, SIGCOMM 2002; M. Siekkinen et al., Root Cause Analysis of Throughput, 2008.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._limited import limited
from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "pure_acks")

#: Less is not worth a finding.
LOST_MIN: Final = timedelta(milliseconds=20)
#: One full window may be chance: a response that is limited by it fills it again and again.
WAITS_MIN: Final = 3
REMEDY: Final = (
    "client: do not set SO_RCVBUF, and let net.ipv4.tcp_rmem (third value) allow twice the path's bandwidth"
    " times delay; net.ipv4.tcp_window_scaling=1 on both ends and through every middlebox"
)


def find(
    tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN, waits_min: int = WAITS_MIN
) -> pl.LazyFrame:
    """Responses limited by the client's window; see :class:`Detector`."""
    import polars as pl

    key = ["flow", "transaction"]
    transactions = tables["transactions"].lazy().select("flow", "response_wire_bytes", transaction=pl.col("index"))
    flows = tables["flows"].lazy().filter("has_syn").select("flow", "client_window_scale")
    found = limited(
        tables,
        "send_limited.receive_window",
        what="the client's receive window",
        lost_min=lost_min,
        waits_min=waits_min,
    )
    return (
        found.join(transactions, on=key, how="left", maintain_order="left")
        .join(flows, on="flow", how="inner", maintain_order="left")
        .with_columns(
            evidence=pl.format(
                "frames {} to {}; {} bytes; round trip {} ms; window {} bytes, scale {}",
                "first_frame",
                "last_frame",
                pl.coalesce(pl.col("response_wire_bytes").cast(pl.String), pl.lit("unknown")),
                ms("round_trip"),
                pl.coalesce(pl.col("receive_window_max").cast(pl.String), pl.lit("unknown")),
                pl.coalesce(pl.col("client_window_scale").cast(pl.String), pl.lit("none")),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

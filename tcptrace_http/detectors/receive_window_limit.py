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
What was lost are these waits, less those that a sender whose window doubles each round trip would have
needed for the same data from there.

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

from tcptrace_http.detectors._recoveries import ms, ns
from tcptrace_http.detectors._wording import counted, times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "pure_acks")

#: Less is not worth a finding.
LOST_MIN: Final = timedelta(milliseconds=20)
#: One full window may be chance: a response that is limited by it fills it again and again.
ROUNDS_MIN: Final = 3
#: Shorter waits are ACKs that came in a row.
WAIT_MIN: Final = timedelta(milliseconds=1)
REMEDY: Final = (
    "client: do not set SO_RCVBUF, and let net.ipv4.tcp_rmem (third value) allow twice the path's bandwidth"
    " times delay; net.ipv4.tcp_window_scaling=1 on both ends and through every middlebox"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    lost_min: timedelta = LOST_MIN,
    rounds_min: int = ROUNDS_MIN,
) -> pl.LazyFrame:
    """Responses limited by the client's window; see :class:`Detector`."""
    import polars as pl

    key = ["flow", "transaction"]
    length = pl.col("end") - pl.col("start")
    transactions = tables["transactions"].lazy().select("flow", "response_wire_bytes", transaction=pl.col("index"))
    flows = (
        tables["flows"]
        .lazy()
        .filter("has_syn")
        .select("flow", "client_window_scale", "server_path_rtt", "client_path_rtt")
    )
    # From a flight of one window on, flights that double send n windows in log2(n + 1) round trips.
    needed = (pl.col("rounds") + 1).log(2).ceil()
    kept = (1 - needed / pl.col("rounds")).clip(0)
    rtt = ns("server_path_rtt").fill_null(0) + ns("client_path_rtt").fill_null(0)
    return (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == "send_limited.receive_window", length >= WAIT_MIN)
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("start", "first_frame").first(),
            pl.col("last_frame").last(),
            pl.col("confidence").mean(),
            waited=length.sum(),
            rounds=pl.len(),
        )
        .with_columns(lost=(ns("waited") * kept).cast(pl.Int64).cast(pl.Duration("ns")))
        .filter(pl.col("rounds") >= rounds_min, pl.col("lost") >= lost_min)
        .join(transactions, on=key, how="left", maintain_order="left")
        .join(flows, on="flow", how="inner", maintain_order="left")
        .with_columns(
            cause=pl.lit("send_limited.receive_window"),
            summary=pl.format(
                "the response waited {} for the client's receive window, {} ms in all",
                times("rounds"),
                ms("waited"),
            ),
            evidence=pl.format(
                "frames {} to {}; {} bytes; round trip {} ms; window scale {};"
                " windows that double would have needed {}",
                "first_frame",
                "last_frame",
                pl.coalesce(pl.col("response_wire_bytes").cast(pl.String), pl.lit("unknown")),
                (rtt / 1e6).round(1),
                pl.coalesce(pl.col("client_window_scale").cast(pl.String), pl.lit("none")),
                counted(needed.cast(pl.Int64), "wait"),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

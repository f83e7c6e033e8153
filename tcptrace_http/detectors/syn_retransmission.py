"""A connection was set up late because a SYN or its answer was lost.

What it does
------------
Finds HTTP connections with a retransmitted SYN or SYN-ACK and a handshake longer than the path's round trip.

Why it is bad
-------------
Before the first round-trip sample the RTO is one second (three on old stacks), then two, then four. One lost
packet delays a page by one second.

Evidence
--------
The first SYN and its copies. Lost is the time to the client's ACK less one round trip of the path, measured
later. A path with a round trip above the timer thus loses nothing.

Fix
---
Check for an overflowing listen queue (Linux: ``ListenOverflows`` and ``ListenDrops`` in ``nstat``, nginx
``listen … backlog``, ``net.core.somaxconn``, ``net.ipv4.tcp_max_syn_backlog``), for a full firewall table
(``nf_conntrack_max``), and for loss. Reuse connections (``keepalive`` in nginx upstreams, ``Connection:
keep-alive``): an open connection needs no SYN.

Reference
---------
RFC 6298, sections 2.1 and 5 and appendix A; RFC 9293, section 3.5; tcp(7), tcp_syn_retries.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms, ns
from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("recoveries", "waits")
NEEDS: Final = ("both_directions", "handshake")

#: Minimum loss. Less is a varying round trip; the timer is one second on all current stacks.
LOST_MIN: Final = timedelta(milliseconds=50)
REMEDY: Final = (
    "server: look for listen queue overflows (nstat ListenOverflows; net.core.somaxconn,"
    " tcp_max_syn_backlog, nginx listen backlog=) and full firewall tables; reuse connections (keep-alive)"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the HTTP connections delayed by a retransmitted SYN; see :class:`Detector`."""
    import polars as pl

    carries = tables["flows"].lazy().filter(pl.col("protocol").is_not_null())
    flows = carries.select("flow", "initial_rtt", "client", "server", "server_port")
    is_client = pl.col("direction").cast(pl.String) == "client_to_server"
    # The round trip of the handshake counts from the client's last SYN, if the client retransmitted it.
    handshake = pl.when(is_client).then(ns("initial_rtt")).otherwise(ns("rtt"))
    lost = ns("silence") + handshake.fill_null(0) - ns("rtt").fill_null(0)
    return (
        tables["recoveries"]
        .lazy()
        .filter(pl.col("kind").cast(pl.String) == "syn_retransmission")
        .join(flows, on="flow", how="inner", maintain_order="left")
        # A SYN still in flight may have a late answer; an answered SYN-ACK may not.
        .filter(is_client | (pl.col("spurious_by").cast(pl.String) == "none"))
        .with_columns(lost=lost.cast(pl.Duration("ns")))
        # Both ends may have retransmitted: the longer delay counts.
        .sort("flow", "lost", descending=[False, True], maintain_order=True)
        .unique("flow", keep="first", maintain_order=True)
        .filter(pl.col("lost") >= lost_min, pl.col("initial_rtt").is_not_null())
        .with_columns(
            cause=pl.lit("setup.syn_retransmission"),
            summary=pl.format(
                "the {} was sent again {} before the connection to {}:{} was set up, {} ms late",
                pl.when(is_client).then(pl.lit("SYN")).otherwise(pl.lit("SYN-ACK")),
                times("resent_segments"),
                "server",
                "server_port",
                ms("lost"),
            ),
            evidence=pl.format(
                "first in frame {}, again in frames {} to {}; round trip {} ms",
                "first_frame",
                "resent_frame",
                "last_frame",
                pl.coalesce(ms("rtt").cast(pl.String), pl.lit("unknown")),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

"""Connection attempts without an answer.

What it does
------------
Names the ports with a retransmitted SYN and no handshake: neither SYN-ACK nor RST, or a SYN-ACK without an
ACK. Only HTTP ports count, as for ``refused-connection``.

Why it is bad
-------------
No packet tells the client of the failure. The client tries until its connect timeout, or without one for two
minutes (Linux: ``tcp_syn_retries`` 6). Only then it tries another address.

Evidence
--------
The first SYN, and the last SYN or SYN-ACK. Lost is the time between them, the minimum wait of the client.
Parallel attempts count once.

Fix
---
Let the firewall reject instead of drop (``REJECT --reject-with tcp-reset`` for ``DROP``). Check for a full
listen queue (``nstat`` ListenOverflows), a full connection table (``nf_conntrack_max``), and an asymmetric
route (a SYN-ACK without an ACK). Remove dead addresses from DNS and upstreams, and give clients a connect
timeout (nginx ``proxy_connect_timeout``).

Reference
---------
RFC 6298, sections 2.1 and 5.7; RFC 9293, section 3.10.7; RFC 8305, section 5; tcp(7), tcp_syn_retries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, ENDINGS, PAIR
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._wording import counted
from tcptrace_http.detectors.refused_connection import HTTP_PORTS, PORTS_SHOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("endings",)
NEEDS: Final = ("both_directions",)
GATHERS: Final = (ENDINGS, CONNECTIONS)

REMEDY: Final = (
    "check for a dropping firewall (let it reject: REJECT with tcp-reset), a full listen queue (nstat"
    " ListenOverflows) or connection table, and an asymmetric route; set a connect timeout in the client"
)


def find(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the host pairs with unanswered connection attempts; see :class:`Detector`."""
    import polars as pl

    seen = tables["connections"].lazy().select("server_port", shows_http=pl.lit(value=True)).unique()
    before = pl.col("close_time").cum_max().shift()
    waited = pl.col("close_time") - pl.max_horizontal("start", before)
    return (
        tables["endings"]
        .lazy()
        .filter(pl.col("kind").cast(pl.String) == "unconnected")
        .join(seen, on="server_port", how="left")
        .filter(pl.col("shows_http") | pl.col("server_port").is_in(HTTP_PORTS))
        .sort("start", "flow")
        .group_by(PAIR, maintain_order=True)
        .agg(
            times=pl.len(),
            ports=pl.col("server_port").unique().sort().head(PORTS_SHOWN).cast(pl.String).str.join(", "),
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            start=pl.col("start").min(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.col("close_frame").max(),
            lost=waited.clip(pl.duration()).sum(),
            shown=pl.format("{} to {}", "first_frame", "close_frame").head(6).str.join(", "),
        )
        .select(
            *("flow", "first_frame", "last_frame", "start", "lost"),
            elapsed="lost",
            transaction=pl.lit(None),
            confidence=pl.lit(0.95),
            cause=pl.lit("setup.unanswered"),
            summary=pl.format(
                "{} did not answer {} of {} to port {} for {} ms",
                "server",
                counted("times", "connection"),
                "client",
                "ports",
                ms("lost"),
            ),
            evidence=pl.format("first SYN to the last SYN or SYN-ACK: frames {}", "shown"),
            remedy=pl.lit(REMEDY),
        )
    )

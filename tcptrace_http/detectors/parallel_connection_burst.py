"""Parallel connections that together overflow a queue.

What it does
------------
Finds at least three parallel connections of a client to a server that begin to lose data together, within one
or two round trips. Also finds connections that delay each other: one handshake takes much longer than the
shortest while the others send. More than six parallel connections, the browsers' limit per host, are reported
even without harm (info).

Why it is bad
-------------
Each connection sends an initial window and doubles it: four connections send forty segments at once, and
eighty one round trip later. A queue sized for one connection overflows, and all connections lose data. Small
windows then wait for a timeout, because too few segments follow the lost one. The queued segments delay all
other traffic of the link.

Evidence
--------
The connections in use at the time, and the first loss of server data on each. Losses with another cause hit
the connections at different times. Or the handshakes during that time against the shortest handshake of the
two hosts. Lost is the excess of these handshakes, and the waits for data that was lost together. The
connection with the longest waits does not count: slow start overshoots once on a single connection too.

Fix
---
Use HTTP/2 on one connection, fewer parallel connections (client pool or browser limit, no domain sharding),
pacing at the server (``fq``), or active queue management on the link (``fq_codel``, ``cake``).

Reference
---------
L. Eggert, J. Heidemann, J. Touch, Effects of Ensemble-TCP, ACM CCR 30 (1), 2000; H. Balakrishnan et al., TCP
Behavior of a Busy Internet Server, INFOCOM 1998; RFC 9112, section 9.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, PAIR, RECOVERIES
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("connections",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps")
GATHERS: Final = (CONNECTIONS, RECOVERIES)

#: Minimum number of connections. Two connections are a client with two tasks.
CONNECTIONS_MIN: Final = 3
#: Minimum share of connections that lose together. Random loss seldom hits half of them at once.
LOSING_SHARE_MIN: Final = 0.5
#: Maximum time between the losses in round trips. A full queue may double the round trip, and the sender
#: detects a loss one round trip after it.
TOGETHER_RTTS: Final = 2
#: Minimum excess of a queued handshake over the shortest, as a factor and as a time. Schedulers and delayed
#: SYN-ACKs cause less.
INFLATION_MIN: Final = 1.5
INFLATION_MIN_NS: Final = 10_000_000
#: Maximum share of retransmitted segments. A queue drops part of a flight. Above this share the path itself
#: loses data.
LOSS_SHARE_MAX: Final = 0.25
#: Minimum number of delayed handshakes. One may have met a slow accept.
INFLATED_MIN: Final = 2
#: Maximum handshake time. A longer handshake retransmitted its SYN: the first timeout is one second (RFC
#: 6298).
QUEUED_MAX_NS: Final = 1_000_000_000
#: Maximum number of connections per host in Firefox (network.http.max-persistent-connections-per-server) and
#: Chromium.
USUAL_MAX: Final = 6
REMEDY: Final = (
    "HTTP/2 on one connection, or fewer connections at once (client pool size, no domain sharding); pacing"
    " at the server (fq) and active queue management on the link (fq_codel, cake)"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    connections_min: int = CONNECTIONS_MIN,
    losing_share_min: float = LOSING_SHARE_MIN,
    inflation_min: float = INFLATION_MIN,
) -> pl.LazyFrame:
    """Return the bundles of connections that cause their own loss or delay; see :class:`Detector`."""
    import polars as pl

    rtt = pl.col("initial_rtt").dt.total_nanoseconds()
    least = pl.col("least")
    over = rtt - least
    is_inflated = (
        pl.col("is_later") & (rtt >= least * inflation_min) & over.is_between(INFLATION_MIN_NS, QUEUED_MAX_NS)
    )
    gap = pl.col("server_loss_time").diff().over(*PAIR, "bundle").dt.total_nanoseconds()
    # A run of losses with short gaps.
    breaks = (gap.is_null() | (gap > least * TOGETHER_RTTS)).cum_sum().over(*PAIR, "bundle")
    losing = (
        _bundles(tables)
        .filter(pl.col("server_loss_time").is_not_null(), pl.col("server_retransmissions") > 0)
        .sort(*PAIR, "bundle", "server_loss_time")
        .with_columns(run=breaks)
        .group_by(*PAIR, "bundle", "run")
        .agg(together=pl.len())
        .group_by(*PAIR, "bundle")
        .agg(together=pl.col("together").max())
    )
    lost_segments = pl.col("server_retransmissions").sum()
    return (
        _bundles(tables)
        .join(tables["recoveries"].lazy(), on="flow", how="left", maintain_order="left")
        .with_columns(pl.col("recovery").fill_null(pl.duration()))
        .with_columns(is_inflated=is_inflated.fill_null(value=False))
        .group_by(*PAIR, "bundle", maintain_order=True)
        .agg(
            flows=pl.col("flow"),
            connections=pl.len(),
            at_once=pl.col("active").max(),
            inflated=pl.col("is_inflated").sum(),
            queued=pl.duration(nanoseconds=pl.when("is_inflated").then(over).sum()),
            recovery=pl.col("recovery").sum() - pl.col("recovery").max(),
            elapsed=(pl.coalesce("last_response_time", "end") - pl.col("start")).sum(),
            start=pl.col("start").min(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.col("first_frame").max(),
            lost_segments=lost_segments,
            segments=pl.col("server_packets").sum(),
        )
        .join(losing, on=[*PAIR, "bundle"], how="left", maintain_order="left")
        .with_columns(pl.col("together").fill_null(0))
        .with_columns(
            loses=(pl.col("together") > 1)
            & (pl.col("lost_segments") <= pl.col("segments") * LOSS_SHARE_MAX)
            & (pl.col("together") >= pl.col("at_once") * losing_share_min)
        )
        .with_columns(lost=pl.col("queued") + pl.when("loses").then("recovery").otherwise(pl.duration()))
        .with_columns(hurts=pl.col("loses") | (pl.col("inflated") >= INFLATED_MIN))
        .filter(pl.col("at_once") >= connections_min, pl.col("hurts") | (pl.col("at_once") > USUAL_MAX))
        .with_columns(lost=pl.when("hurts").then("lost").otherwise(pl.duration()))
        .select(
            "first_frame",
            "last_frame",
            "start",
            "lost",
            "elapsed",
            "flows",
            flow=pl.lit(None),
            transaction=pl.lit(None),
            severity=pl.when(~pl.col("hurts")).then(pl.lit("info")),
            confidence=pl.when(pl.col("hurts").not_() | (pl.col("loses") & (pl.col("inflated") > 0)))
            .then(0.9)
            .when("loses")
            .then(0.65)
            .otherwise(0.75),
            cause=pl.when(pl.col("lost") > pl.duration()).then(
                pl.when(pl.col("queued") * 2 > pl.col("lost"))
                .then(pl.lit("network.queueing"))
                .otherwise(pl.lit("stall.retransmission_timeout"))
            ),
            summary=pl.format(
                "{} had {} connections to {} in use at once; {} of them lost data within two round trips of"
                " each other, {} stood in a queue",
                "client",
                "at_once",
                "server",
                "together",
                counted("inflated", "handshake"),
            ),
            evidence=pl.format(
                "{} connections with SYNs in frames {} to {}; {} of {} segments of the server sent again; {}"
                " ms over the shortest handshake, {} ms of waits for lost data without the longest",
                "connections",
                "first_frame",
                "last_frame",
                "lost_segments",
                "segments",
                (pl.col("queued").dt.total_nanoseconds() / 1e6).round(1),
                (pl.col("recovery").dt.total_nanoseconds() / 1e6).round(1),
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def _bundles(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the connections of two hosts with the number of their bundle, a time during which one of them is
    always in use.

    The rows have the number of active connections at their start, and the shortest handshake of the two
    hosts.
    """
    import polars as pl

    used_until = pl.coalesce("last_response_time", "end")
    connections = (
        tables["connections"].lazy().filter("has_syn").with_columns(used_until=used_until).sort("start", "flow")
    )
    begin = connections.select(*PAIR, "flow", time="start", step=pl.lit(1, dtype=pl.Int32))
    finish = connections.select(*PAIR, "flow", time="used_until", step=pl.lit(-1, dtype=pl.Int32))
    # At equal times the response comes first: the SYN may be its consequence.
    active = (
        pl.concat([begin, finish])
        .sort("time", "step", "flow")
        .with_columns(active=pl.col("step").cum_sum().over(PAIR))
        .filter(pl.col("step") == 1)
        .select("flow", "active")
    )
    return connections.join(active, on="flow", maintain_order="left").with_columns(
        bundle=(pl.col("active") == 1).cum_sum().over(PAIR),
        is_later=pl.col("active") > 1,
        least=pl.col("initial_rtt").min().over(PAIR).dt.total_nanoseconds(),
    )

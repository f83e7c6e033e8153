"""Connections opened at once that overflow a queue together.

What it does
------------
Finds three or more connections of a client to a server that are in use at the same time and that, within
a round trip or two, begin to lose data together, or make each other wait: the handshake of one takes
much longer than the path's least while the others are sending. More than six at once, which is what
browsers open to a host, are told even if they hurt nobody here (info).

Why it is bad
-------------
Each sends an initial window and doubles it: four connections put forty segments on the path at once, and
eighty a round trip later. A queue that bears one of them overflows, all of them lose, and small
windows must wait for a timeout, because too few segments follow the lost one. What fits stands in the
queue and delays everything else on the link.

Evidence
--------
The connections in use at the time, and when each of them first lost data of the server; loss that is
not the connections' own doing strikes one here and one there. Or the handshakes during it against the
least of the two hosts. Lost is what these handshakes took over the least, and the waits for data that
was lost together, but for those of the connection that waited longest: slow start overshoots once on a
single connection too.

Fix
---
HTTP/2 on one connection; fewer connections at once (client pool or browser limit, no domain sharding);
pacing at the server (``fq``); active queue management on the link (``fq_codel``, ``cake``).

Reference
---------
L. Eggert, J. Heidemann, J. Touch, Effects of Ensemble-TCP, ACM CCR 30 (1), 2000; H. Balakrishnan et al.,
TCP Behavior of a Busy Internet Server, INFOCOM 1998; RFC 9112, section 9.4.
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

#: Two connections are a client that does two things.
CONNECTIONS_MIN: Final = 3
#: Of the connections in use so many lose together; loss by chance seldom strikes half of them at once.
LOSING_SHARE_MIN: Final = 0.5
#: A full queue may double the round trip, and loss is seen one round trip after it.
TOGETHER_RTTS: Final = 2
#: A handshake is in a queue if it takes so much longer than the least, and by so much time: schedulers
#: and delayed SYN-ACKs take less.
INFLATION_MIN: Final = 1.5
INFLATION_MIN_NS: Final = 10_000_000
#: A queue loses some of a flight. Where more is sent again the path is broken, whoever uses it.
LOSS_SHARE_MAX: Final = 0.25
#: One handshake may have met a slow accept.
INFLATED_MIN: Final = 2
#: A handshake that takes longer had its SYN sent again: the first timeout is one second (RFC 6298).
QUEUED_MAX_NS: Final = 1_000_000_000
#: Firefox (network.http.max-persistent-connections-per-server) and Chromium open six to a host at most.
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
    """Bundles of connections that hurt themselves; see :class:`Detector`."""
    import polars as pl

    rtt = pl.col("initial_rtt").dt.total_nanoseconds()
    least = pl.col("least")
    over = rtt - least
    is_inflated = (
        pl.col("is_later") & (rtt >= least * inflation_min) & over.is_between(INFLATION_MIN_NS, QUEUED_MAX_NS)
    )
    gap = pl.col("server_loss_time").diff().over(*PAIR, "bundle").dt.total_nanoseconds()
    # A run of losses each soon after the one before.
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
                "{} connections with SYNs in frames {} to {}; {} of {} segments of the server sent again; {} ms"
                " over the least in handshakes, {} ms waiting for lost data but for the longest",
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
    """The connections of two hosts with the number of the bundle, a time without a moment at which none is
    in use, how many of it are in use when one begins, and the least handshake of the two hosts.
    """
    import polars as pl

    used_until = pl.coalesce("last_response_time", "end")
    connections = (
        tables["connections"].lazy().filter("has_syn").with_columns(used_until=used_until).sort("start", "flow")
    )
    begin = connections.select(*PAIR, "flow", time="start", step=pl.lit(1, dtype=pl.Int32))
    finish = connections.select(*PAIR, "flow", time="used_until", step=pl.lit(-1, dtype=pl.Int32))
    # At one instant the response comes first: the SYN may be its consequence.
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

"""Packets of a response stood in a queue for longer than the path takes (bufferbloat).

What it does
------------
Finds responses whose packets were delayed, in the mean, by at least 50 ms and by as much as the path's
round trip takes, and tells whether the response met the queue or filled it itself.

Why it is bad
-------------
A buffer that is larger than the path needs does not make a download faster, but every other request
behind it waits as long as the buffer holds: a click takes half a second on a path of 20 ms.

Evidence
--------
Near the client: the arrival of the packets against their sender's timestamps; a flow on which a packet
comes sooner after its request than its delay allows has another clock, and is left out. Near the
server: round trips against the least of the path, of ACKs that the client had no reason to delay. What
was lost is counted only where the response's first packet met the queue: its delay, once. A queue that
grew behind the first packet is the response's own; it cost this response nothing, and the finding is
about structure.

Fix
---
On the bottleneck (home router, wireless link, shaper): fair queueing with CoDel (Linux ``tc qdisc
replace dev … root cake bandwidth …`` or ``fq_codel``), or a shorter queue. On the server: BBR
(``net.ipv4.tcp_congestion_control=bbr`` with ``fq``) keeps its own queue short.

Reference
---------
J. Gettys and K. Nichols, Bufferbloat: Dark Buffers in the Internet, CACM 2012; RFC 8289 (CoDel); RFC
8290 (FQ-CoDel); RFC 6817 (LEDBAT), section 2.5: a queue of 100 ms is full.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms, ns
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("queues", "waits")
NEEDS: Final = ("both_directions", "pure_acks")

#: Half of LEDBAT's full queue (RFC 6817), ten times what CoDel leaves standing (RFC 8289).
DELAY_MIN: Final = timedelta(milliseconds=50)
#: The delay is as long as the path itself takes, too: twice its round trip in all.
RTT_SHARE_MIN: Final = 1.0
REMEDY: Final = (
    "on the bottleneck: tc qdisc replace dev … root cake bandwidth … (or fq_codel), or a shorter queue;"
    " on the server: net.ipv4.tcp_congestion_control=bbr with fq"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    delay_min: timedelta = DELAY_MIN,
    rtt_share_min: float = RTT_SHARE_MIN,
) -> pl.LazyFrame:
    """Responses whose packets stood in a queue; see :class:`Detector`."""
    import polars as pl

    transactions = (
        tables["transactions"]
        .lazy()
        .select(
            "flow",
            "response_first_frame",
            transaction=pl.col("index"),
            answered=pl.col("response_first_time") - pl.col("request_last_time"),
        )
    )
    # Of the first packet, if its delay is known: it did not stand behind its own response.
    is_first = pl.col("first_frame") == pl.col("response_first_frame")
    # A packet that stood in a queue comes late after its request; else its sender has another clock.
    is_consistent = (~is_first | (pl.col("answered") >= pl.col("first_delay"))).fill_null(True).all().over("flow")
    met = is_first & (pl.col("first_delay") >= delay_min) & (pl.col("measured_by").cast(pl.String) == "one_way")
    return (
        tables["queues"]
        .lazy()
        .join(transactions, on=["flow", "transaction"], how="left", maintain_order="left")
        .filter(is_consistent)
        .filter(pl.col("mean_delay") >= delay_min, ns("mean_delay") >= rtt_share_min * ns("rtt"))
        .with_columns(
            lost=pl.when(met).then("first_delay").otherwise(pl.lit(0).cast(pl.Duration("ns"))),
            met=met,
        )
        .with_columns(
            start=pl.when("met").then(pl.col("start") - pl.col("lost")).otherwise("start"),
            severity=pl.when(~pl.col("met")).then(pl.lit("info")),
            last_frame=pl.max_horizontal("first_frame", "most_frame"),
            cause=pl.when("met").then(pl.lit("network.queueing")),
            confidence=pl.when(pl.col("measured_by").cast(pl.String) == "one_way").then(0.9).otherwise(0.8),
            summary=pl.format(
                "the response {} a queue: its packets took {} ms longer than the path needs, up to {} ms",
                pl.when("met").then(pl.lit("met")).otherwise(pl.lit("filled")),
                ms("mean_delay"),
                ms("most_delay"),
            ),
            evidence=pl.format(
                "{} ms in frame {}, most in frame {}, {} ms at the end; {}, {}; least round trip {} ms",
                ms("first_delay"),
                "first_frame",
                "most_frame",
                ms("last_delay"),
                counted("samples", "packet"),
                pl.when(pl.col("measured_by").cast(pl.String) == "one_way")
                .then(pl.lit("by the server's timestamps"))
                .otherwise(pl.lit("by round trips")),
                ms("rtt"),
            ),
            remedy=pl.lit(REMEDY),
        )
    )

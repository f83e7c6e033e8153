"""The queueing delay of a response exceeds the round trip of the path (bufferbloat).

What it does
------------
Finds responses with a mean queueing delay of at least 50 ms and of at least the path's round trip. The
finding says whether the response met the queue or filled it.

Why it is bad
-------------
A buffer above the bandwidth-delay product does not make a download faster. Every other request behind the
download waits for the buffer to drain: a click takes half a second on a path of 20 ms.

Evidence
--------
Near the client: the arrival of the packets against their sender's timestamps. A flow with a packet earlier
after its request than its delay allows has a different clock and is left out. Near the server: round trips of
ACKs without a delayed ACK, against the path's minimum. Lost is the delay of the response's first packet, if
it met the queue. A queue behind the first packet is the response's own. Such a queue cost this response
nothing, and the finding is about structure.

Fix
---
On the bottleneck (home router, wireless link, shaper): fair queueing with CoDel (Linux ``tc qdisc replace dev
… root cake bandwidth …`` or ``fq_codel``), or a shorter queue. On the server: BBR
(``net.ipv4.tcp_congestion_control=bbr`` with ``fq``) keeps its own queue short.

Reference
---------
J. Gettys and K. Nichols, Bufferbloat: Dark Buffers in the Internet, CACM 2012; RFC 8289 (CoDel); RFC 8290
(FQ-CoDel); RFC 6817 (LEDBAT), section 2.5: a queue of 100 ms is full.
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

#: Minimum delay: half of LEDBAT's full queue (RFC 6817), ten times CoDel's target (RFC 8289).
DELAY_MIN: Final = timedelta(milliseconds=50)
#: Minimum delay as a share of the path's round trip: with the queue the round trip doubles.
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
    """Return the responses whose packets waited in a queue; see :class:`Detector`."""
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
    # Known delay of the first packet: the response's own queue does not delay it.
    is_first = pl.col("first_frame") == pl.col("response_first_frame")
    # A queued packet comes late after its request. Otherwise its sender has a different clock.
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
                "the response {} a queue: its mean queueing delay is {} ms, up to {} ms",
                pl.when("met").then(pl.lit("met")).otherwise(pl.lit("filled")),
                ms("mean_delay"),
                ms("most_delay"),
            ),
            evidence=pl.format(
                "{} ms in frame {}, most in frame {}, {} ms at the end; {}, {}; minimum round trip {} ms",
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

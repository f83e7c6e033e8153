"""The last segments of a flight were lost, and no later segment revealed the loss.

What it does
------------
Finds requests and responses that lost the last segments of a flight (or all of them). The sender then waited
for a timer: the tail-loss probe, or the retransmission timeout.

Why it is bad
-------------
HTTP messages are short, so most losses hit a tail. Duplicate ACKs repair a loss in the middle within a round
trip. A tail waits two round trips for a probe, or at least 200 ms for the timeout. A lost retransmission
doubles the wait.

Evidence
--------
Near the sender the capture holds the lost data and its copy. Near the receiver the capture holds a silence.
The IPv4 identification of the packet after the silence shows that earlier packets never arrived. Lost is the
time that the message waited for the timer, without waits behind another message and without spurious
retransmissions. The finding also gives the timer's part: the excess over two round trips. A message that lost
the tails of several flights has one finding per flight.

Fix
---
Linux senders: leave ``net.ipv4.tcp_early_retrans=3`` (tail-loss probe) and ``net.ipv4.tcp_recovery=1`` (RACK)
on, with ``net.ipv4.tcp_sack=1``; within a data centre a lower ``rto_min`` on the route (``ip route change …
rto_min 20ms``). Send the response in one flight, and find the device that drops packets.

Reference
---------
RFC 8985, section 7; N. Dukkipati et al., Tail Loss Probe, 2013; T. Flach et al., Reducing Web Latency: the
Virtue of Gentle Aggression, SIGCOMM 2013; J. Zhou et al., Demystifying and Mitigating TCP Stalls at the
Server Side, CoNEXT 2015.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms, ns
from tcptrace_http.detectors._timer_waits import sent_again, timer_waits, with_queue_text
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("recoveries", "waits")
NEEDS: Final = ("both_directions", "no_gaps", "pure_acks")

CAUSE: Final = "stall.tail_loss"
#: Minimum loss for a finding: host scheduling alone costs this much.
LOST_MIN: Final = timedelta(milliseconds=5)
#: A probe leaves after two round trips, but not before this minimum (RFC 8985, section 7.2).
PROBE_ROUND_TRIPS: Final = 2
PROBE_AFTER_MIN_NS: Final = 10_000_000
REMEDY: Final = (
    "Linux: net.ipv4.tcp_early_retrans=3 (tail-loss probe), tcp_recovery=1 (RACK) and tcp_sack=1 on the"
    " sender; a lower rto_min on the route where the path is short; and find the device that drops packets"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the waits for a timer after a lost tail; see :class:`Detector`."""
    import polars as pl

    rows = timer_waits(tables, CAUSE, ["tail_loss", "tail_loss_probe"], lost_min=lost_min)
    probe = (PROBE_ROUND_TRIPS * ns("rtt").fill_null(0)).clip(PROBE_AFTER_MIN_NS)
    by_timer = ((ns("lost") - probe).clip(0) / 1e6).round(1)
    is_probe = pl.col("kind").cast(pl.String) == "tail_loss_probe"
    how = pl.when(is_probe).then(pl.lit("a probe after")).otherwise(pl.lit("a timer after"))
    seen = (
        pl.when(~pl.col("told"))
        .then(pl.format("nothing came between frames {} and {}", "first_frame", "last_frame"))
        .when(pl.col("original_frame").is_not_null())
        .then(pl.format("frame {} was sent again in frame {}", "original_frame", "resent_frame"))
        .otherwise(
            pl.format(
                "nothing came between frames {} and {}; {} that the sender numbered never arrived",
                "first_frame",
                "resent_frame",
                counted("skipped_identifications", "packet"),
            )
        )
    )
    return rows.with_columns(
        cause=pl.lit(CAUSE),
        summary=pl.format(
            "the end of a flight of the {} was lost, and the {} detected the loss only by {} {} ms",
            "what",
            "who",
            how,
            ms("lost"),
        ),
        evidence=pl.format(
            "{}; {}round trip {} ms, so that {} ms are due to the timer",
            seen,
            sent_again(),
            pl.coalesce(ms("rtt").cast(pl.String), pl.lit("unknown")),
            by_timer,
        ),
        remedy=pl.lit(REMEDY),
    ).pipe(with_queue_text)

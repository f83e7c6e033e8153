"""The last segments of a flight were lost, and nothing behind them told of it.

What it does
------------
Finds requests and responses whose last segments (or only one, or all of a flight) were lost, so that
the sender had to wait for a timer: the tail-loss probe, or the retransmission timeout.

Why it is bad
-------------
HTTP messages are short: most losses of a short response hit a tail. A loss in the middle is mended
within a round trip by duplicate ACKs; a tail waits two round trips for a probe, or 200 ms and more for
the timeout, and twice that again if the resent segment is lost.

Evidence
--------
Near the sender the lost data and its copy go by. Near the receiver there is a silence, ended by data
before which the sender had numbered packets that never came by (IPv4 identification). What was lost is
the silence; less one round trip where more of the message waited to be sent, for that would have been
waited for anyway. How much of it is due to the timer is told too: what is over two round trips.

Fix
---
Linux senders: leave ``net.ipv4.tcp_early_retrans=3`` (tail-loss probe) and ``net.ipv4.tcp_recovery=1``
(RACK) on, with ``net.ipv4.tcp_sack=1``; within a data centre a lower ``rto_min`` on the route
(``ip route change … rto_min 20ms``). Send the response in one flight, and look for who drops packets.

Reference
---------
RFC 8985, section 7; N. Dukkipati et al., Tail Loss Probe, 2013; T. Flach et al., Reducing Web Latency:
the Virtue of Gentle Aggression, SIGCOMM 2013; J. Zhou et al., Demystifying and Mitigating TCP Stalls at
the Server Side, CoNEXT 2015.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import by_transaction, ms, ns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("recoveries", "waits")
NEEDS: Final = ("both_directions", "no_gaps")

#: Less than this is not worth a finding: hosts lose as much by scheduling.
LOST_MIN: Final = timedelta(milliseconds=5)
#: A probe leaves after two round trips, never sooner than this (RFC 8985, section 7.2).
PROBE_ROUND_TRIPS: Final = 2
PROBE_AFTER_MIN_NS: Final = 10_000_000
REMEDY: Final = (
    "Linux: net.ipv4.tcp_early_retrans=3 (tail-loss probe), tcp_recovery=1 (RACK) and tcp_sack=1 on the"
    " sender; a lower rto_min on the route where the path is short; and find out who drops packets"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Transactions that waited for a timer because a tail was lost; see :class:`Detector`."""
    import polars as pl

    kind = pl.col("kind").cast(pl.String)
    # More of the message would have waited for a round trip, had nothing been lost.
    went_on = ~pl.col("ends_message") & pl.col("original_frame").is_not_null()
    anyway = pl.when(went_on).then(ns("rtt").fill_null(0)).otherwise(0)
    lost = (ns("silence") - anyway).clip(0)
    probe = (PROBE_ROUND_TRIPS * ns("rtt").fill_null(0)).clip(PROBE_AFTER_MIN_NS)
    rows = (
        tables["recoveries"]
        .lazy()
        .filter(kind.is_in(["tail_loss", "tail_loss_probe"]))
        .filter(pl.col("spurious_by").cast(pl.String) == "none")
        .with_columns(lost=lost.cast(pl.Duration("ns")), by_timer=(lost - probe).clip(0).cast(pl.Duration("ns")))
    )
    how = pl.when(kind == "tail_loss_probe").then(pl.lit("a probe after")).otherwise(pl.lit("a timer after"))
    seen = (
        pl.when(pl.col("original_frame").is_not_null())
        .then(pl.format("frame {} was sent again in frame {}", "original_frame", "resent_frame"))
        .otherwise(
            pl.format(
                "nothing came between frames {} and {}; {} packets that the sender numbered never came by",
                "first_frame",
                "resent_frame",
                "skipped_identifications",
            )
        )
    )
    return by_transaction(rows, lost_min=lost_min).with_columns(
        first_frame="earliest",
        last_frame="latest",
        cause=pl.lit("stall.tail_loss"),
        summary=pl.format(
            "the end of a flight of the {} was lost, and the {} learnt it only by {} {} ms",
            "what",
            "who",
            how,
            ms("silence"),
        ),
        evidence=pl.format(
            "{}; {} segments in all, {} times; round trip {} ms, so that {} ms are due to the timer",
            seen,
            "segments",
            "times",
            pl.coalesce(ms("rtt").cast(pl.String), pl.lit("unknown")),
            ms("by_timer"),
        ),
        remedy=pl.lit(REMEDY),
    )

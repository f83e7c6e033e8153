"""Duplicate ACKs reported a loss, but only the retransmission timer repaired it.

What it does
------------
Finds requests and responses that waited for the retransmission timer although data behind the loss had
arrived. Causes are too few duplicate ACKs, no SACK, or a lost retransmission.

Why it is bad
-------------
The timer is at least 200 ms on Linux, 300 on Windows, a second by RFC 6298, and doubles each time. After the
timeout the sender restarts with one segment.

Evidence
--------
The hole (or the lost segment and its copy), the silence before the copy, and the ACKs that reported the hole.
Lost is the time that the message waited for the timer. The finding also gives the excess over a round trip. A
message that waited for several timers has one finding per timer. The detector ``tail-loss`` covers losses
that no ACK reported.

Fix
---
Linux: ``net.ipv4.tcp_sack=1`` and ``net.ipv4.tcp_recovery=1`` (RACK finds lost retransmissions by time) on
the sender, ``tcp_sack=1`` on the receiver; keep middleboxes from stripping SACK. On a short path set a lower
``rto_min`` on the route. Find the device that drops packets.

Reference
---------
RFC 6298; RFC 8985; RFC 6675; J. Zhou et al., Demystifying and Mitigating TCP Stalls at the Server Side,
CoNEXT 2015; H. Balakrishnan et al., TCP Behavior of a Busy Internet Server, INFOCOM 1998.
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

CAUSE: Final = "stall.retransmission_timeout"
#: Minimum loss for a finding: host scheduling alone costs this much.
LOST_MIN: Final = timedelta(milliseconds=5)
REMEDY: Final = (
    "Linux: net.ipv4.tcp_sack=1 on both ends and net.ipv4.tcp_recovery=1 (RACK) on the sender; a lower"
    " rto_min on the route where the path is short; and find the device that drops packets"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the waits for a retransmission timeout; see :class:`Detector`."""
    import polars as pl

    rows = timer_waits(tables, CAUSE, ["timeout"], lost_min=lost_min)
    by_timer = ((ns("lost") - ns("rtt").fill_null(0)).clip(0) / 1e6).round(1)
    seen = (
        pl.when(~pl.col("told"))
        .then(pl.format("frames {} to {}", "first_frame", "last_frame"))
        .when(pl.col("original_frame").is_not_null())
        .then(pl.format("frame {} was sent again in frame {}", "original_frame", "resent_frame"))
        .otherwise(pl.format("the hole seen in frame {} was filled in frame {}", "first_frame", "resent_frame"))
    )
    return rows.with_columns(
        cause=pl.lit(CAUSE),
        summary=pl.format(
            "the {} waited {} ms until the retransmission timer of the {} expired, although data behind the"
            " loss had arrived",
            "what",
            ms("lost"),
            "who",
        ),
        evidence=pl.format(
            "{}; {}{}; round trip {} ms, so that {} ms are due to the timer",
            seen,
            sent_again(),
            counted(pl.col("duplicate_acks").fill_null(0), "duplicate ACK"),
            pl.coalesce(ms("rtt").cast(pl.String), pl.lit("unknown")),
            by_timer,
        ),
        remedy=pl.lit(REMEDY),
    ).pipe(with_queue_text)

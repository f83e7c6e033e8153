"""Data was sent again and again and never acknowledged.

What it does
------------
Finds requests and responses whose sender sent the same data again for a second and four round trips, or whose
receiver reported a hole for as long, and which nobody acknowledged until the end. Where segments of full size
alone vanish and smaller ones get through it says so: the path MTU is less than the two hosts believe.

Why it is bad
-------------
The timer doubles up to two minutes; Linux gives up after 15 minutes (``tcp_retries2``). Until then the
client sees a page that loads and never comes, and small requests go on to work.

Evidence
--------
The copies, the size of the smallest, and the largest segment on that direction that was ever acknowledged. A
full segment that vanished each time while none of its size ever came through is a path MTU black hole.

Fix
---
Path MTU: let ICMP fragmentation needed (IPv6: packet too big) through firewalls, clamp the MSS on the tunnel's
router (``iptables -t mangle … TCPMSS --clamp-mss-to-pmtu``), or let the sender probe (Linux
``net.ipv4.tcp_mtu_probing=1``). Else follow the packets: captures on both ends of the path tell where they end
(a route that changed, a NAT or firewall that forgot the connection, a link that died).

Reference
---------
RFC 2923, section 2.1; RFC 4821; RFC 8899; RFC 1191; RFC 6298, section 5; tcp(7), tcp_retries2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._unfinished import SILENCE_MIN, unfinished

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "pure_acks")

CAUSES: Final = ("unfinished.undelivered",)
#: No path takes less: the least MTU of IPv6, 1280 bytes (RFC 8200, section 5), less the headers with options.
FULL_MIN: Final = 1200
REMEDY: Final = (
    "capture on both ends to see where the packets vanish (a route that changed, a firewall or NAT that forgot"
    " the connection, a dead link)"
)
PATH_MTU_REMEDY: Final = (
    "clamp the MSS on the path (iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS"
    " --clamp-mss-to-pmtu), let ICMP fragmentation needed through, or let the sender probe (PLPMTUD: Linux"
    " net.ipv4.tcp_mtu_probing=1)"
)


def find(tables: Mapping[str, pl.DataFrame], *, silence_min: timedelta = SILENCE_MIN) -> pl.LazyFrame:
    """Messages that did not get through; see :class:`Detector`."""
    import polars as pl

    sizes_sent = ("mss", "segment_max", "acked_segment_max")
    profiles = tables["profiles"].lazy().select("flow", "direction", *sizes_sent)
    is_full = (pl.col("bytes") >= FULL_MIN) & (pl.col("bytes") >= pl.min_horizontal("mss", "segment_max"))
    through = pl.col("acked_segment_max").fill_null(0)
    is_path_mtu = is_full & (through > 0) & (through < pl.col("bytes"))
    message = pl.when("is_of_request").then(pl.lit("")).otherwise(pl.lit("the response to "))
    sizes = (
        pl.when(is_path_mtu)
        .then(
            pl.format(
                "only full segments vanish: path MTU; copies of {} bytes, segments of up to {} bytes got through",
                "bytes",
                "acked_segment_max",
            )
        )
        .when(is_full & (through == 0))
        .then(pl.format("all copies are full segments of {} bytes, and nothing was ever acknowledged", "bytes"))
        .when(pl.col("bytes") > 0)
        .then(pl.format("the smallest copy has {} bytes", "bytes"))
        .otherwise(pl.lit("its receiver reported the hole and it was never filled"))
    )
    return (
        unfinished(tables, CAUSES, silence_min=silence_min)
        .join(profiles, on=["flow", "direction"], how="left", maintain_order="left")
        .with_columns(
            summary=pl.format(
                "{}{} did not get through for {} ms, {}{}",
                message,
                "request",
                "silence",
                "until",
                pl.when(is_path_mtu).then(pl.lit("; only full segments vanish: path MTU")).otherwise(pl.lit("")),
            ),
            evidence=pl.format(
                "nothing acknowledged it between frames {} and {}; {}; round trip {} ms",
                "first_frame",
                "last_frame",
                sizes,
                pl.coalesce(ms("round_trip").cast(pl.String), pl.lit("unknown")),
            ),
            remedy=pl.when(is_path_mtu).then(pl.lit(PATH_MTU_REMEDY)).otherwise(pl.lit(REMEDY)),
        )
    )

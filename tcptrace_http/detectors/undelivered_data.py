"""The sender retransmitted data repeatedly and never received an ACK.

What it does
------------
Finds requests and responses with retransmissions of the same data, or a reported hole, for at least one
second and four round trips. No ACK came until the end. If only full-size segments vanish, the finding says
so: the path MTU is smaller than the two hosts assume.

Why it is bad
-------------
The timer doubles up to two minutes; Linux gives up after 15 minutes (``tcp_retries2``). Until then the page
never finishes loading, while small requests still work.

Evidence
--------
The copies, the size of the smallest, and the largest acknowledged segment in that direction. A path MTU black
hole drops every copy of a full segment, and no segment of that size ever arrives.

Fix
---
Path MTU: allow ICMP "fragmentation needed" (IPv6: "packet too big") in firewalls, clamp the MSS on the
tunnel's router (``iptables -t mangle … TCPMSS --clamp-mss-to-pmtu``), or let the sender probe (Linux
``net.ipv4.tcp_mtu_probing=1``). Otherwise trace the packets: captures at both ends of the path show the place
of the loss. Causes are a changed route, a NAT or firewall without the connection's state, or a dead link.

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
#: Minimum size of a full segment: the IPv6 minimum MTU, 1280 bytes (RFC 8200, section 5), less the headers
#: with options.
FULL_MIN: Final = 1200
REMEDY: Final = (
    "capture on both ends to see where the packets vanish (a changed route, a firewall or NAT without the"
    " connection's state, a dead link)"
)
PATH_MTU_REMEDY: Final = (
    "clamp the MSS on the path (iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS"
    " --clamp-mss-to-pmtu), allow ICMP fragmentation needed, or let the sender probe (PLPMTUD: Linux"
    " net.ipv4.tcp_mtu_probing=1)"
)


def find(tables: Mapping[str, pl.DataFrame], *, silence_min: timedelta = SILENCE_MIN) -> pl.LazyFrame:
    """Return the messages that never arrived; see :class:`Detector`."""
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

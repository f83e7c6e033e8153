"""Stacks newer than the papers: Linux 6 plus one modern mechanism per row.

Each row adds a single mechanism to Linux 6 of :mod:`reference_sim.stacks`, so that its effect is isolated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.stack import Congestion, IdleRestart, SlowStart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.preset import Preset

__all__ = ["modern"]


def modern(linux: Preset) -> Iterator[Preset]:
    """Derive the rows from Linux 6."""
    yield linux.but(
        "linux-6-hystart-plus-plus",
        "Linux 6 with HyStart++: slow start ends where the round trip grows, before anything is lost",
        {"slow_start": "RFC 9406, with the constants of its section 4.3"},
        slow_start=SlowStart.HYSTART_PLUS_PLUS,
    )
    yield linux.but(
        "linux-6-paced",
        "Linux 6 with the fq queueing discipline: new data is spread over the round trip",
        {
            "rate_pacing": "net.ipv4.tcp_pacing_ss_ratio 200, tcp_pacing_ca_ratio 120;"
            " tcp_update_skb_after_send: the first 10 segments are not paced"
        },
        rate_pacing=True,
    )
    yield linux.but(
        "linux-6-bbr",
        "Linux 6 with BBR: a model of bandwidth and RTT sets the rate, and a loss does not halve the window",
        {
            "congestion": "draft-cardwell-iccrg-bbr-congestion-control-00; tcp_bbr.c of Linux (version 1)",
            "idle_restart": "tcp_slow_start_after_idle_check: none with a congestion control of its own",
        },
        congestion=Congestion.BBR,
        idle_restart=IdleRestart.KEEP,
    )
    yield linux.but(
        "linux-6-ecn",
        "Linux 6 with ECN: a queue with CoDel marks what it would drop, and the window comes down without a loss",
        {"ecn": "RFC 3168; net.ipv4.tcp_ecn 1"},
        ecn=True,
    )
    yield linux.but(
        "linux-6-autotuned",
        "Linux 6 with receive autotuning: the window begins with 64 KB and follows what is read per round trip",
        {
            "receive_autotuning": "net.ipv4.tcp_moderate_rcvbuf 1: tcp_rcv_space_adjust, tcp_rcvbuf_grow and"
            " tcp_grow_window of Linux 6.18"
        },
        receive_autotuning=True,
    )
    yield linux.but(
        "linux-6-fast-open",
        "Linux 6 with TCP Fast Open: the request rides on the SYN to a server that gave a cookie before",
        {
            "fast_open": "RFC 7413; net.ipv4.tcp_fastopen 3, TCP_FASTOPEN of the server and"
            " TCP_FASTOPEN_CONNECT of the client"
        },
        fast_open=True,
    )

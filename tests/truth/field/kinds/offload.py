"""Runs with segmentation offload on and off, for servers with and without stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..scenario import Client, Link, Scenario, Server, Write

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scenarios"]

_SIZES: Final = (900, 6000, 60_000)
_SERVERS: Final = {
    "nginx": Server(nginx=(("sendfile", "on"), ("tcp_nopush", "on"), ("tcp_nodelay", "on")), sizes=_SIZES),
    "nginx_split": Server(nginx=(("sendfile", "on"), ("tcp_nopush", "off"), ("tcp_nodelay", "off")), sizes=_SIZES),
    "whole": Server(plans=((Write(1120),), (Write(9220),), (Write(60_220),)), nodelay=False),
    "split": Server(plans=((Write(220), Write(900)), (Write(220), Write(5000)), (Write(220), Write(30_000)))),
    "split_nagle": Server(
        plans=((Write(220), Write(900)), (Write(220), Write(5000)), (Write(220), Write(30_000))), nodelay=False
    ),
    "blocks_nagle": Server(
        plans=((Write(4096), Write(4096), Write(900)), (Write(8192), Write(50))), nodelay=False
    ),
    "sleeps": Server(plans=((Write(220), Write(900, 43)), (Write(4096), Write(20_000, 41)))),
}


def scenarios() -> Iterator[Scenario]:
    for number, (name, server) in enumerate(_SERVERS.items()):
        for offload in (True, False):
            yield Scenario(
                f"offload_{'on' if offload else 'off'}_{name}",
                "offload",
                server=server,
                client=Client(transactions=12, pause_ms=4),
                links=(Link("veth", rtt_ms=0.0, offload=offload, rate_mbit=20 if number % 2 else None),),
            )

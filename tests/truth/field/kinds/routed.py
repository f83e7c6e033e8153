"""Runs captured on all interfaces of a router: every packet appears twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..scenario import Client, Drop, Expectation, Link, Scenario, Server, Write

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scenarios"]

_CLIENT: Final = Client(transactions=12, pause_ms=4)
_SERVERS: Final = {
    "whole": Server(plans=((Write(1120),), (Write(6220),), (Write(40_220),))),
    "split": Server(plans=((Write(220), Write(900)), (Write(220), Write(6000)))),
    "split_nagle": Server(plans=((Write(220), Write(900)), (Write(220), Write(6000))), nodelay=False),
    "blocks_nagle": Server(plans=((Write(4096), Write(4096), Write(500)),), nodelay=False),
    "sleeps_43": Server(plans=((Write(220), Write(1200, 43)),)),
    "sleeps_20_nagle": Server(plans=((Write(220), Write(1200, 20)),), nodelay=False),
    "files": Server(
        nginx=(("sendfile", "on"), ("tcp_nopush", "on"), ("tcp_nodelay", "on")), sizes=(900, 9000, 60_000)
    ),
}
_LOST_ONCE: Final = (Drop("down", min_payload=400, passes_first=3, count=1),)


def scenarios() -> Iterator[Scenario]:
    for number, (name, server) in enumerate(_SERVERS.items()):
        near = Link(rtt_ms=(1.0, 10.0, 40.0)[number % 3])
        yield _routed(f"{name}_far_client", server, (near, Link("veth", rtt_ms=0.0, offload=False)))
        # Super-segments arrive at the router and leave it unchanged.
        yield _routed(f"{name}_veth", server, (Link("veth", rtt_ms=0.0), Link("veth", rtt_ms=0.0)))
    lossy = (Link(rtt_ms=10.0), Link(rtt_ms=1.0, drops=_LOST_ONCE))
    yield _routed("lost_before", _SERVERS["whole"], lossy)
    behind = (Link(rtt_ms=10.0, drops=_LOST_ONCE), Link(rtt_ms=1.0))
    yield _routed("lost_behind", _SERVERS["whole"], behind)
    upload = Client(transactions=5, body_bytes=100_000)
    for read_pause_ms in (0.0, 8.0):
        reader = Server(receive_buffer=16_384, read_bytes=8192, read_pause_ms=read_pause_ms)
        links = (Link(rtt_ms=10.0), Link(rtt_ms=1.0))
        yield _routed(f"upload_{read_pause_ms:.0f}", reader, links, client=upload)
    silent = Server(stops_at=(4, 0))
    impatient = Client(transactions=6, timeout_seconds=4.0)
    links = (Link(rtt_ms=10.0), Link(rtt_ms=1.0))
    unanswered = (Expectation(("unanswered-request",)),)
    yield _routed("silent", silent, links, client=impatient, expects=unanswered)


def _routed(
    name: str,
    server: Server,
    links: tuple[Link, Link],
    *,
    client: Client = _CLIENT,
    expects: tuple[Expectation, ...] = (),
) -> Scenario:
    words = {"server": server, "client": client, "links": links, "points": ("any",), "expects": expects}
    return Scenario(f"routed_{name}", "routers", **words)  # type: ignore[arg-type]

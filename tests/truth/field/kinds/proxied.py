"""Runs with nginx and HAProxy, buffered or not, with and without TCP_NODELAY, and three kinds of upstreams."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from ..scenario import Client, Link, Proxy, Scenario, Server, Write

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scenarios"]

_PROXIES: Final = {
    f"nginx_{buffering}_{nodelay}": Proxy(
        "nginx", (("proxy_buffering", buffering), ("tcp_nodelay", nodelay), ("keepalive_timeout", "60"))
    )
    for buffering in ("on", "off")
    for nodelay in ("on", "off")
} | {
    "haproxy": Proxy("haproxy", (("option", "http-keep-alive"),)),
    "haproxy_no_delay": Proxy("haproxy", (("option", "http-no-delay"),)),
}
_UPSTREAMS: Final = {
    "good": Server(plans=((Write(1400),), (Write(6220),), (Write(21_220),))),
    # The head is a separate segment; the body waits for its ACK.
    "split": Server(plans=((Write(220), Write(900)), (Write(220), Write(3100, 3))), nodelay=False),
    # The end of the body is held.
    "blocks": Server(plans=((Write(4096), Write(4096), Write(700)), (Write(4096), Write(30))), nodelay=False),
    "slow": Server(plans=((Write(220, 5), Write(1200, 42)), (Write(220), Write(5000, 44))), jitter=0.05),
    "trickle": Server(plans=((Write(220), Write(800, 25), Write(800, 47), Write(300, 41)),)),
    "files": Server(
        nginx=(("sendfile", "on"), ("tcp_nopush", "off"), ("tcp_nodelay", "off")), sizes=(900, 3883, 10_000)
    ),
}
#: Capture point at the client's end or the proxy's; path to the client.
_FRONTS: Final = (("front", 0.4), ("client", 10.0), ("front", 40.0), ("client", 2.0), ("front", 10.0))


def scenarios() -> Iterator[Scenario]:
    pairs = itertools.product(_PROXIES.items(), _UPSTREAMS.items())
    for number, ((proxy, of_proxy), (upstream, server)) in enumerate(pairs):
        front, rtt_ms = _FRONTS[number % len(_FRONTS)]
        back = Link("veth", offload=False) if number % 2 else Link(rtt_ms=2.0)
        yield Scenario(
            f"proxied_{proxy}_{upstream}",
            "proxies",
            server=server,
            client=Client(transactions=12, pause_ms=5),
            links=(Link(rtt_ms=rtt_ms), back),
            proxy=of_proxy,
            points=(front, "upstream", "both"),
        )

"""Networks of the papers, and builders for new networks.

>>> from reference_sim.networks import network, path
>>> network("thesis").clients
('c1', 'c2', 'c3', 'c4')
>>> path("office", rate=10_000_000, delay=timedelta(milliseconds=5))
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from reference_sim.names import named
from reference_sim.topology import (
    BitErrors,
    ByteQueue,
    CodelQueue,
    GilbertElliott,
    Link,
    Loss,
    Network,
    Node,
    PacketLoss,
    PacketQueue,
    Queue,
    Unlimited,
    duplex,
    node,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

__all__ = ["NETWORKS", "dumbbell", "lossy", "network", "path", "with_users"]

_US: Final = 1000
_MS: Final = 10**6
_ETHERNET_HEADER: Final = 14
_UNLIMITED: Final = Unlimited()


def path(  # noqa: PLR0913 -- the properties of a path
    name: str,
    *,
    rate: int | None,
    delay: int | timedelta,
    queue: Queue = _UNLIMITED,
    loss: tuple[Loss, ...] = (),
    framing_bytes: int = 0,
    about: str = "",
    source: str = "",
) -> Network:
    """Return a network of two hosts, ``client`` and ``server``, joined by one link.

    Losses affect packets to the client. ``rate`` is in bits per second (None: no serialization time).
    ``delay`` is the one-way propagation delay.
    """
    there, back = duplex("client", "server", rate=rate, delay=delay, queue=queue)
    return Network(
        name=name,
        about=about,
        source=source,
        nodes=(node("client", "10.0.0.1"), node("server", "10.0.0.2")),
        links=(there, replace(back, loss=loss)),
        framing_bytes=framing_bytes,
        clients=("client",),
        servers=("server",),
    )


def dumbbell(  # noqa: PLR0913 -- the properties of a dumbbell
    name: str,
    *,
    client_delays: Sequence[int | timedelta],
    server_delays: Sequence[int | timedelta],
    rate: int,
    delay: int | timedelta,
    queue: Queue,
    access_rate: int | None = None,
    about: str = "",
    source: str = "",
) -> Network:
    """Return a dumbbell: clients ``c1`` … and servers ``s1`` …, each linked to its gateway, and a bottleneck.

    ``rate`` and ``delay`` belong to the bottleneck, ``access_rate`` to all other links. ``queue`` is the
    gateways' queue limit.
    """
    clients = [f"c{number}" for number in range(1, len(client_delays) + 1)]
    servers = [f"s{number}" for number in range(1, len(server_delays) + 1)]
    links: list[Link] = list(duplex("gateway-c", "gateway-s", name="", rate=rate, delay=delay, queue=queue))
    for gateway, hosts, delays in (
        ("gateway-c", clients, client_delays),
        ("gateway-s", servers, server_delays),
    ):
        for host, access_delay in zip(hosts, delays, strict=True):
            out, back = duplex(host, gateway, rate=access_rate, delay=access_delay)
            links += [out, replace(back, queue=queue)]
    return Network(
        name=name,
        about=about,
        source=source,
        nodes=(
            *(_numbered(host, 1, number) for number, host in enumerate(clients, start=1)),
            *(_numbered(host, 2, number) for number, host in enumerate(servers, start=1)),
            node("gateway-c", "10.0.1.254"),
            node("gateway-s", "10.0.2.254"),
        ),
        links=tuple(links),
        clients=tuple(clients),
        servers=tuple(servers),
    )


def lossy(network: Network, loss: Loss, *, link: str) -> Network:
    """Return the same network with a loss model added to this link.

    :raises ScenarioError: the network has no such link.
    """
    return network.with_link(link, loss=(*network.link(link).loss, loss))


def with_users(network: Network, count: int = 1) -> Network:
    """Return the same network with users ``user1`` … on a LAN behind its client, which can host a cache.

    The LAN is 100 Mb/s Ethernet (Bhalekar 2003, section 5.5) with 0.1 ms between two hosts (assumed).
    """
    (terminal, *_) = network.clients
    users = [f"user{number}" for number in range(1, count + 1)]
    lans = (duplex(user, terminal, rate=100 * 10**6, delay=100 * _US) for user in users)
    return replace(
        network,
        nodes=(*network.nodes, *(_numbered(user, 9, number) for number, user in enumerate(users, start=1))),
        links=(*network.links, *chain.from_iterable(lans)),
        clients=tuple(users),
        cache=terminal,
    )


def _numbered(name: str, subnet: int, number: int) -> Node:
    return node(name, f"10.0.{subnet}.{number}")


def _thesis() -> Network:
    return dumbbell(
        "thesis",
        client_delays=(1 * _MS, 2 * _MS, 3 * _MS, 4 * _MS),
        server_delays=(100 * _US, 2 * _MS, 3 * _MS, 4 * _MS),
        rate=1_500_000,
        delay=50 * _MS,
        queue=PacketQueue(limit=25),
        access_rate=10_000_000,
        about="Dumbbell: 1.5 Mb/s and 50 ms between two gateways with 25 packets of buffer, 10 Mb/s LANs",
        source="Gürkan 1998, section 4.1; one packet is in service besides the 25",
    )


def _satellite() -> Network:
    # "Roughly twice the size of TCP's advertised window", which was 96 KB (Kruse 2001, sections 4.1 and 4.2).
    queue = ByteQueue(limit=2 * 96 * 1024)
    lan = {"rate": 10_000_000, "delay": 100 * _US}
    # The RTT over ACTS was about 0.56 s. The 96 KB windows were "roughly" its bandwidth-delay product.
    space = {"rate": 1_536_000, "delay": 280 * _MS, "queue": queue}
    return Network(
        name="satellite",
        about="Geostationary satellite, T1: 1.536 Mb/s, 0.56 s RTT, a router and a LAN at each end",
        source="Kruse 2001, section 4.1",
        nodes=(
            node("client", "10.0.0.1"),
            node("router-1", "10.0.0.254"),
            node("router-2", "10.0.1.254"),
            node("server", "10.0.1.1"),
        ),
        links=(
            *duplex("client", "router-1", **lan),
            *duplex("router-1", "router-2", **space),
            *duplex("router-2", "server", **lan),
        ),
        clients=("client",),
        servers=("server",),
    )


def _satellite_hub() -> Network:
    bit_errors = (BitErrors(rate=1e-8),)
    # Each direction crosses two segments of 0.125 s each (the paper prints ms; chapter 1 has 1/8 s).
    up = Link(start="client", end="satellite", rate=16_000_000, delay=125 * _MS, loss=bit_errors)
    down = Link(start="satellite", end="client", rate=50_000_000, delay=125 * _MS, loss=bit_errors)
    return Network(
        name="satellite-hub",
        about="Satellite to a hub (50 Mb/s down, 16 Mb/s up, four segments of 125 ms), Internet behind it",
        source="Bhalekar 2003, sections 4.2.1 (delays, bit errors) and 5.5 (rates); 100 Mb/s and 25 ms of "
        "Internet behind the hub assumed",
        nodes=(
            node("client", "10.0.0.1"),
            node("satellite", "10.0.0.254"),
            node("hub", "10.0.1.1"),
            node("server", "10.0.2.1"),
        ),
        links=(
            up,
            replace(up, start="satellite", end="hub"),
            replace(down, start="hub", end="satellite"),
            down,
            *duplex("hub", "server", rate=100 * 10**6, delay=25 * _MS),
        ),
        clients=("client",),
        servers=("server",),
        hub="hub",
    )


def _eggert(name: str, queue: Queue, about: str) -> Network:
    return path(
        name,
        rate=800_000,
        delay=50 * _MS,
        queue=queue,
        about=f"800 kb/s, 50 ms each way, {about}",
        source="Eggert 1999, section 4",
    )


_LAN: Final = path(
    "lan",
    rate=10_000_000,
    delay=80 * _US,
    framing_bytes=_ETHERNET_HEADER,
    about="10 Mb/s Ethernet between two hosts, 0.25 ms for a SYN and its SYN-ACK",
    source="Heidemann 1996, section 2.1; 80 us each way give Figure 2's 0.251 ms with the hosts' time",
)
_WAN: Final = path(
    "wan",
    rate=1_000_000,
    delay=45 * _MS,
    queue=PacketQueue(limit=50),
    about="Across the United States in 1996: 1 Mb/s, 90 ms RTT",
    source="Heidemann 1996, section 2.5; 50 packets of buffer assumed (ns-2's default)",
)
_MODEM: Final = path(
    "modem",
    rate=28_800,
    delay=75 * _MS,
    queue=PacketQueue(limit=25),
    about="28.8 kb/s modem, 150 ms RTT",
    source="Nielsen et al. 1997 (SIGCOMM): PPP over 28.8 kb/s, 150 ms",
)
_SATELLITE: Final = _satellite()


def _broadband(name: str, queue: Queue, about: str) -> Network:
    return path(
        name,
        rate=20_000_000,
        delay=20 * _MS,
        queue=queue,
        about=f"An access link of today: 20 Mb/s, 40 ms round trip, {about}",
        source="assumed; 1000 packets are Linux's txqueuelen, and half a second here (Gettys and Nichols 2012)",
    )


#: Every network by name.
NETWORKS: Final[Mapping[str, Network]] = {
    known.name: known
    for known in (
        _thesis(),
        _LAN,
        _SATELLITE,
        replace(
            lossy(_SATELLITE, BitErrors(rate=1.5e-7), link="router-2-router-1"),
            name="satellite-ber",
            about="The satellite with a bit error rate of 1.5e-7 towards the client",
            source="Kruse 2001, Table 2: 7, 13 and 41 % of 48, 99 and 491 KB hit are 1.9, 1.7 and 1.3e-7",
        ),
        _satellite_hub(),
        _eggert("eggert", _UNLIMITED, "unlimited queue"),
        _eggert("eggert-10", PacketQueue(limit=10), "queue of 10 packets"),
        _WAN,
        replace(
            lossy(_WAN, PacketLoss(rate=0.01), link="server-client"),
            name="wan-loss",
            about="The WAN with independent loss of 1 % of the packets to the client",
            source="assumed",
        ),
        replace(
            lossy(_WAN, GilbertElliott(good_to_bad=0.005, bad_to_good=0.5), link="server-client"),
            name="wan-bursts",
            about="The WAN with loss of 1 % of the packets to the client, in bursts of two",
            source="Gilbert 1960, Elliott 1963; rates assumed",
        ),
        _MODEM,
        _broadband("broadband", PacketQueue(limit=1000), "a long queue"),
        _broadband("broadband-codel", CodelQueue(), "CoDel"),
        _broadband(
            "broadband-codel-ecn", CodelQueue(marks=True), "CoDel that marks packets of connections with ECN"
        ),
    )
}


def network(name: str) -> Network:
    """Return the network of this name.

    :raises ScenarioError: the name is unknown; the message gives the nearest name.
    """
    return named(NETWORKS, name, what="network")

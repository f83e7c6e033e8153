"""Hosts, routers and the links between them: queues, delays, losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import ClassVar

from reference_sim.document import Duration, Rate, Size
from reference_sim.names import near
from tcptrace_http.errors import ScenarioError

__all__ = [
    "BitErrors",
    "ByteQueue",
    "DataSegments",
    "DroppedPackets",
    "GilbertElliott",
    "Link",
    "Loss",
    "LostSegment",
    "Network",
    "Node",
    "PacketLoss",
    "PacketQueue",
    "Queue",
    "SegmentsLost",
    "Unlimited",
    "duplex",
    "node",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unlimited:
    """Everything may wait."""

    kind: ClassVar = "unlimited"


@dataclass(frozen=True, kw_only=True, slots=True)
class PacketQueue:
    """So many packets may wait besides the one in service; more is dropped at the tail."""

    kind: ClassVar = "packets"
    limit: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ByteQueue:
    """So many bytes may wait besides the packet in service; more is dropped at the tail."""

    kind: ClassVar = "bytes"
    limit: Size


Queue = Unlimited | PacketQueue | ByteQueue


@dataclass(frozen=True, kw_only=True, slots=True)
class BitErrors:
    """Each bit is wrong with this probability; a packet with a wrong bit is lost."""

    kind: ClassVar = "bit-errors"
    rate: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PacketLoss:
    """Each packet is lost with this probability."""

    kind: ClassVar = "packets"
    rate: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GilbertElliott:
    """Losses in bursts: two states with a loss rate each (Gilbert 1960; Elliott 1963)."""

    kind: ClassVar = "bursts"
    good_to_bad: float
    bad_to_good: float
    loss_in_good: float = 0.0
    loss_in_bad: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class DroppedPackets:
    """These packets of the link, counted from 0, are lost."""

    kind: ClassVar = "numbered"
    packets: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSegments:
    """These data segments of each connection, counted from 0 in this direction, are lost once."""

    kind: ClassVar = "data-segments"
    segments: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LostSegment:
    """What carries this place of a connection's stream is lost the first ``times`` that it passes."""

    #: By the order in which connections are opened, from 0.
    connection: int
    #: The SYN is 0, the first byte 1.
    offset: int
    times: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentsLost:
    """These segments, each of one connection, are lost: what a capture showed to be lost, again."""

    kind: ClassVar = "segments"
    segments: tuple[LostSegment, ...]


Loss = BitErrors | PacketLoss | GilbertElliott | DroppedPackets | DataSegments | SegmentsLost


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A host or a router."""

    name: str
    address: IPv4Address

    def document(self) -> object:
        """As the engine reads it: the address as its four bytes."""
        return {"name": self.name, "address": list(self.address.packed)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """One direction of a link, named ``from-to`` unless it has a name."""

    start: str
    end: str
    name: str = ""
    #: None: packets take no time to be sent.
    rate: Rate | None = None
    delay: Duration
    queue: Queue = Unlimited()
    loss: tuple[Loss, ...] = ()
    #: A client's SYN, and the request on it, is at the other end at once and takes no place: what
    #: ns-2's one-way agents do not send (Eggert 1999, section 4).
    opens_at_once: bool = False

    @property
    def title(self) -> str:
        """Its name, or what it joins."""
        return self.name or f"{self.start}-{self.end}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """Nodes and links, and which nodes are made for what.

    Packets take the path with the fewest links.
    """

    name: str = ""
    about: str = ""
    source: str = ""
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    #: Bytes that each link adds to an IP packet (14: Ethernet; 0: ns-2).
    framing_bytes: int = 0
    #: Where clients and servers stand, in turn.
    clients: tuple[str, ...]
    servers: tuple[str, ...]
    #: Where a proxy at the far end of the slow link stands, if there is a place for one.
    hub: str | None = None
    #: Where a cache on the clients' LAN stands, if there is a place for one.
    cache: str | None = None

    def __post_init__(self) -> None:
        names = [node.name for node in self.nodes]
        for what, listed in (("node", names), ("link", [link.title for link in self.links])):
            if len(set(listed)) < len(listed):
                twice = next(name for name in listed if listed.count(name) > 1)
                raise ScenarioError(f"two {what}s are called {twice!r}; give one another name", field=f"{what}s")
        for index, link in enumerate(self.links):
            for field, end in (("start", link.start), ("end", link.end)):
                self.check_node(end, field=f"links[{index}].{field}")
        for name in (*self.clients, *self.servers, *filter(None, [self.hub, self.cache])):
            self.check_node(name)

    def check_node(self, name: str, *, field: str = "") -> None:
        """Raise a :class:`ScenarioError` unless a node has this name."""
        names = [node.name for node in self.nodes]
        if name not in names:
            raise ScenarioError(f"no node {name!r}{near(name, names)}", field=field)

    def link(self, title: str) -> Link:
        """The link of this name.

        :raises ScenarioError: there is none.
        """
        found = next((link for link in self.links if link.title == title), None)
        if found is None:
            raise ScenarioError(f"no link {title!r}{near(title, [link.title for link in self.links])}")
        return found

    def with_link(self, title: str, **changes: object) -> Network:
        """The same with another link of this name: ``with_link("hub-satellite", loss=(…,))``.

        :raises ScenarioError: there is no such link.
        """
        changed = replace(self.link(title), **changes)  # type: ignore[arg-type]
        return replace(self, links=tuple(changed if link.title == title else link for link in self.links))


def node(name: str, address: str) -> Node:
    """A node with this name and IPv4 address.

    :raises ScenarioError: the address is none.
    """
    try:
        return Node(name=name, address=IPv4Address(address))
    except ValueError:
        raise ScenarioError(f"{address!r} is not an IPv4 address such as '10.0.0.1'") from None


def duplex(one: str, other: str, **both: object) -> tuple[Link, Link]:
    """Both directions of a link between two nodes, alike."""
    there = Link(start=one, end=other, **both)  # type: ignore[arg-type]
    return there, replace(there, start=other, end=one)

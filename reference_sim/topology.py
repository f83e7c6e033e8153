"""Hosts, routers and links, with queues, delays and losses."""

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
    "CodelQueue",
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
    """Unlimited queue."""

    kind: ClassVar = "unlimited"


@dataclass(frozen=True, kw_only=True, slots=True)
class PacketQueue:
    """Drop-tail queue limit in packets, in addition to the packet in service."""

    kind: ClassVar = "packets"
    limit: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ByteQueue:
    """Drop-tail queue limit in bytes, in addition to the packet in service."""

    kind: ClassVar = "bytes"
    limit: Size


@dataclass(frozen=True, kw_only=True, slots=True)
class CodelQueue:
    """CoDel queue: drops packets after a persistent delay (RFC 8289: 5 ms for 100 ms), and above this limit."""

    limit: int = 1000
    #: ECN connections: packets are marked in place of a drop (RFC 3168).
    marks: bool = False

    def document(self) -> object:
        """Return the engine's form."""
        return {"kind": "codel", "limit": {"packets": self.limit, "marks": self.marks}}


Queue = Unlimited | PacketQueue | ByteQueue | CodelQueue


@dataclass(frozen=True, kw_only=True, slots=True)
class BitErrors:
    """Bit errors with this probability per bit. A packet with a wrong bit is lost."""

    kind: ClassVar = "bit-errors"
    rate: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PacketLoss:
    """Packet losses with this probability per packet."""

    kind: ClassVar = "packets"
    rate: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GilbertElliott:
    """Burst losses: two states with a loss rate each (Gilbert 1960; Elliott 1963)."""

    kind: ClassVar = "bursts"
    good_to_bad: float
    bad_to_good: float
    loss_in_good: float = 0.0
    loss_in_bad: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class DroppedPackets:
    """Losses of these packets of the link, counted from 0."""

    kind: ClassVar = "numbered"
    packets: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSegments:
    """Losses, once each, of these data segments of each connection, counted from 0 in this direction."""

    kind: ClassVar = "data-segments"
    segments: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LostSegment:
    """Loss of this place in a connection's stream on its first ``times`` passes."""

    #: Index of the connection in the order of opening, from 0.
    connection: int
    #: The SYN is 0, the first byte 1.
    offset: int
    times: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentsLost:
    """Losses of these segments, each of one connection: replays the losses of a capture."""

    kind: ClassVar = "segments"
    segments: tuple[LostSegment, ...]


Loss = BitErrors | PacketLoss | GilbertElliott | DroppedPackets | DataSegments | SegmentsLost


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """Host or router."""

    name: str
    address: IPv4Address

    def document(self) -> object:
        """Return the engine's form: the address as four bytes."""
        return {"name": self.name, "address": list(self.address.packed)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """One direction of a link, named ``from-to`` unless named explicitly."""

    start: str
    end: str
    name: str = ""
    #: None: no serialization time.
    rate: Rate | None = None
    delay: Duration
    queue: Queue = Unlimited()
    loss: tuple[Loss, ...] = ()
    #: The client's SYN and the request on it arrive at once and take no queue space: ns-2's one-way agents do
    #: not send them (Eggert 1999, section 4).
    opens_at_once: bool = False

    @property
    def title(self) -> str:
        """Name of the link, or of its two nodes."""
        return self.name or f"{self.start}-{self.end}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """Nodes and links, and the roles of nodes.

    Packets take the path with the fewest links.
    """

    name: str = ""
    about: str = ""
    source: str = ""
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    #: Link-layer bytes per IP packet (14: Ethernet; 0: ns-2).
    framing_bytes: int = 0
    #: Nodes of clients and servers, assigned in turn.
    clients: tuple[str, ...]
    servers: tuple[str, ...]
    #: Node of a proxy at the far end of the slow link, if any.
    hub: str | None = None
    #: Node of a cache on the clients' LAN, if any.
    cache: str | None = None

    def __post_init__(self) -> None:
        names = [node.name for node in self.nodes]
        for what, listed in (("node", names), ("link", [link.title for link in self.links])):
            if len(set(listed)) < len(listed):
                twice = next(name for name in listed if listed.count(name) > 1)
                raise ScenarioError(
                    f"two {what}s have the name {twice!r}; give one another name", field=f"{what}s"
                )
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
        """Return the link of this name.

        :raises ScenarioError: no link has this name.
        """
        found = next((link for link in self.links if link.title == title), None)
        if found is None:
            raise ScenarioError(f"no link {title!r}{near(title, [link.title for link in self.links])}")
        return found

    def with_link(self, title: str, **changes: object) -> Network:
        """Return the network with a changed link: ``with_link("hub-satellite", loss=(…,))``.

        :raises ScenarioError: no link has this name.
        """
        changed = replace(self.link(title), **changes)  # type: ignore[arg-type]
        return replace(self, links=tuple(changed if link.title == title else link for link in self.links))


def node(name: str, address: str) -> Node:
    """Return a node with this name and IPv4 address.

    :raises ScenarioError: the address is invalid.
    """
    try:
        return Node(name=name, address=IPv4Address(address))
    except ValueError:
        raise ScenarioError(f"{address!r} is not an IPv4 address such as '10.0.0.1'") from None


def duplex(one: str, other: str, **both: object) -> tuple[Link, Link]:
    """Return both directions of a symmetric link between two nodes."""
    there = Link(start=one, end=other, **both)  # type: ignore[arg-type]
    return there, replace(there, start=other, end=one)

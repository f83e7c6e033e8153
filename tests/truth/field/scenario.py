"""What one run is made of: hosts, links, server, client, capture points, and what must be named."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any, Final

__all__ = [
    "FRONT_PORT",
    "SERVER_PORT",
    "Client",
    "Drop",
    "Expectation",
    "Link",
    "Proxy",
    "Scenario",
    "Server",
    "Write",
    "is_set_aside",
    "plain",
]

SERVER_PORT: Final = 8080
#: Where a proxy listens for clients.
FRONT_PORT: Final = 8000


@dataclass(frozen=True, slots=True)
class Write:
    """One write() of a response: bytes of the stream (head included), after a pause."""

    bytes: int
    pause_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server with its write() pattern under control, or nginx with files."""

    #: The nth response of a connection follows the nth plan, and from the first again.
    plans: tuple[tuple[Write, ...], ...] = ((Write(1220),),)
    nodelay: bool = True
    head_bytes: int = 220
    #: Every write after the first is a chunk, and the last chunk is a write of its own.
    chunked: bool = False
    #: Each pause is drawn from this share around itself.
    jitter: float = 0.0
    #: The response with this number on a connection stops after this many writes; the connection stays open.
    stops_at: tuple[int, int] | None = None
    #: False: the request is never read.
    reads: bool = True
    read_bytes: int = 1 << 16
    read_pause_ms: float = 0.0
    receive_buffer: int | None = None
    send_buffer: int | None = None
    #: Nothing listens: a SYN is answered by a RST.
    listens: bool = True
    #: Directives of nginx, which then serves files of ``sizes`` in place of the scripted server.
    nginx: tuple[tuple[str, str], ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Client:
    """Serial requests over one or several connections."""

    transactions: int = 12
    connections: int = 1
    #: A new connection for each request.
    reconnects: bool = False
    pause_ms: float = 0.0
    #: Bytes of a POST's body; none: GET.
    body_bytes: int = 0
    #: Head and body in write() calls of so many bytes; 0: in a single call.
    write_bytes: int = 0
    #: The head is a write() call of its own.
    splits_head: bool = False
    #: More bytes in the request's head.
    cookie_bytes: int = 0
    nodelay: bool = True
    send_buffer: int | None = None
    receive_buffer: int | None = None
    #: False: the response is never read.
    reads: bool = True
    #: The request, once all else is over, is given up.
    timeout_seconds: float = 10.0
    #: Instead of close(): the capture ends with the connection open.
    leaves_open: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """TCP packets that a link drops; "up" is from client to server. A packet must fit every condition."""

    direction: str
    min_ip_bytes: int = 0
    min_payload: int = 0
    syn_only: bool = False
    #: How many packets that fit pass first, and how many are dropped then, per connection.
    passes_first: int = 0
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A TAP pair with an emulator between (wire-sized segments), or a veth pair."""

    kind: str = "tap"
    rtt_ms: float = 10.0
    rate_mbit: float | None = None
    queue_packets: int = 200
    #: Segmentation offload of a veth pair.
    offload: bool = True
    drops: tuple[Drop, ...] = ()


@dataclass(frozen=True, slots=True)
class Proxy:
    """nginx or HAProxy in the middle, with directives of its own."""

    software: str
    directives: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Expectation:
    """Every transaction or connection that failed must have a finding of one of these names."""

    any_of: tuple[str, ...]
    #: Capture points where it shows; none: all.
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run; it gives a capture for each of its points."""

    name: str
    kind: str
    server: Server = field(default_factory=Server)
    client: Client = field(default_factory=Client)
    #: From client to server; two links have a host between.
    links: tuple[Link, ...] = (Link(),)
    proxy: Proxy | None = None
    points: tuple[str, ...] = ("client", "server")
    expects: tuple[Expectation, ...] = ()
    #: Most of the run is silence: it may run beside others.
    is_quiet: bool = False

    @property
    def rtt_ms(self) -> float:
        """Of the whole path; a veth pair has no delay."""
        return sum(link.rtt_ms for link in self.links if link.kind == "tap")


def is_set_aside(name: str) -> bool:
    """Return whether a scenario belongs to the half that is shown only in sum."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def plain(value: Any) -> Any:
    """Return a dataclass as JSON has it."""
    return asdict(value)

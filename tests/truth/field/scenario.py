"""Parts of a run: hosts, links, server, client, capture points, and required findings."""

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
#: Port on which a proxy listens for clients.
FRONT_PORT: Final = 8000


@dataclass(frozen=True, slots=True)
class Write:
    """One write() of a response: bytes of the stream (head included), after a pause."""

    bytes: int
    pause_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Server:
    """Server with a scripted write() pattern, or nginx with files."""

    #: The nth response of a connection follows the nth plan, cyclically.
    plans: tuple[tuple[Write, ...], ...] = ((Write(1220),),)
    nodelay: bool = True
    head_bytes: int = 220
    #: Every write after the first is a chunk, and the last chunk is a separate write.
    chunked: bool = False
    #: Random variation of each pause, as a share of the pause.
    jitter: float = 0.0
    #: The response with this number on a connection stops after this many writes; the connection stays open.
    stops_at: tuple[int, int] | None = None
    #: False: the server never reads the request.
    reads: bool = True
    read_bytes: int = 1 << 16
    read_pause_ms: float = 0.0
    receive_buffer: int | None = None
    send_buffer: int | None = None
    #: No listener: an RST answers the SYN.
    listens: bool = True
    #: nginx directives; nginx then serves files of ``sizes`` in place of the scripted server.
    nginx: tuple[tuple[str, str], ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Client:
    """Client of serial requests over one or several connections."""

    transactions: int = 12
    connections: int = 1
    #: One connection per request.
    reconnects: bool = False
    pause_ms: float = 0.0
    #: Bytes of a POST's body; 0: GET.
    body_bytes: int = 0
    #: Head and body in write() calls of this many bytes; 0: a single call.
    write_bytes: int = 0
    #: The head is a separate write() call.
    splits_head: bool = False
    #: Additional bytes in the request's head.
    cookie_bytes: int = 0
    nodelay: bool = True
    send_buffer: int | None = None
    receive_buffer: int | None = None
    #: False: the client never reads the response.
    reads: bool = True
    #: Timeout after which the client abandons the request.
    timeout_seconds: float = 10.0
    #: No close(): the capture ends with the connection open.
    leaves_open: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """TCP packets that a link drops; "up" is from client to server. A packet must meet every condition."""

    direction: str
    min_ip_bytes: int = 0
    min_payload: int = 0
    syn_only: bool = False
    #: Numbers of matching packets that pass first, and that are then dropped, per connection.
    passes_first: int = 0
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """TAP pair with an emulator between (wire-sized segments), or veth pair."""

    kind: str = "tap"
    rtt_ms: float = 10.0
    rate_mbit: float | None = None
    queue_packets: int = 200
    #: Segmentation offload of a veth pair.
    offload: bool = True
    drops: tuple[Drop, ...] = ()


@dataclass(frozen=True, slots=True)
class Proxy:
    """nginx or HAProxy as a proxy, with additional directives."""

    software: str
    directives: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Expectation:
    """Requirement: each failed transaction or connection has a finding of one of these names."""

    any_of: tuple[str, ...]
    #: Capture points at which the failure is visible; empty: all.
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run, with one capture per capture point."""

    name: str
    kind: str
    server: Server = field(default_factory=Server)
    client: Client = field(default_factory=Client)
    #: Links from client to server; two links have a host between.
    links: tuple[Link, ...] = (Link(),)
    proxy: Proxy | None = None
    points: tuple[str, ...] = ("client", "server")
    expects: tuple[Expectation, ...] = ()
    #: The run is mostly silent: it may run concurrently with others.
    is_quiet: bool = False

    @property
    def rtt_ms(self) -> float:
        """RTT of the whole path; a veth pair has no delay."""
        return sum(link.rtt_ms for link in self.links if link.kind == "tap")


def is_set_aside(name: str) -> bool:
    """Return whether a scenario belongs to the half that is set aside."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def plain(value: Any) -> Any:
    """Return a dataclass in JSON form."""
    return asdict(value)

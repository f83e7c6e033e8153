"""Scenario: all inputs of a run by name, and its document for the engine.

>>> from reference_sim.workloads import retrieval
>>> scenario = retrieval(strategy="http11-pipelined", page="heidemann", network="lan")
>>> dataclasses.replace(scenario, seed=7)

All classes are frozen: change fields with :func:`dataclasses.replace`. Durations are integer nanoseconds or
:class:`datetime.timedelta`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from reference_sim.document import Duration, Numbers, Size, document_of, fields_of
from reference_sim.http2 import Http2
from reference_sim.names import near
from reference_sim.page import Constant, Law, Page
from reference_sim.plan import HttpVersion, Plan, Visit
from reference_sim.quantities import nanoseconds
from reference_sim.stack import Stack
from reference_sim.tls import Tls
from reference_sim.topology import Network
from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

__all__ = [
    "Browser",
    "KeepAlive",
    "LinkTap",
    "NodeTap",
    "Proxy",
    "Record",
    "Scenario",
    "Server",
    "SlowReading",
    "Tap",
    "Transfer",
    "Writes",
]

_NOW: Final = Constant(value=0)
_HTTP_PORT: Final = 80
# Date of the captures: noon of the publication day of RFC 1945 (HTTP/1.0).
_EPOCH: Final = datetime(1996, 5, 1, 12, 0, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Writes:
    """Sequence of writes that puts a response into the socket."""

    #: The head is a write of its own.
    head_alone: bool = False
    #: Bytes per write, including the head unless it is a separate write; None: a single write.
    chunk_bytes: Size | None = None
    #: Pause between an accepted write and the next write.
    gap: Duration = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class KeepAlive:
    """Limits of a server's persistent connections."""

    max_requests: int | None = None
    timeout: Duration | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """An HTTP server."""

    name: str = "server"
    node: str
    port: int = _HTTP_PORT
    stack: Stack
    product: str = "reference_sim"
    #: Nanoseconds from the end of a request to the first write of its response.
    processing: Law = _NOW
    writes: Writes = Writes()
    #: None: the server closes after each response.
    keep_alive: KeepAlive | None = None
    #: Object sizes are sizes of whole responses, including heads.
    sizes_include_heads: bool = False
    #: The head is padded to at least this many bytes.
    min_head_bytes: int = 0
    #: None: cleartext connections.
    tls: Tls | None = None
    #: None: HTTP/1 connections.
    http2: Http2 | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowReading:
    """Pause of the client's reads: after this many bytes of a response, once."""

    after_bytes: Size
    pause: Duration


@dataclass(frozen=True, kw_only=True, slots=True)
class Browser:
    """Client that fetches pages, one visit after the other."""

    node: str
    stack: Stack
    #: Name of a server or a proxy.
    origin: str = "server"
    start: Duration = 0
    visits: tuple[Visit, ...]
    #: The visits repeat until the simulation ends.
    forever: bool = False
    #: Nanoseconds of pause before the next visit.
    think: Law = _NOW
    thinks_before_fetches: bool = False
    #: Time from the discovery of an object to its request.
    parse: Duration = 0
    #: The next visit waits until all connections of the last visit are closed. The browser checks at
    #: multiples of this interval; None: no wait.
    waits_for_close: Duration | None = None
    #: Requests are padded to at least this many bytes.
    min_request_bytes: int = 0
    http_version: HttpVersion = HttpVersion.HTTP11
    reading: SlowReading | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """Sequence of files from a server to this client (FTP)."""

    node: str
    stack: Stack
    server_node: str
    server_stack: Stack
    start: Duration = 0
    files: tuple[Size, ...]
    #: The files repeat from the first after the last.
    forever: bool = False
    #: A control connection carries the commands (RFC 959); otherwise only data connections exist.
    control: bool = False
    #: Each command waits for the previous reply (RFC 959, section 5.4). Otherwise all commands go out
    #: together, as Bhalekar 2003 counts round trips (Figure 1.2).
    waits_for_replies: bool = True
    #: All files use one data connection, each after the previous delivery.
    one_connection: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxy:
    """Connection-splitting proxy: one stack towards the browsers, another towards a server."""

    name: str = "proxy"
    node: str
    port: int = _HTTP_PORT
    #: Stack towards the browsers.
    stack: Stack
    #: Name of a server.
    server: str = "server"
    upstream_stack: Stack
    upstream_connections: int | None = None
    upstream_persistent: bool = True
    #: Plan by which the proxy fetches the page when its base document is requested. The proxy keeps the page
    #: for the browser.
    prefetch_plan: Plan | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeTap:
    """Capture at a node's interfaces."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkTap:
    """Capture at a link's start."""

    name: str


#: Capture point.
Tap = NodeTap | LinkTap


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """Tables to record. The simulation itself needs none of them."""

    #: Every connection, transaction and retrieval. Without these tables, memory does not grow with simulated
    #: time. The totals (:class:`reference_sim.simulation.Totals`) are always kept.
    transactions: bool = True
    #: Every packet: sent, queued, received or dropped.
    packets: bool = False
    #: Every change of a sender's windows.
    windows: bool = False
    #: Every change of a queue's length.
    queues: bool = False
    #: The constraint that each sender waited for.
    limits: bool = False

    @classmethod
    def everything(cls) -> Self:
        """Return a record of all tables."""
        return cls(packets=True, windows=True, queues=True, limits=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """Simulation input: the same scenario with the same seed gives the same bytes.

    :raises ScenarioError: a name is unknown or duplicate; the message names the field.
    """

    network: Network
    servers: tuple[Server, ...] = ()
    browsers: tuple[Browser, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    proxies: tuple[Proxy, ...] = ()
    #: Capture points.
    taps: tuple[Tap, ...] = ()
    record: Record = Record()
    seed: int = 1
    #: End of the simulation; None: no event is left.
    duration: Duration | None = None
    #: Simulated time 0 on the clock of captures.
    epoch: datetime = _EPOCH

    def __post_init__(self) -> None:
        self._check_ends()
        self._check_nodes()
        self._check_origins()
        for index, tap in enumerate(self.taps):
            with _placed(f"taps[{index}]"):
                self._check_tap(tap)
        self.document()

    def document(self) -> dict[str, Any]:
        """Return the engine's form: references by index, each stack, page and plan once.

        :raises ScenarioError: a duration or a size is invalid.
        """
        return _Writer(self).document()

    def _check_ends(self) -> None:
        if not 0 <= self.seed < 1 << 64:
            raise ScenarioError(f"{self.seed} is not an unsigned 64-bit integer", field="seed")
        if not self.browsers and not self.transfers:
            raise ScenarioError("the scenario has no traffic; add a browser or a transfer", field="browsers")
        clients: tuple[Browser | Transfer, ...] = (*self.browsers, *self.transfers)
        forever = any(client.forever for client in clients)
        if forever and self.duration is None:
            raise ScenarioError("a client never ends; set a stop time", field="duration")

    def _check_nodes(self) -> None:
        tables: dict[str, tuple[Server | Browser | Transfer | Proxy, ...]] = {
            "servers": self.servers,
            "browsers": self.browsers,
            "transfers": self.transfers,
            "proxies": self.proxies,
        }
        for field, parts in tables.items():
            for index, part in enumerate(parts):
                self.network.check_node(part.node, field=f"{field}[{index}].node")
                if isinstance(part, Transfer):
                    self.network.check_node(part.server_node, field=f"{field}[{index}].server_node")

    def _check_origins(self) -> None:
        servers = [server.name for server in self.servers]
        names = servers + [proxy.name for proxy in self.proxies]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ScenarioError(f"two have the name {twice!r}; give one another name", field="servers")
        for index, browser in enumerate(self.browsers):
            if browser.origin not in names:
                what = f"no server or proxy {browser.origin!r}{near(browser.origin, names)}"
                raise ScenarioError(what, field=f"browsers[{index}].origin")
            if not browser.visits:
                raise ScenarioError("has no visit; add one", field=f"browsers[{index}].visits")
        for index, proxy in enumerate(self.proxies):
            if proxy.server not in servers:
                what = f"no server {proxy.server!r}{near(proxy.server, servers)}"
                raise ScenarioError(what, field=f"proxies[{index}].server")

    def _check_tap(self, tap: Tap) -> None:
        if isinstance(tap, NodeTap):
            self.network.check_node(tap.name)
        else:
            self.network.link(tap.name)


class _placed:  # noqa: N801 -- used as a function
    """Prefix errors raised inside with the path of the field."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ScenarioError):
            raise error.within(self._field) from None


class _Writer:
    """Encoder of one scenario: names become indices, and shared values appear once."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._nodes = _numbered(node.name for node in scenario.network.nodes)
        self._links = _numbered(link.title for link in scenario.network.links)
        self._servers = _numbered(server.name for server in scenario.servers)
        self._proxies = _numbered(proxy.name for proxy in scenario.proxies)
        self._stacks: Numbers[Stack] = Numbers()
        self._pages: Numbers[Page] = Numbers()
        self._plans: Numbers[Plan] = Numbers()

    def document(self) -> dict[str, Any]:
        scenario = self._scenario
        # Encode the parts first: they list the stacks, pages and plans in use.
        parts = {
            "links": list(self._each("network.links", scenario.network.links, self._link)),
            "servers": list(self._each("servers", scenario.servers, self._server)),
            "browsers": list(self._each("browsers", scenario.browsers, self._browser)),
            "transfers": list(self._each("transfers", scenario.transfers, self._transfer)),
            "proxies": list(self._each("proxies", scenario.proxies, self._proxy)),
            "taps": [self._tap(tap) for tap in scenario.taps],
        }
        ends: dict[str, int | None] = {"seed": scenario.seed, "epoch_ns": _epoch_ns(scenario.epoch)}
        with _placed("duration"):
            ends |= {"duration_ns": _duration_ns(scenario.duration)}
        return {
            **ends,
            "framing_bytes": scenario.network.framing_bytes,
            "nodes": [node.document() for node in scenario.network.nodes],
            **parts,
            "stacks": list(self._each("stacks", self._stacks.values, document_of)),
            "pages": [page.document() for page in self._pages.values],
            "plans": list(self._each("plans", self._plans.values, document_of)),
            "record": fields_of(scenario.record),
        }

    def _each(self, field: str, parts: Iterable[Any], write: Callable[[Any], Any]) -> Iterator[Any]:
        for index, part in enumerate(parts):
            with _placed(f"{field}[{index}]"):
                yield write(part)

    def _link(self, link: Any) -> dict[str, Any]:
        made = fields_of(link)
        ends = {"from": self._nodes[made.pop("start")], "to": self._nodes[made.pop("end")]}
        return {**made, "name": link.title, **ends}

    def _server(self, server: Server) -> dict[str, Any]:
        made = fields_of(server)
        del made["name"]
        return {**made, "node": self._nodes[server.node], "stack": self._stacks.of(server.stack)}

    def _browser(self, browser: Browser) -> dict[str, Any]:
        made = fields_of(browser)
        kind, table = ("server", self._servers) if browser.origin in self._servers else ("proxy", self._proxies)
        return {
            **made,
            "node": self._nodes[browser.node],
            "stack": self._stacks.of(browser.stack),
            "origin": {"kind": kind, "index": table[browser.origin]},
            "visits": [
                {
                    "page": self._pages.of(visit.page),
                    "plan": self._plans.of(visit.plan),
                    "think_ns": _duration_ns(visit.think),
                }
                for visit in browser.visits
            ],
        }

    def _transfer(self, transfer: Transfer) -> dict[str, Any]:
        return {
            **fields_of(transfer),
            "node": self._nodes[transfer.node],
            "stack": self._stacks.of(transfer.stack),
            "server_node": self._nodes[transfer.server_node],
            "server_stack": self._stacks.of(transfer.server_stack),
        }

    def _proxy(self, proxy: Proxy) -> dict[str, Any]:
        made = fields_of(proxy)
        del made["name"]
        plan = proxy.prefetch_plan
        return {
            **made,
            "node": self._nodes[proxy.node],
            "stack": self._stacks.of(proxy.stack),
            "server": self._servers[proxy.server],
            "upstream_stack": self._stacks.of(proxy.upstream_stack),
            "prefetch_plan": None if plan is None else self._plans.of(plan),
        }

    def _tap(self, tap: Tap) -> dict[str, Any]:
        if isinstance(tap, NodeTap):
            return {"kind": "node", "index": self._nodes[tap.name]}
        return {"kind": "link", "index": self._links[tap.name]}


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: index for index, name in enumerate(names)}


def _epoch_ns(epoch: datetime) -> int:
    since = epoch - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def _duration_ns(duration: int | timedelta | None) -> int | None:
    return None if duration is None else nanoseconds(duration)

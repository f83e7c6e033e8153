"""What is simulated: everything that a run needs, by name, and the document that the engine reads.

>>> from reference_sim.workloads import retrieval
>>> scenario = retrieval(strategy="http11-pipelined", page="heidemann", network="lan")
>>> dataclasses.replace(scenario, seed=7)

Everything is frozen; changes are made by :func:`dataclasses.replace`. Durations are integer
nanoseconds or :class:`datetime.timedelta`.
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
# Captures get this date: noon of the day on which RFC 1945 (HTTP/1.0) came out.
_EPOCH: Final = datetime(1996, 5, 1, 12, 0, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Writes:
    """How a response goes into the socket: write by write."""

    #: The head is a write of its own.
    head_alone: bool = False
    #: Writes of so many bytes, the head among them unless it is alone; None: one write.
    chunk_bytes: Size | None = None
    #: Between one write that was taken and the next one.
    gap: Duration = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class KeepAlive:
    """A server that keeps connections open, within limits."""

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
    #: None: it closes after each response.
    keep_alive: KeepAlive | None = None
    #: Whether the sizes of objects are those of whole responses, heads included.
    sizes_include_heads: bool = False
    #: The head is padded to at least this many bytes.
    min_head_bytes: int = 0
    #: None: its connections are in clear.
    tls: Tls | None = None
    #: None: its connections speak HTTP/1.
    http2: Http2 | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowReading:
    """The client leaves data in its socket: after so many bytes of a response it pauses once."""

    after_bytes: Size
    pause: Duration


@dataclass(frozen=True, kw_only=True, slots=True)
class Browser:
    """Something that fetches pages, one visit after the other."""

    node: str
    stack: Stack
    #: The name of a server, or of a proxy.
    origin: str = "server"
    start: Duration = 0
    visits: tuple[Visit, ...]
    #: After the last visit comes the first one again, until the simulation's end.
    forever: bool = False
    #: Nanoseconds of pause before the next visit.
    think: Law = _NOW
    thinks_before_fetches: bool = False
    #: From what an object is known by to the request for it.
    parse: Duration = 0
    #: The next visit waits until all connections of the last one are closed, looked for at whole
    #: multiples of this; None: it does not.
    waits_for_close: Duration | None = None
    #: Requests are padded to at least so many bytes.
    min_request_bytes: int = 0
    http_version: HttpVersion = HttpVersion.HTTP11
    reading: SlowReading | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """Files one after the other, from a server to this client (FTP)."""

    node: str
    stack: Stack
    server_node: str
    server_stack: Stack
    start: Duration = 0
    files: tuple[Size, ...]
    #: After the last file comes the first one again.
    forever: bool = False
    #: With a control connection and its commands (RFC 959); else the data connections alone.
    control: bool = False
    #: Each command waits for the reply to the one before (RFC 959, section 5.4); else they go out
    #: together, as Bhalekar 2003 counts round trips (Figure 1.2).
    waits_for_replies: bool = True
    #: All files over one data connection, each after the other is delivered.
    one_connection: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxy:
    """Splits connections: requests come in by one stack and go out to a server by another."""

    name: str = "proxy"
    node: str
    port: int = _HTTP_PORT
    #: Towards the browsers.
    stack: Stack
    #: The name of a server.
    server: str = "server"
    upstream_stack: Stack
    upstream_connections: int | None = None
    upstream_persistent: bool = True
    #: The page is fetched by this plan as soon as its base document is asked for, and kept for the browser.
    prefetch_plan: Plan | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeTap:
    """Packets are seen at a node's interfaces."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkTap:
    """Packets are seen at a link's start."""

    name: str


#: Where packets are seen.
Tap = NodeTap | LinkTap


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What is kept beside the results; nothing of it is needed to simulate."""

    #: Every connection, transaction and retrieval. Without them the memory of a simulation does not
    #: grow with its time; the totals (:class:`reference_sim.simulation.Totals`) are kept always.
    transactions: bool = True
    #: Every packet: sent, queued, received or dropped.
    packets: bool = False
    #: Every change of a sender's windows.
    windows: bool = False
    #: Every change of a queue's length.
    queues: bool = False
    #: What every sender waited for.
    limits: bool = False

    @classmethod
    def everything(cls) -> Self:
        """All of it."""
        return cls(packets=True, windows=True, queues=True, limits=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A simulation before it runs: the same scenario with the same seed gives the same bytes.

    :raises ScenarioError: a name is of nothing, or twice; the message names the field.
    """

    network: Network
    servers: tuple[Server, ...] = ()
    browsers: tuple[Browser, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    proxies: tuple[Proxy, ...] = ()
    #: Where frames are recorded.
    taps: tuple[Tap, ...] = ()
    record: Record = Record()
    seed: int = 1
    #: The simulation stops here; None: when nothing is left to happen.
    duration: Duration | None = None
    #: Simulated time 0: the clock of captures.
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
        """What the engine reads: everything by index, stacks, pages and plans each once.

        :raises ScenarioError: a duration or a size is none.
        """
        return _Writer(self).document()

    def _check_ends(self) -> None:
        if not 0 <= self.seed < 1 << 64:
            raise ScenarioError(f"{self.seed} is not a number of 64 bits, not negative", field="seed")
        if not self.browsers and not self.transfers:
            raise ScenarioError("nothing happens; add a browser or a transfer", field="browsers")
        clients: tuple[Browser | Transfer, ...] = (*self.browsers, *self.transfers)
        forever = any(client.forever for client in clients)
        if forever and self.duration is None:
            raise ScenarioError("a client goes on forever; say when to stop", field="duration")

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
            raise ScenarioError(f"two are called {twice!r}; give one another name", field="servers")
        for index, browser in enumerate(self.browsers):
            if browser.origin not in names:
                what = f"no server or proxy {browser.origin!r}{near(browser.origin, names)}"
                raise ScenarioError(what, field=f"browsers[{index}].origin")
            if not browser.visits:
                raise ScenarioError("visits no page; add one", field=f"browsers[{index}].visits")
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
    """Errors that arise inside get the field they are of."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ScenarioError):
            raise error.within(self._field) from None


class _Writer:
    """Writes one scenario: names become indices, and what is used twice stands there once."""

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
        # First all parts: they say which stacks, pages and plans there are.
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

"""Retrieval strategies: a row of orthogonal choices, compiled to a page's requests.

A custom strategy is a :class:`Strategy`, or a function from a page to a plan::

    from reference_sim.page import Page
    from reference_sim.plan import Complete, Fetch, Plan
    from reference_sim.strategy import Strategy, register, strategy
    from reference_sim.workloads import retrieval

    register(Strategy(name="parallel-8", about="Eight connections, HTTP/1.0", connections=8))

    @strategy("halves", about="Images on two persistent connections, odd and even")
    def halves(page: Page) -> Plan:
        images = range(1, len(page.objects))
        base = Fetch(objects=(0,), lane=0)
        rest = (Fetch(objects=(n,), after=Complete(fetch=0), lane=n % 2) for n in images)
        return Plan(connections=2, persistent=True, fetches=(base, *rest))

    retrieval(strategy="halves", page="eggert-graphics", network="wan")
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from reference_sim.http2 import Http2
from reference_sim.page import Constant, Object, Page
from reference_sim.page_versions import once
from reference_sim.plan import After, Bytes, Complete, Fetch, HttpVersion, Plan, Requested, Start, Visit
from reference_sim.scenario import Writes
from reference_sim.settings import Setting
from reference_sim.stack import Stack
from reference_sim.tls import Tls
from tcptrace_http.errors import ScenarioError

__all__ = [
    "REGISTERED",
    "Bundling",
    "Discovery",
    "Place",
    "Protocol",
    "Strategy",
    "plan_of",
    "register",
    "strategy",
]


class Protocol(StrEnum):
    """Protocol that fetches the objects."""

    HTTP = "http"
    #: One file per object, over a control connection and data connections (RFC 959).
    FTP = "ftp"


class Bundling(StrEnum):
    """Objects that share a response."""

    NONE = "none"
    #: All with the first request (GETALL of Padmanabhan and Mogul 1994).
    ALL = "all"
    #: The base document in whole segments, then all linked objects (the thesis's segment-filled).
    INLINES = "inlines"
    #: First the list of the page's objects, then the wanted objects (GETLIST).
    LIST = "list"


class Discovery(StrEnum):
    """Time at which the browser discovers a document's links."""

    #: After the whole document.
    COMPLETE = "complete"
    #: As each link arrives.
    STREAMING = "streaming"
    #: In advance: all connections open together with the base document's connection, so that their handshakes
    #: overlap (Bhalekar 2003, sections 4.1 and 4.2.2).
    KNOWN = "known"


class Place(StrEnum):
    """Responder to the requests."""

    ORIGIN = "origin"
    #: Proxy at the hub of a satellite, which pushes the page (Bhalekar 2003, section 4.7).
    HUB = "hub"
    #: Cache on the client's LAN that already has the page (Bhalekar 2003, chapter 5).
    CACHE = "cache"


_ONE_WRITE: Final = Writes()


@dataclass(frozen=True, kw_only=True, slots=True)
class Strategy:
    """Strategy of page retrieval. Each field is an independent choice.

    :raises ScenarioError: choices contradict each other.
    """

    name: str
    about: str
    #: Paper and section.
    source: str = ""
    protocol: Protocol = Protocol.HTTP
    version: HttpVersion = HttpVersion.HTTP10
    #: Maximum number of simultaneous connections; None: one per object.
    connections: int | None = 1
    persistent: bool = False
    #: Maximum number of outstanding requests per connection.
    pipelining: int = 1
    #: The last request asks the server to close: its FIN travels with the last data.
    closes_with_last: bool = False
    bundling: Bundling = Bundling.NONE
    discovery: Discovery = Discovery.COMPLETE
    #: Objects of successive visits: caches and second accesses.
    revisit: Callable[[Page], tuple[Page, ...]] = once
    #: Replacement of the page.
    encoding: Callable[[Page], Page] | None = None
    place: Place = Place.ORIGIN
    #: Write pattern of the server.
    writes: Writes = _ONE_WRITE
    #: TLS of the connections; None: as in the scenario.
    tls: Tls | None = None
    #: None: HTTP/1 connections.
    http2: Http2 | None = None
    #: Stack knobs that override the scenario's.
    client_stack: Mapping[str, Any] = field(default_factory=dict)
    server_stack: Mapping[str, Any] = field(default_factory=dict)
    #: The first request is sent in two writes, the first of this many bytes (Kruse 2001, section 5.3.2).
    split_request: int | None = None
    #: Function that makes the plan, in place of all choices about requests.
    plan: Callable[[Page], Plan] | None = None
    #: Setting of the paper: :func:`~reference_sim.published.published` takes unnamed arguments from it.
    setting: Setting | None = None

    def __post_init__(self) -> None:
        if self.pipelining > 1 and not self.persistent:
            raise ScenarioError("pipelining needs persistent connections", field=self.name)
        if self.connections is not None and self.connections < 1:
            raise ScenarioError("at least one connection is needed", field=self.name)

    def visits(self, page: Page) -> tuple[Visit, ...]:
        """Return the visits of this page, each with its plan."""
        encode = self.encoding or _as_it_is
        pages = [encode(version) for version in self.revisit(page)]
        visits = (self._visit(version) for version in pages)
        return tuple(visits)

    def client(self, stack: Stack) -> Stack:
        """Return the client's stack with this strategy's knobs."""
        return _with_knobs(stack, self.client_stack, self.name)

    def server(self, stack: Stack) -> Stack:
        """Return the server's stack with this strategy's knobs."""
        return _with_knobs(stack, self.server_stack, self.name)

    def but(self, name: str, about: str, **choices: Any) -> Strategy:
        """Return this strategy with other choices."""
        return replace(self, name=name, about=about, **choices)

    def _visit(self, page: Page) -> Visit:
        if self.plan is not None:
            return Visit(page=page, plan=self.plan(page))
        return Visit(page=_bundled(page, self.bundling), plan=plan_of(self, page))


def plan_of(choices: Strategy, page: Page) -> Plan:
    """Return the requests for a page under these choices."""
    if choices.bundling is Bundling.NONE:
        places = _places_of_links(page)
        fetches = tuple(_fetch(choices, page, index, places[index]) for index in range(len(page.objects)))
    else:
        fetches = _bundles(choices.bundling, len(page.objects))
    if choices.split_request is not None:
        fetches = (replace(fetches[0], split_after=choices.split_request), *fetches[1:])
    return Plan(
        connections=choices.connections,
        persistent=choices.persistent,
        pipelining=choices.pipelining,
        closes_with_last=choices.closes_with_last,
        fetches=fetches,
    )


def _places_of_links(page: Page) -> list[tuple[int, int]]:
    """Return, per object, its link's number within the document (from 1) and the document's link count."""
    count = Counter(part.found_in for part in page.objects[1:])
    numbers = {finder: itertools.count(1) for finder in count}
    # No document links to the base document.
    return [(0, 0), *((next(numbers[part.found_in]), count[part.found_in]) for part in page.objects[1:])]


def _fetch(choices: Strategy, page: Page, index: int, place: tuple[int, int]) -> Fetch:
    """Return the request for one object. A page's fetches are numbered by its objects."""
    return Fetch(objects=(index,), after=_after(choices, page, index, place))


def _after(choices: Strategy, page: Page, index: int, place: tuple[int, int]) -> After:
    if index == 0 or choices.discovery is Discovery.KNOWN:
        return Start()
    part = page.objects[index]
    finder = page.objects[part.found_in]
    if part.found_in >= index:
        raise ScenarioError(
            f"page {page.name!r}: object {index} is found in a later one, {part.found_in}; put that one first"
        )
    if part.found_at == 0:
        return Requested(fetch=part.found_in)
    if choices.discovery is Discovery.STREAMING and isinstance(finder.size, Constant) and finder.size.value > 0:
        return Bytes(fetch=part.found_in, bytes=_link_at(part, place, finder.size.value))
    return Complete(fetch=part.found_in)


def _link_at(part: Object, place: tuple[int, int], size: int) -> int:
    """Return the link's byte offset in its document: the given offset, else an even spread."""
    if part.found_at is not None:
        return min(part.found_at, size)
    number, count = place
    return max(1, size * number // (count + 1))


def _bundles(bundling: Bundling, count: int) -> tuple[Fetch, ...]:
    every = tuple(range(count))
    match bundling:
        case Bundling.INLINES if count > 1:
            first = Fetch(objects=(0,), whole_segments=True)
            return first, Fetch(objects=every[1:], after=Complete(fetch=0))
        case Bundling.INLINES:
            return (Fetch(objects=(0,), whole_segments=True),)
        case Bundling.LIST:
            # The list is an object of its own, the last one.
            return Fetch(objects=(count,)), Fetch(objects=every, after=Complete(fetch=0))
        case _:
            return (Fetch(objects=every),)


# Assumed: each list line is an address, a size and a date.
_LIST_BYTES_AN_OBJECT: Final = 64
# "The ALL option is added using a pragma" (Bhalekar 2003, section 2.4.1).
_PRAGMAS: Final = {Bundling.ALL: "Pragma: getall", Bundling.LIST: "Pragma: getlist"}


def _bundled(page: Page, bundling: Bundling) -> Page:
    """Return the page with the additions of bundling: the request's pragma, the object list."""
    pragma = _PRAGMAS.get(bundling)
    if pragma is None:
        return page
    if bundling is Bundling.ALL:
        base = page.objects[0]
        requested = replace(base, request_fields=(*base.request_fields, pragma))
        return page.with_objects((requested, *page.objects[1:]))
    listing = Object(
        target=page.objects[0].target,
        content_type="text/plain",
        size=Constant(value=_LIST_BYTES_AN_OBJECT * len(page.objects)),
        request_fields=(pragma,),
    )
    return page.with_objects((*page.objects, listing))


def _as_it_is(page: Page) -> Page:
    return page


def _with_knobs(stack: Stack, knobs: Mapping[str, Any], name: str) -> Stack:
    return replace(stack, name=f"{stack.name} for {name}", **knobs) if knobs else stack


#: Every strategy by name: :mod:`reference_sim.strategies`, and registered strategies.
REGISTERED: Final[dict[str, Strategy]] = {}


def register(added: Strategy) -> Strategy:
    """Register a strategy by name for workloads, files and the command line; return it.

    :raises ScenarioError: the name is taken.
    """
    if REGISTERED.get(added.name, added) != added:
        raise ScenarioError(f"strategy {added.name!r} exists already; choose another name")
    REGISTERED[added.name] = added
    return added


def strategy(name: str, *, about: str, **choices: Any) -> Callable[[Callable[[Page], Plan]], Strategy]:
    """Register a function from a page to its plan as a :class:`Strategy` (decorator)."""

    def registered(plan: Callable[[Page], Plan]) -> Strategy:
        return register(Strategy(name=name, about=about, plan=plan, **choices))

    return registered

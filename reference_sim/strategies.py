"""Table of strategies: one row per strategy, with the choices that differ from HTTP/1.0 serial.

:class:`~reference_sim.strategy.Strategy` explains each choice and how to add a row.

>>> from reference_sim.strategies import STRATEGIES
>>> STRATEGIES["http11-pipelined"].pipelining
100
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_sim.http2 import Http2
from reference_sim.names import named
from reference_sim.page import Object, Page
from reference_sim.page_versions import (
    compressed,
    conditional_get,
    delta_encoding,
    fast_delta,
    optimistic_delta,
    precreated_delta,
    twice,
)
from reference_sim.plan import Complete, Fetch, HttpVersion, Plan
from reference_sim.scenario import Writes
from reference_sim.settings import BHALEKAR, EGGERT, HEIDEMANN, HEIDEMANN_RESTART, KRUSE, THESIS, TODAY
from reference_sim.stack import IdleRestart, Nagle, Rfc3390, Segments, Sharing
from reference_sim.strategy import REGISTERED, Bundling, Discovery, Place, Protocol, Strategy, plan_of, register
from reference_sim.tls import Tls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["STRATEGIES", "named_strategy"]

_BHALEKAR: Final = "Bhalekar 2003, section"
_EGGERT: Final = "Eggert 1999, section"
_GURKAN: Final = "Gürkan 1998, section"
_HEIDEMANN: Final = "Heidemann 1996, section"
_KRUSE: Final = "Kruse 2001, section"

# More objects than any page of the papers has: all requests at once.
_ALL_AT_ONCE: Final = 100
# Apache 1.1 wrote its 4 kB buffer each time it filled (Heidemann 1996, section 2.3).
_APACHE_BUFFER: Final = 4096
# Connections of a browser in "widely used" configuration (Eggert 1999, section 4; Kruse 2001, section 4.2).
_NETSCAPE_CONNECTIONS: Final = 4
# The paper does not print where Netscape 3 cut the GET; any cut inside the GET has the same effect.
_SPLIT_AFTER: Final = 48

_HTTP11: Final[Mapping[str, Any]] = {"version": HttpVersion.HTTP11, "persistent": True}
_STREAMING: Final[Mapping[str, Any]] = {"discovery": Discovery.STREAMING}
_PIPELINED: Final[Mapping[str, Any]] = {**_HTTP11, **_STREAMING, "pipelining": _ALL_AT_ONCE}


def _connections() -> Iterator[Strategy]:
    """List the strategies with one connection per object: HTTP/1.0 (RFC 1945), and FTP."""
    yield Strategy(
        name="http10-serial",
        about="HTTP/1.0: serial connections, one per object",
        source=f"{_GURKAN} 4.3; {_BHALEKAR} 2.1; RFC 1945",
        setting=HEIDEMANN,
    )
    yield Strategy(
        name="http10-parallel",
        about="HTTP/1.0: the document, then one connection per object in parallel",
        source=f"{_GURKAN} 4.4",
        setting=THESIS,
        connections=None,
    )
    yield Strategy(
        name="http10-parallel-4",
        about="HTTP/1.0 of Netscape: at most four connections, requests as the links arrive",
        source=f"{_EGGERT} 4",
        setting=EGGERT,
        connections=_NETSCAPE_CONNECTIONS,
        **_STREAMING,
    )
    yield Strategy(
        name="http10-parallel-all",
        about="HTTP/1.0 without a limit: one connection per object as its link arrives",
        source=f"{_EGGERT} 4, unlimited concurrency",
        setting=EGGERT,
        connections=None,
        **_STREAMING,
    )
    yield Strategy(
        name="http10-keep-alive",
        about="HTTP/1.0 with keep-alive on one connection, one request outstanding",
        source=f"{_KRUSE} 4.2",
        setting=KRUSE,
        persistent=True,
    )
    yield Strategy(
        name="http10-keep-alive-x4",
        about="HTTP/1.0 with keep-alive on up to four connections",
        source=f"{_KRUSE} 4.2",
        setting=KRUSE,
        connections=_NETSCAPE_CONNECTIONS,
        persistent=True,
        **_STREAMING,
    )
    yield Strategy(
        name="http10-keep-alive-x4-split",
        about="The same, with the first GET in two packets: the second waits for the ACK of the first",
        source=f"{_KRUSE} 5.3.2, Figure 7",
        setting=KRUSE,
        connections=_NETSCAPE_CONNECTIONS,
        persistent=True,
        split_request=_SPLIT_AFTER,
        **_STREAMING,
    )
    yield Strategy(
        name="ftp",
        about="FTP: a control connection, and a data connection per file",
        source=f"{_BHALEKAR} 2.1.1, Figure 1.2; RFC 959",
        setting=BHALEKAR,
        protocol=Protocol.FTP,
    )


def _persistent() -> Iterator[Strategy]:
    """List the strategies with one connection per page: HTTP/1.1 and the papers' variants."""
    yield Strategy(
        name="http11",
        about="HTTP/1.1 without pipelining: one persistent connection, one RTT per object",
        source=f"{_KRUSE} 3, Figure 3",
        setting=KRUSE,
        **_HTTP11,
    )
    yield Strategy(
        name="http11-pipelined",
        about="HTTP/1.1 with pipelining: requests as the links arrive, without waits for responses",
        source=f"{_KRUSE} 3, Figure 4; {_BHALEKAR} 2.2",
        setting=KRUSE,
        **_PIPELINED,
    )
    yield Strategy(
        name="thesis-pipelined",
        about="The thesis's pipelining: one persistent connection, one request outstanding",
        source=f"{_GURKAN} 4.5: the requests of Table 4.5 are one round trip apart",
        setting=THESIS,
        closes_with_last=True,
        **_HTTP11,
    )
    yield Strategy(
        name="segment-filled",
        about="The document in whole segments, then all inline files as one response",
        source=f"{_GURKAN} 4.6",
        setting=THESIS,
        closes_with_last=True,
        bundling=Bundling.INLINES,
        **_HTTP11,
    )
    yield Strategy(
        name="getall",
        about="One request for a document and all linked objects",
        source=f"{_BHALEKAR} 2.4.1",
        setting=BHALEKAR,
        bundling=Bundling.ALL,
        **_HTTP11,
    )
    yield Strategy(
        name="getlist",
        about="One request for the list of a page's objects, and one request for the wanted objects",
        source=f"{_BHALEKAR} 2.4.1",
        setting=BHALEKAR,
        bundling=Bundling.LIST,
        **_HTTP11,
    )
    yield Strategy(
        name="exactconn",
        about="One persistent connection with an initial window of four segments, one request outstanding",
        source=f"{_BHALEKAR} 4.2.2",
        setting=BHALEKAR,
        persistent=True,
        server_stack={"initial_window": Segments(segments=4)},
    )
    yield Strategy(
        name="maxconn",
        about="One connection per object with an initial window of one segment, all opened together",
        source=f"{_BHALEKAR} 4.2.2: the number of objects is known beforehand",
        setting=BHALEKAR,
        connections=None,
        server_stack={"initial_window": Segments(segments=1)},
        discovery=Discovery.KNOWN,
    )
    yield Strategy(
        name="http11-pipelined-4k",
        about="HTTP/1.1 with pipelining and an initial window of about 4 KB",
        source=f"{_KRUSE} 2.2 and 4.2",
        setting=KRUSE,
        server_stack={"initial_window": Rfc3390()},
        **_PIPELINED,
    )
    yield Strategy(
        name="http10-keep-alive-4k",
        about="HTTP/1.0 with keep-alive on one connection and an initial window of about 4 KB",
        source=f"{_KRUSE} 2.2 and 4.2",
        setting=KRUSE,
        persistent=True,
        server_stack={"initial_window": Rfc3390()},
    )


def _streams() -> Iterator[Strategy]:
    """List the HTTP/2 strategies: one connection per page, one stream per object."""
    # Assumed: larger than a page's data in flight. Both ends write short frames and disable Nagle's
    # algorithm.
    choices: dict[str, Any] = {
        **_PIPELINED,
        "http2": Http2(stream_window=1 << 20, connection_window=1 << 30),
        "client_stack": {"nagle": Nagle.OFF},
        "server_stack": {"nagle": Nagle.OFF},
        "setting": TODAY,
    }
    yield Strategy(
        name="http2",
        about="HTTP/2: one connection, one stream per object, with windows that never limit a page",
        source="RFC 9113",
        **choices,
    )
    yield Strategy(
        name="http2-tls", about="The same over TLS 1.3", source="RFC 9113, section 3.2", tls=Tls(), **choices
    )


def _apache() -> Iterator[Strategy]:
    """List P-HTTP of Apache 1.1b4, and each of Heidemann's fixes."""
    apache = Strategy(
        name="p-http-apache-1.1b4",
        about="P-HTTP of Apache 1.1b4: the head flushed separately, the body in 4 kB writes, Nagle on",
        source=f"{_HEIDEMANN} 2.1 to 2.3",
        setting=HEIDEMANN,
        persistent=True,
        writes=Writes(head_alone=True, chunk_bytes=_APACHE_BUFFER),
    )
    yield apache
    yield apache.but(
        "p-http-headers-fix",
        "P-HTTP of Apache with the first fix: the head goes with the first data",
        writes=Writes(chunk_bytes=_APACHE_BUFFER),
    )
    yield apache.but(
        "p-http-nagle-fix",
        "P-HTTP of Apache with the second fix only: Nagle off",
        server_stack={"nagle": Nagle.OFF},
    )
    yield apache.but(
        "p-http-both-fixes",
        "P-HTTP of Apache with both fixes: the head goes with the first data, Nagle off",
        writes=Writes(chunk_bytes=_APACHE_BUFFER),
        server_stack={"nagle": Nagle.OFF},
    )
    for restart, about in (
        (IdleRestart.KEEP, "kept"),
        (IdleRestart.RESET, "reset to its first size"),
        (IdleRestart.DECAY, "halved for each timeout"),
        (IdleRestart.PACE, "kept, and paced over a round trip"),
    ):
        yield Strategy(
            name=f"p-http-restart-{restart}",
            about=f"P-HTTP, two visits on a connection: cwnd is {about} after the pause",
            source=f"{_HEIDEMANN} 2.4",
            revisit=twice,
            server_stack={"idle_restart": restart},
            plan=_kept_open,
            setting=HEIDEMANN_RESTART,
            **_HTTP11,
        )


def _kept_open(page: Page) -> Plan:
    """Return one persistent connection that the next visit reuses."""
    base = Fetch(objects=(0,))
    inlines = (Fetch(objects=(index,), after=Complete(fetch=0)) for index in range(1, len(page.objects)))
    return Plan(persistent=True, keeps_connections=True, fetches=(base, *inlines))


def _transports() -> Iterator[Strategy]:
    """List HTTP/1.0 over TCP variants whose connections share state."""
    for sharing, about in (
        (Sharing.ETCP_FAIR, "fair scheduler"),
        (Sharing.ETCP_CONTENT_DEPENDENT, "scheduler by content"),
        (Sharing.ETCP_TICKET_DECAY, "scheduler with ticket decay"),
        (Sharing.ETCP_HTML_PRE, "HTML before all others"),
    ):
        knobs = {"sharing": sharing, "accelerated_open": True, "idle_restart": IdleRestart.PACE}
        first = Strategy(
            name=f"http10-{sharing}",
            about=f"HTTP/1.0 over E-TCP, {about}: one connection per object",
            source=f"{_EGGERT} 4",
            setting=EGGERT,
            connections=None,
            client_stack=knobs,
            server_stack=knobs,
            **_STREAMING,
        )
        yield first
        yield first.but(
            f"http10-{sharing}-again",
            f"HTTP/1.0 over E-TCP, {about}: a first and a repeated access",
            source=f"{_EGGERT} 5",
            revisit=twice,
        )
    accelerated = {"accelerated_open": True}
    yield Strategy(
        name="http10-ttcp",
        about="HTTP/1.0 over T/TCP: no handshake with a known server",
        source=f"{_BHALEKAR} 3.1.1; RFC 1644",
        setting=BHALEKAR,
        client_stack=accelerated,
        server_stack=accelerated,
        revisit=twice,
    )
    for name, sharing, connections in (
        ("s-tcb-temporal", Sharing.TEMPORAL, 1),
        ("s-tcb-ensemble", Sharing.ENSEMBLE, _NETSCAPE_CONNECTIONS),
    ):
        shared = {"sharing": sharing}
        yield Strategy(
            name=f"http10-{name}",
            about=f"HTTP/1.0 with shared TCP control blocks, {sharing}: connections start from shared state",
            source=f"{_BHALEKAR} 3.1.1; RFC 2140",
            setting=BHALEKAR,
            connections=connections,
            client_stack=shared,
            server_stack=shared,
            revisit=twice,
        )


def _caches() -> Iterator[Strategy]:
    """List strategies with fewer or nearer bytes, on one persistent, pipelined connection."""
    for name, revisit, about, section in (
        ("conditional-get", conditional_get, "again, with everything cached and unchanged: 304", "2.4"),
        ("delta-encoding", delta_encoding, "again, with deltas of the changed objects", "3.5"),
        ("fast-delta", fast_delta, "again, with deltas of the changed text only", "7.2.1"),
        ("precreated-delta", precreated_delta, "again, with deltas made beforehand", "7.2.2"),
        (
            "optimistic-delta",
            optimistic_delta,
            "the old document at once, and the delta to the new one",
            "7.2.1",
        ),
    ):
        yield Strategy(
            name=name,
            about=f"HTTP/1.1 pipelined: {'a page, and ' * about.startswith('again')}{about}",
            source=f"{_BHALEKAR} {section}",
            setting=BHALEKAR,
            revisit=revisit,
            **_PIPELINED,
        )
    yield Strategy(
        name="compression",
        about="HTTP/1.1 pipelined, text compressed",
        source=f"{_BHALEKAR} 3.3",
        setting=BHALEKAR,
        encoding=compressed,
        **_PIPELINED,
    )
    yield Strategy(
        name="compressed-delta",
        about="HTTP/1.1 pipelined: a page with its text compressed, and again with deltas",
        source=f"{_BHALEKAR} 3.5.1",
        setting=BHALEKAR,
        encoding=compressed,
        revisit=delta_encoding,
        **_PIPELINED,
    )
    yield Strategy(
        name="prefetch",
        about="HTTP/1.1 pipelined: a page, its successor during the reader's pause, then a visit to the successor",
        source=f"{_BHALEKAR} 7.2.2",
        setting=BHALEKAR,
        revisit=_with_next,
        plan=_prefetching,
        **_HTTP11,
    )
    yield Strategy(
        name="optimized-browser",
        about="A proxy at the hub fetches and pushes the page, one connection per object, without slow start",
        source=f"{_BHALEKAR} 4.7; the connections are opened together, and each request stands for a push: it"
        " waits until the hub has found its object",
        setting=BHALEKAR,
        connections=None,
        place=Place.HUB,
        discovery=Discovery.KNOWN,
    )
    yield Strategy(
        name="cumulative-cache",
        about="The page comes from a cache on the LAN, which validates the document with the origin",
        source=f"{_BHALEKAR} chapter 5",
        setting=BHALEKAR,
        place=Place.CACHE,
        **_PIPELINED,
    )


def _with_next(page: Page) -> tuple[Page, ...]:
    """Return the page and its equal successor as one retrieval, then the visit to the successor.

    All of the successor is cached: the browser only revalidates its document.
    """
    count = len(page.objects)
    following = tuple(
        _moved(part, f"/next{part.target}", count, is_base=index == 0) for index, part in enumerate(page.objects)
    )
    both = page.with_objects((*page.objects, *following), name=f"{page.name}-and-next")
    requested = conditional_get(page.with_objects(following[:1], name=f"{page.name}-next"))[-1]
    return both, requested


def _moved(part: Object, target: str, count: int, *, is_base: bool) -> Object:
    return replace(part, target=target, found_in=0 if is_base else part.found_in + count)


def _prefetching(page: Page) -> Plan:
    """Return two visits: the first half of the objects pipelined, and, once complete, the second half.

    For a page of one object: the document again, on the open connection.
    """
    if len(page.objects) == 1:
        return Plan(persistent=True, fetches=(Fetch(objects=(0,)),))
    count = len(page.objects) // 2
    first = plan_of(Strategy(name="first", about="", **_PIPELINED), page.with_objects(page.objects[:count]))
    following = [Fetch(objects=(count,), after=Complete(fetch=count - 1))]
    following += [
        Fetch(objects=(count + index,), after=Complete(fetch=count + page.objects[index].found_in))
        for index in range(1, count)
    ]
    return Plan(
        connections=first.connections,
        persistent=True,
        pipelining=first.pipelining,
        keeps_connections=True,
        fetches=(*first.fetches, *following),
    )


def _table() -> Iterator[Strategy]:
    yield from _connections()
    yield from _persistent()
    yield from _streams()
    yield from _apache()
    yield from _transports()
    yield from _caches()


for _row in _table():
    register(_row)

#: Every strategy by name, including strategies registered later.
STRATEGIES: Final[Mapping[str, Strategy]] = REGISTERED


def named_strategy(name: str) -> Strategy:
    """Return the strategy of this name, built in or registered.

    :raises ScenarioError: the name is unknown; the message gives the nearest name.
    """
    return named(REGISTERED, name, what="strategy")

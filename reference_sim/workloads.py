"""Complete scenarios from a few choices: one retrieval, and the papers' workloads.

>>> from reference_sim.workloads import retrieval, thesis
>>> retrieval(strategy="http11-pipelined", page="kruse-lerc", network="satellite")
>>> thesis(strategy="http10-parallel", web_clients=32, ftp_clients=2, seed=7)
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from reference_sim.networks import network as network_named
from reference_sim.networks import with_users
from reference_sim.page import Constant, Law, Page, Uniform, expected
from reference_sim.page_versions import conditional_get
from reference_sim.pages import page as page_named
from reference_sim.pages import thesis as thesis_page
from reference_sim.plan import Complete, Fetch, Plan, Visit
from reference_sim.quantities import nanoseconds
from reference_sim.scenario import (
    Browser,
    KeepAlive,
    LinkTap,
    NodeTap,
    Proxy,
    Record,
    Scenario,
    Server,
    Tap,
    Transfer,
)
from reference_sim.settings import HEIDEMANN, Hosts, Setting
from reference_sim.stack import Heartbeat, Segments, Stack
from reference_sim.stacks import stack as stack_named
from reference_sim.strategies import named_strategy
from reference_sim.strategy import Discovery, Place, Protocol, Strategy
from reference_sim.tls import PORT, Tls
from reference_sim.tls import tls as tls_named
from reference_sim.topology import Network
from tcptrace_http.errors import ScenarioError

__all__ = ["heidemann", "published_scenario", "retrieval", "tap_at", "thesis"]

_MS: Final = 10**6
_S: Final = 10**9
_NOW: Final = Constant(value=0)
#: Stack of a simulation that names none.
DEFAULT_STACK: Final = "reno"
_HUB_STACK: Final = "rwbp"


def retrieval(  # noqa: PLR0913 -- one parameter a choice
    *,
    strategy: str | Strategy,
    page: str | Page,
    network: str | Network,
    client_stack: str | Stack = DEFAULT_STACK,
    server_stack: str | Stack | None = None,
    think: Law = _NOW,
    parse: int | timedelta = 0,
    processing: Law = _NOW,
    tls: str | Tls | None = None,
    at: str = "client",
    record: Record | None = None,
    seed: int = 1,
) -> Scenario:
    """Return a scenario of one client that retrieves one page, with the strategy's visits.

    Strategy, page, network and stacks are names or objects. The server's stack defaults to the client's.
    ``think`` is the pause between visits and ``processing`` the server's time per response, in nanoseconds.
    ``parse`` is the browser's time from a link to its request. ``tls`` defaults to the strategy's setting,
    which is cleartext unless stated. Frames are recorded ``at`` the ``client``, the ``server``, or a node or
    link of that name.

    :raises ScenarioError: a name is unknown, or the network lacks a node that the strategy needs.
    """
    chosen = named_strategy(strategy) if isinstance(strategy, str) else strategy
    what = page_named(page) if isinstance(page, str) else page
    where = network_named(network) if isinstance(network, str) else network
    client = stack_named(client_stack) if isinstance(client_stack, str) else client_stack
    far = client if server_stack is None else server_stack
    server = stack_named(far) if isinstance(far, str) else far
    if chosen.place is Place.CACHE and where.cache is None:
        where = with_users(where)
    common: dict[str, Any] = {
        "network": where,
        "seed": seed,
        "taps": (tap_at(where, at),),
        "record": Record.everything() if record is None else record,
    }
    secured = tls_named(tls) if isinstance(tls, str) else tls or chosen.tls
    if secured is not None and (chosen.protocol is Protocol.FTP or chosen.place is not Place.ORIGIN):
        raise ScenarioError(f"{chosen.name!r} is not simulated over TLS", field="tls")
    if chosen.protocol is Protocol.FTP:
        return Scenario(transfers=(_files(what, where, client, server),), **common)
    visits = chosen.visits(what)
    origin = _server(chosen, where.servers[0], chosen.server(server), visits=visits, processing=processing)
    if secured is not None:
        origin = replace(origin, port=PORT, tls=secured)
    browser = Browser(
        node=where.clients[0],
        stack=chosen.client(client),
        visits=visits,
        think=think,
        parse=parse,
        http_version=chosen.version,
    )
    match chosen.place:
        case Place.ORIGIN:
            return Scenario(servers=(origin,), browsers=(browser,), **common)
        case Place.HUB:
            return _through_hub(chosen, origin, browser, server, what, common)
        case Place.CACHE:
            return _from_cache(chosen, origin, browser, what, common)


def published_scenario(  # noqa: PLR0913 -- one parameter a choice
    strategy: str | Strategy,
    *,
    page: str | Page | None = None,
    network: str | Network | None = None,
    client_stack: str | Stack | None = None,
    server_stack: str | Stack | None = None,
    think: int | timedelta | None = None,
    tls: str | Tls | None = None,
    at: str = "client",
    seed: int = 1,
) -> Scenario:
    """Return a strategy in its paper's setting; named arguments replace only their own choice.

    A ``client_stack`` sets both ends, as in :func:`retrieval`, unless ``server_stack`` is given.

    :raises ScenarioError: a name is unknown, or the strategy has no paper and page or network are not named.
    """
    chosen = named_strategy(strategy) if isinstance(strategy, str) else strategy
    setting = chosen.setting
    if setting is None:
        if page is None or network is None:
            field = "page" if page is None else "network"
            raise ScenarioError(f"strategy {chosen.name!r} has no default from a paper; name one", field=field)
        setting = Setting(source="", page="", network="", client_stack=DEFAULT_STACK)
    hosts = setting.hosts
    if client_stack is None:
        client_stack, far = setting.client_stack, server_stack or setting.server_stack
    else:
        far = server_stack
    is_its_page = page is None or page == setting.page
    what = page_named(setting.page) if is_its_page else page
    pause = setting.think if think is None else nanoseconds(think)
    # A browser with persistent connections pays for a connection before its visit, otherwise before each
    # request.
    cost_before_requests = 0 if chosen.persistent else hosts.connection_cost
    made = retrieval(
        strategy=chosen,
        page=_processed(what, hosts) if is_its_page and isinstance(what, Page) else what or "",
        network=network or setting.network,
        client_stack=client_stack,
        server_stack=far,
        think=Constant(value=pause + hosts.connection_cost),
        parse=hosts.parse + cost_before_requests,
        processing=Constant(value=hosts.processing),
        tls=tls,
        at=at,
        seed=seed,
    )
    return _hosted(made, hosts)


def _processed(page: Page, hosts: Hosts) -> Page:
    """Return the page with the extra server time that the paper shows for single objects."""
    more = dict(enumerate(hosts.processing_more))
    parts = (
        replace(part, processing_ns=part.processing_ns + more[index]) if more.get(index) else part
        for index, part in enumerate(page.objects)
    )
    return page.with_objects(tuple(parts)) if any(hosts.processing_more) else page


def _hosted(made: Scenario, hosts: Hosts) -> Scenario:
    """Return the scenario with the paper's server and browser: the first of each."""
    servers = tuple(
        replace(
            server,
            product=hosts.product,
            min_head_bytes=hosts.min_head_bytes,
            sizes_include_heads=hosts.sizes_include_heads,
        )
        for server in made.servers
    )
    browsers = tuple(
        replace(
            browser,
            min_request_bytes=hosts.min_request_bytes,
            visits=tuple(map(_one_after_the_other, browser.visits)) if hosts.in_order else browser.visits,
        )
        for browser in made.browsers
    )
    return replace(made, servers=servers, browsers=browsers)


def _one_after_the_other(visit: Visit) -> Visit:
    """Return the visit with serial fetches if it has one connection without pipelining."""
    plan = visit.plan
    if plan.connections != 1 or plan.pipelining > 1:
        return visit
    first, *others = plan.fetches
    chained = (replace(fetch, after=Complete(fetch=index)) for index, fetch in enumerate(others))
    return replace(visit, plan=replace(plan, fetches=(first, *chained)))


def tap_at(network: Network, at: str) -> Tap:
    """Return a tap at the ``client``, the ``server``, or a node or link of that name.

    :raises ScenarioError: the name is unknown.
    """
    # The name "client" means the requester, even if a node between requester and network has this name.
    if at in {"client", "server"}:
        return NodeTap(name=(network.clients if at == "client" else network.servers)[0])
    if at in {node.name for node in network.nodes}:
        return NodeTap(name=at)
    return LinkTap(name=network.link(at).title)


def _files(page: Page, network: Network, client: Stack, server: Stack) -> Transfer:
    """Return each object of the page as a file."""
    return Transfer(
        node=network.clients[0],
        stack=client,
        server_node=network.servers[0],
        server_stack=server,
        files=tuple(round(expected(part.size)) for part in page.objects),
        control=True,
        waits_for_replies=False,
    )


def _server(
    chosen: Strategy,
    node: str,
    stack: Stack,
    *,
    visits: tuple[Visit, ...],
    processing: Law = _NOW,
    name: str = "server",
) -> Server:
    """Return a server with persistent connections if a plan reuses connections."""
    return Server(
        name=name,
        node=node,
        stack=stack,
        processing=processing,
        writes=chosen.writes,
        http2=chosen.http2,
        keep_alive=KeepAlive() if any(visit.plan.persistent for visit in visits) else None,
    )


def _through_hub(
    chosen: Strategy, origin: Server, browser: Browser, ground: Stack, page: Page, common: dict[str, Any]
) -> Scenario:
    """Return a proxy at the hub: no slow start over the space segment, TCP on the ground.

    The proxy discovers the objects while it receives the page ("the NOC has already received the web-page
    from the web server": Bhalekar 2003, section 4.7), independently of the browser's requests.
    """
    where: Network = common["network"]
    if where.hub is None:
        raise ScenarioError(
            f"{chosen.name!r} needs a network with a hub, such as 'satellite-hub'", field="network"
        )
    space = stack_named(_HUB_STACK)
    proxy = Proxy(
        name="hub",
        node=where.hub,
        stack=space,
        upstream_stack=ground,
        upstream_connections=None,
        upstream_persistent=False,
        prefetch_plan=replace(chosen, discovery=Discovery.STREAMING).visits(page)[0].plan,
    )
    through = replace(browser, stack=space, origin="hub")
    return Scenario(servers=(origin,), browsers=(through,), proxies=(proxy,), **common)


def _from_cache(
    chosen: Strategy, origin: Server, browser: Browser, page: Page, common: dict[str, Any]
) -> Scenario:
    """Return a cache that has the page and revalidates the document with the origin in parallel."""
    where: Network = common["network"]
    if where.cache is None:
        raise ScenarioError(f"{chosen.name!r} needs a network with a cache", field="network")
    cache = _server(chosen, where.cache, browser.stack, visits=browser.visits, name="cache")
    validation = conditional_get(page)[-1]
    asking = Visit(page=validation.with_objects(validation.objects[:1]), plan=Plan(fetches=(Fetch(objects=(0,)),)))
    validator = replace(browser, node=where.cache, visits=(asking,))
    fetching = replace(browser, origin="cache")
    return Scenario(servers=(origin, cache), browsers=(fetching, validator), **common)


# BSD's PR_FASTHZ: five times per second.
_HEARTBEAT: Final = 200 * _MS


def heidemann(
    *,
    strategy: str | Strategy,
    retrievals: int = 100,
    phase: int | timedelta = 0,
    server_phase: int | timedelta = 0,
    connection_cost: int | timedelta = HEIDEMANN.hosts.connection_cost,
    seed: int = 1,
) -> Scenario:
    """Return Heidemann's page over 10 Mb/s Ethernet between two SunOS 4.1.3 hosts with Apache 1.1b4.

    The page is retrieved repeatedly: "100 web-page transactions". ``phase`` and ``server_phase`` are the
    offsets of the hosts' 200 ms heartbeats from the first retrieval. After a stall, each retrieval begins at
    a heartbeat of the client, so the next retrievals are synchronized with it. The client, "a custom program
    written in Perl", requests documents serially if it has one connection. ``connection_cost`` is the host
    time per connection, spent before its SYN: the difference in Table 1, the same for all strategies.

    :raises ScenarioError: the strategy is unknown.
    """
    chosen = named_strategy(strategy) if isinstance(strategy, str) else strategy
    hosts = replace(HEIDEMANN.hosts, connection_cost=nanoseconds(connection_cost))
    base = published_scenario(replace(chosen, setting=replace(HEIDEMANN, hosts=hosts)), seed=seed)
    (browser,), (server,) = base.browsers, base.servers
    client = replace(browser, stack=_beating(browser.stack, phase), visits=browser.visits * retrievals)
    return replace(
        base, browsers=(client,), servers=(replace(server, stack=_beating(server.stack, server_phase)),)
    )


def _beating(stack: Stack, phase: int | timedelta) -> Stack:
    return replace(stack, acks=replace(stack.acks, delay=Heartbeat(period=_HEARTBEAT, phase=phase)))


# "Request length is kept constant as 210 bytes per file" (Gürkan 1998, section 3.1).
_THESIS_REQUEST: Final = 210
_THESIS_THINK: Final = Uniform(low=1 * _S, high=2 * _S)
_THESIS_FILE: Final = 1_000_000
_THESIS_DURATION: Final = 300 * _S
#: The thesis's four retrieval methods, by the names of our strategies.
THESIS_STRATEGIES: Final = ("http10-serial", "http10-parallel", "thesis-pipelined", "segment-filled")


def _file_by_file(page: Page) -> tuple[Visit, ...]:
    """Return one visit per object."""
    alone = Plan(fetches=(Fetch(objects=(0,)),))
    return tuple(Visit(page=page.with_objects((part,)), plan=alone) for part in page.objects)


def thesis(  # noqa: PLR0913 -- one parameter an item that is fitted or assumed
    *,
    strategy: str | Strategy,
    web_clients: int,
    ftp_clients: int = 0,
    initial_window: int = 1,
    seed: int = 1,
    duration: int | timedelta = _THESIS_DURATION,
    stack: str | Stack = "tahoe-ns",
    max_window_segments: int = 14,
    primary_cap: int = 15_000,
    inline_cap: int = 25_000,
    think: Law = _THESIS_THINK,
    serial_thinks_per_file: bool = True,
    waits_for_close: int | timedelta | None = 100 * _MS,
    starts_over: int | timedelta = 1 * _S,
    ftp_file_bytes: int = _THESIS_FILE,
    ftp_one_connection: bool = False,
    reuses_agents: bool = True,
    record: Record | None = None,
) -> Scenario:
    """Return the thesis's grid: web and FTP clients on its dumbbell (Gürkan 1998, section 4.1).

    Choices that the thesis does not state are parameters. Fitted on its tables by an independent ns-2 run:
    ``max_window_segments`` and ``waits_for_close`` (interval at which the browser checks that the previous
    connections are closed; None: no check). Inferred: ``inline_cap``; ``think`` in seconds, though the text
    prints milliseconds; ``serial_thinks_per_file``. Assumed: client i at node i mod 4 with the server of the
    same index, FTP clients alike. Also assumed: not ``ftp_one_connection`` (one connection per file, as ns's
    agents make it), and client starts spread evenly over ``starts_over``. ``reuses_agents``: a client keeps
    its ns agents forever, each joined to one agent of the server, as "client agents" in section 4.1 says. An
    agent whose server end never closes makes no further requests. ns's BayFullTcp never closes after certain
    losses (``Stack.fin_on_bare_acks``).

    :raises ScenarioError: no client, or an unknown name.
    """
    chosen = named_strategy(strategy) if isinstance(strategy, str) else strategy
    named = stack_named(stack) if isinstance(stack, str) else stack
    tcp = replace(
        named,
        initial_window=Segments(segments=initial_window),
        max_window_segments=max_window_segments,
        fin_on_bare_acks=reuses_agents,
    )
    if named.initial_ssthresh_segments == named.max_window_segments:
        tcp = replace(tcp, initial_ssthresh_segments=max_window_segments)
    where = network_named("thesis")
    visits = chosen.visits(thesis_page(primary_cap=primary_cap, inline_cap=inline_cap))
    if chosen.connections == 1 and not chosen.persistent and serial_thinks_per_file:
        visits = tuple(file for visit in visits for file in _file_by_file(visit.page))
    # The server closes with the last response of a document, as the agents of ns do.
    kept = KeepAlive(max_requests=len(visits[0].plan.fetches)) if chosen.persistent else None
    step = nanoseconds(starts_over) // max(web_clients + ftp_clients, 1)
    servers = tuple(
        replace(
            _server(chosen, node, chosen.server(tcp), visits=visits, name=f"web-{node}"),
            sizes_include_heads=True,
            keep_alive=kept,
        )
        for node in where.servers
    )
    browsers = tuple(
        Browser(
            node=where.clients[number % len(where.clients)],
            stack=chosen.client(tcp),
            origin=servers[number % len(servers)].name,
            start=number * step,
            visits=visits,
            forever=True,
            think=think,
            waits_for_close=waits_for_close,
            min_request_bytes=_THESIS_REQUEST,
            http_version=chosen.version,
        )
        for number in range(web_clients)
    )
    transfers = tuple(
        Transfer(
            node=where.clients[number % len(where.clients)],
            stack=tcp,
            server_node=where.servers[number % len(where.servers)],
            server_stack=tcp,
            start=(web_clients + number) * step,
            files=(ftp_file_bytes,),
            forever=True,
            one_connection=ftp_one_connection,
        )
        for number in range(ftp_clients)
    )
    return Scenario(
        network=where,
        servers=servers,
        browsers=browsers,
        transfers=transfers,
        record=record or Record(),
        seed=seed,
        duration=duration,
    )

"""Captured pages from the same hosts over the same path, fetched with another strategy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant
from reference_sim.page_versions import once
from reference_sim.scenario import NodeTap, Writes
from reference_sim.stack import IdleRestart, Sharing
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from reference_sim.plan import Visit
    from reference_sim.scenario import Browser, Scenario, Server
    from reference_sim.stack import Stack
    from reference_sim.strategy import Strategy

__all__ = ["Candidate", "under", "unmodified"]

#: Pause between a first and a second access, if the capture has no pause between visits. It exceeds the first
#: timeouts of all presets but one (RFC 6298: 1 s), so a slow-start restart shows. It is below the shortest
#: usual keep-alive timeout of a server (Apache httpd: 5 s). The papers do not specify it.
REVISIT_PAUSE_NS: Final = 3_000_000_000
#: Maximum number of connections that share a window: the run time grows with the square of their number.
SHARING_MOST: Final = 256
_ABOUT_SHARING: Final = frozenset({"sharing", "accelerated_open"})
_ENSEMBLE: Final = "etcp-"
#: Strategy that fetches a page unknown to the capture.
_PREFETCH: Final = "prefetch"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """Scenario, with the visits that represent the captured ones."""

    scenario: Scenario
    #: Number of browsers (or transfers) whose retrievals count; the others are auxiliary.
    clients: int
    #: Visits per page, of which the last counts: 2 for a second access after a first one that fills a cache.
    visits_of_page: int = 1
    note: str = ""

    @property
    def retrievals(self) -> int:
        """Return the number of visits, or files, that must finish."""
        scenario = self.scenario
        if scenario.transfers:
            return sum(len(transfer.files) for transfer in scenario.transfers)
        return sum(len(browser.visits) // self.visits_of_page for browser in scenario.browsers[: self.clients])


def unmodified(scenario: Scenario) -> Candidate:
    """Return the scenario with all visits of its browsers."""
    return Candidate(scenario=scenario, clients=len(scenario.browsers))


def under(scenario: Scenario, strategy: Strategy) -> Candidate:
    """Return the scenario's visits with this strategy. Pages, path, hosts and server times stay.

    The server's writes stay unless the strategy concerns them. The strategy's knobs are added to the stacks.

    :raises ScenarioError: the strategy does not fit this network, or its action is not a visit.
    """
    if strategy.name == _PREFETCH:
        raise ScenarioError("it fetches a next page, which is not in the capture")
    _check_sharing(scenario, strategy)
    if not scenario.browsers or not scenario.servers:
        raise ScenarioError("the scenario has no browser and server")
    made = [
        [_visited(scenario, browser, visit, strategy) for visit in browser.visits] for browser in scenario.browsers
    ]
    first = made[0][0]
    if first.transfers:
        return _by_transfer(made)
    browsers = [_with_habits(browser, each) for browser, each in zip(scenario.browsers, made, strict=True)]
    # Auxiliary parts of the strategy, such as a cache that asks its origin, exist once.
    machinery = first.browsers[1:]
    per_page = len(first.browsers[0].visits)
    whole = replace(
        first,
        browsers=(*browsers, *machinery),
        servers=tuple(_serving(server, scenario.servers[0], strategy) for server in first.servers),
        duration=scenario.duration,
        epoch=scenario.epoch,
    )
    return Candidate(scenario=whole, clients=len(browsers), visits_of_page=per_page)


def _check_sharing(scenario: Scenario, strategy: Strategy) -> None:
    """Refuse too many connections that share a window: each ACK of one queries all of them."""
    is_ensemble = str(strategy.server_stack.get("sharing", "")).startswith(_ENSEMBLE)
    visits = (visit for browser in scenario.browsers for visit in browser.visits)
    objects = max((len(visit.page.objects) for visit in visits), default=0)
    if is_ensemble and strategy.connections is None and objects > SHARING_MOST:
        raise ScenarioError(
            f"it would share one window among {objects:,} connections; at most {SHARING_MOST} are simulated"
        )


def _visited(scenario: Scenario, browser: Browser, visit: Visit, strategy: Strategy) -> Scenario:
    """Return one visit of one browser with the strategy."""
    (server, *_) = scenario.servers
    is_without_pause = strategy.revisit is not once and browser.think == Constant(value=0)
    return retrieval(
        strategy=strategy,
        page=visit.page,
        network=scenario.network,
        client_stack=_without_sharing(browser.stack, strategy),
        server_stack=_without_sharing(server.stack, strategy),
        think=Constant(value=REVISIT_PAUSE_NS) if is_without_pause else browser.think,
        parse=browser.parse,
        processing=server.processing,
        tls=strategy.tls or server.tls,
        at=_place(scenario),
        record=scenario.record,
        seed=scenario.seed,
    )


def _without_sharing(stack: Stack, strategy: Strategy) -> Stack:
    """Return the stack without the captured hosts' shared state, if the strategy concerns shared state."""
    if not _ABOUT_SHARING & strategy.client_stack.keys():
        return stack
    # Pacing after idle belongs to E-TCP; RFC 5681 (section 4.1) restarts the window.
    restart = IdleRestart.RESET if stack.idle_restart is IdleRestart.PACE else stack.idle_restart
    return replace(stack, sharing=Sharing.NONE, accelerated_open=False, idle_restart=restart)


def _place(scenario: Scenario) -> str:
    tap = scenario.taps[0] if scenario.taps else None
    return tap.name if isinstance(tap, NodeTap) else "client"


def _with_habits(browser: Browser, made: list[Scenario]) -> Browser:
    """Return the strategy's browser with all visits and with the other habits of the captured browser."""
    fetching = made[0].browsers[0]
    visits = (
        _between(captured, each.browsers[0].visits) for captured, each in zip(browser.visits, made, strict=True)
    )
    return replace(
        fetching,
        visits=tuple(chain.from_iterable(visits)),
        start=browser.start,
        thinks_before_fetches=browser.thinks_before_fetches,
        waits_for_close=browser.waits_for_close,
        min_request_bytes=browser.min_request_bytes,
        reading=browser.reading,
    )


def _between(captured: Visit, made: tuple[Visit, ...]) -> tuple[Visit, ...]:
    """Return the strategy's visits of one page, after the captured pause and with the captured
    connection reuse.
    """
    first, *others = made
    *before, last = (replace(first, think=captured.think), *others)
    keeps = last.plan.keeps_connections or (captured.plan.keeps_connections and last.plan.persistent)
    return (*before, replace(last, plan=replace(last.plan, keeps_connections=keeps)))


def _serving(made: Server, captured: Server, strategy: Strategy) -> Server:
    return replace(
        made,
        product=captured.product,
        port=captured.port,
        writes=captured.writes if strategy.writes == Writes() else strategy.writes,
        keep_alive=made.keep_alive and (captured.keep_alive or made.keep_alive),
        sizes_include_heads=captured.sizes_include_heads,
        min_head_bytes=captured.min_head_bytes,
    )


def _by_transfer(made: list[list[Scenario]]) -> Candidate:
    """Return the files of all pages in sequence."""
    transfers = tuple(
        replace(each[0].transfers[0], files=tuple(chain.from_iterable(it.transfers[0].files for it in each)))
        for each in made
    )
    return Candidate(
        scenario=replace(made[0][0], transfers=transfers),
        clients=len(transfers),
        note="files without the server's time for a response",
    )

"""From an analysis to a scenario that runs: each quantity by its own estimator, then put together.

A session is one browser's visits, with the pauses between them as they were captured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from reference_sim.plan import HttpVersion
from reference_sim.scenario import Browser, KeepAlive, Scenario, Server, Writes
from reference_sim.stack import Nagle
from reference_sim.strategy import Strategy
from reference_sim.topology import ByteQueue, PacketQueue, Unlimited
from reference_sim.workloads import tap_at
from tcptrace_http.inference.ack_delay import (
    ack_delay,
    beating_later,
    heartbeat_period,
    held_acks,
    phase_of_runs,
    with_delays,
    with_quick_acks,
)
from tcptrace_http.inference.client_clock import reactions
from tcptrace_http.inference.figure import assumed, seen
from tcptrace_http.inference.initial_window import initial_window
from tcptrace_http.inference.keep_alive import max_requests
from tcptrace_http.inference.knobs import KNOBS, knob
from tcptrace_http.inference.loss import loss_rate, losses
from tcptrace_http.inference.network import network_of
from tcptrace_http.inference.observed import observed
from tcptrace_http.inference.page import pages_of
from tcptrace_http.inference.parse import parse_time
from tcptrace_http.inference.processing import processing_times, with_times_of_runs
from tcptrace_http.inference.queue import offered_of_capture, offered_of_run, queue_bound
from tcptrace_http.inference.rate import bottleneck_rate
from tcptrace_http.inference.replay import with_late_losses
from tcptrace_http.inference.requests import Split, split_figure, splits, with_nagle, with_splits
from tcptrace_http.inference.round_trip import propagation, round_trip, round_trip_spread
from tcptrace_http.inference.server_clock import clock_offsets
from tcptrace_http.inference.stacks import first_window, nearest, options, stack_figure, with_options
from tcptrace_http.inference.steps import partings, stepwise
from tcptrace_http.inference.strategy import signs, strategies_with
from tcptrace_http.inference.synthesis import nearest_run
from tcptrace_http.inference.writes import ways_of_writing, writes_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reference_sim.page import Page
    from reference_sim.plan import Visit
    from reference_sim.stack import IdleRestart, Stack
    from reference_sim.topology import Network, Queue
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.loss import Lost
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.stacks import Options
    from tcptrace_http.inference.synthesis import Match
    from tcptrace_http.inference.timeline import Timeline

__all__ = ["Inference", "infer"]

# More than any page has objects: as the simulator's table has it.
_ALL_AT_ONCE: Final = 100
# A run whose packets are no further off on average, as a part of the page time, explains the capture.
_NEAR: Final = 0.01
# A run that is no further off is the capture, but for rounding: there is nothing to refine.
_EXACT: Final = 2e-4
# Ways of writing are tried with so many of the nearest strategies and stacks.
_LIKELY: Final = 4
# So many phases of a heartbeat are tried: each is off by 5 ms at most, where the period is 200 ms.
_PHASES: Final = 20
# Then it is moved by what run and capture part by first: so many packets are tried, so many times.
_PARTED_FIRST: Final = 4
_PHASE_STEPS: Final = 4
_NOTHING: Final[Mapping[str, Any]] = {}
_ONE_WRITE: Final = Writes()


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """A scenario that retells a captured retrieval or session, and where each figure of it is from."""

    scenario: Scenario
    figures: tuple[Figure, ...]

    def figure(self, name: str) -> Figure:
        """The figure of this name.

        :raises KeyError: there is none.
        """
        found = next((figure for figure in self.figures if figure.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    @property
    def assumptions(self) -> tuple[Figure, ...]:
        """What the capture does not show."""
        return tuple(figure for figure in self.figures if figure.is_assumed)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Choice:
    """What a run is needed to tell: the strategy, and the presets of both ends."""

    strategy: Strategy
    server: Stack
    client: Stack


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What runs told, how far the nearest one is off, and the figures of that."""

    choice: _Choice
    writes: Writes
    #: No other way of writing was tried.
    keeps_writes: bool
    #: Knobs of the server that are not those of its preset.
    held: Mapping[str, Any]
    off: float
    figures: tuple[Figure, ...]
    #: The server's stacks that the runs do not tell from the chosen one.
    servers: tuple[Stack, ...]
    #: The nearest choices, the one that is taken first.
    likely: tuple[_Choice, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """What was measured, before any run."""

    seen: Observed
    #: The server's time for each response.
    times: tuple[Figure, ...]
    lost: tuple[Lost, ...]
    queue: Queue
    rate: int | None
    propagation: int
    window: Figure
    most_requests: Figure
    of_server: Options
    of_client: Options
    splits: dict[tuple[int, int], Split]
    #: The phase of the client's heartbeat, where runs told it.
    phase: Figure | None = None
    #: What the hosts' clocks show, past a whole tick, when the client begins.
    clock: int = 0
    #: Most connections that the browser opens at once, where that bounds it.
    most_at_once: int | None = None
    #: The client acknowledges at once as its preset does, not only what its timer is too late for.
    has_quick_acks: bool = True

    @property
    def pages(self) -> tuple[Page, ...]:
        return pages_of(self.seen, self.times)

    def reactions(self) -> dict[int, int]:
        return reactions(self.seen, self.rate, self.propagation)

    def stacks(self, choice: _Choice) -> tuple[Stack, Stack, list[Figure]]:
        """Server's and client's stack with what their segments say, and the figures of that."""
        server, of_server = with_options(choice.server, self.of_server, self.window, "server")
        client, of_client = with_options(choice.client, self.of_client, None, "client")
        client, of_delays = with_delays(client, self.seen, self.reactions(), told=self.phase)
        client, nagle = with_nagle(client, self.splits)
        client, quick = with_quick_acks(client, self.seen, is_so=self.has_quick_acks)
        return server, client, [*of_server, *of_client, *of_delays, *quick, nagle]

    @property
    def network(self) -> Network:
        return network_of(
            self.seen, rate=self.rate, propagation=self.propagation, lost=self.lost, queue=self.queue
        )

    def keep_alive(self) -> KeepAlive:
        """How the server keeps connections that its strategy has it keep."""
        most = self.most_requests.value
        return KeepAlive(max_requests=most if isinstance(most, int) else None)

    def parse(self, strategy: Strategy) -> Figure:
        plans = [strategy.visits(page)[0].plan for page in self.pages]
        lost = {each.place for each in self.lost if each.place is not None}
        return parse_time(self.seen, self.pages, plans, self.rate, self.propagation, lost=lost)

    def visits(self, strategy: Strategy) -> tuple[Visit, ...]:
        """The pages by this strategy, with the pauses that were between them."""
        made: list[Visit] = []
        last = 0
        # Elsewhere the last byte and the next request have their way before they are seen.
        way = 0 if self.seen.is_near_client else self.seen.client_path
        for page, visited, is_kept in zip(self.pages, self.seen.visits, self._kept(), strict=True):
            visit = strategy.visits(page)[0]
            plan = with_splits(replace(visit.plan, keeps_connections=is_kept), len(made), self.splits)
            made.append(replace(visit, plan=plan, think=max(visited.start - last - way, 0) if made else None))
            last = visited.end
        return tuple(made)

    def _kept(self) -> list[bool]:
        """Of each visit, whether a later one went on with a connection that it or one before it had."""
        used = [{exchange.flow for exchange in visit.exchanges} for visit in self.seen.visits]
        return [
            any(not flows.isdisjoint(later) for flows in used[: number + 1] for later in used[number + 1 :])
            for number in range(len(used))
        ]

    def scenario(self, choice: _Choice, *, writes: Writes | None = None, **knobs: object) -> Scenario:
        """The session by this choice; ``knobs`` are of the server's stack."""
        parse = self.parse(choice.strategy).value
        server_stack, client_stack, _ = self.stacks(choice)
        if knobs:
            server_stack = replace(server_stack, name=f"{server_stack.name}-changed", **knobs)  # type: ignore[arg-type]
        network = self.network
        visits = self.visits(choice.strategy)
        server = Server(
            node=network.servers[0],
            stack=choice.strategy.server(server_stack),
            product=self.seen.server_software or "reference_sim",
            writes=choice.strategy.writes if writes is None else writes,
            keep_alive=self.keep_alive() if any(visit.plan.persistent for visit in visits) else None,
            min_head_bytes=min(exchange.head_bytes for exchange in self.seen.exchanges),
        )
        browser = Browser(
            node=network.clients[0],
            stack=beating_later(choice.strategy.client(client_stack), self.clock),
            visits=visits,
            parse=parse if isinstance(parse, int) else 0,
            http_version=choice.strategy.version,
            min_request_bytes=min(exchange.request_bytes for exchange in self.seen.exchanges),
            start=self.clock,
        )
        at = tap_at(network, "client" if self.seen.is_near_client else "server")
        return Scenario(network=network, servers=(server,), browsers=(browser,), taps=(at,))


def infer(analysis: Analysis, *, retrieval: int | None = None, session: bool = False) -> Inference:
    """The scenario of one retrieval of a capture; by default of the one with most transactions.

    ``session``: of all that its client retrieved from its server, one visit after the other. ``analysis``
    should have the tables of :data:`~tcptrace_http.inference.observed.NEEDED_TABLES`, else the capture is
    read again for them.

    :raises ScenarioError: no retrieval was captured, or none of this number.
    """
    return _infer(observed(analysis, retrieval=retrieval, session=session))


def _infer(what: Observed) -> Inference:
    rate = bottleneck_rate(what)
    bits = rate.value if isinstance(rate.value, int) and rate.value > 0 else None
    way = propagation(what, bits)
    if rate.is_assumed and bits is not None:
        way = replace(way, is_assumed=True, low=0, reason="what sending takes is not known without path.rate")
    delay = way.value if isinstance(way.value, int) else 0
    lost = losses(what, bits, delay)
    parts = _Parts(
        seen=what,
        times=processing_times(what, bits, delay),
        lost=lost,
        queue=Unlimited(),
        rate=bits,
        propagation=delay,
        window=initial_window(what, bits),
        most_requests=max_requests(what),
        of_server=options(what, of_client=False),
        of_client=options(what, of_client=True),
        splits=splits(what),
    )
    parts, found = _nearest(parts)
    choice, writes, chosen = found.choice, found.writes, found.figures
    *_, of_ends = parts.stacks(choice)
    server, knobs = _with_knobs(parts, found)
    lost = parts.lost
    parts, queue = _with_queue(parts, choice, writes, server)
    figures = (
        *(round_trip(what), way, round_trip_spread(what), rate, queue, loss_rate(what, lost)),
        *(*chosen, _window_of(parts.window, server), *knobs, parts.most_requests, *of_ends),
        ack_delay(what, parts.reactions()),
        *(parts.parse(choice.strategy), split_figure(what, parts.splits), *parts.times),
    )
    changed = {
        name: getattr(server, name) for name in KNOBS if getattr(server, name) != getattr(choice.server, name)
    }
    return Inference(scenario=parts.scenario(choice, writes=writes, **changed), figures=figures)


def _nearest(parts: _Parts) -> tuple[_Parts, _Found]:
    """What the nearest run is of: with what servers usually do, or with another way of writing."""
    usual = _chosen(parts, keeps_writes=True)
    if usual.off <= _NEAR:
        return _all_refined(parts, usual)
    other = _otherwise(parts, usual)
    if other.off <= _NEAR:
        return _all_refined(parts, other)
    # What is off may be losses and times that no packet shows: each is refined, and the nearer one taken.
    each = [_all_refined(parts, found) for found in (usual, other)]
    return min(each, key=lambda pair: pair[1].off)


def _all_refined(parts: _Parts, found: _Found) -> tuple[_Parts, _Found]:
    for refine in _REFINED:
        parts, found = _refined(parts, found, refine)
    return parts, _chosen(parts, writes=found.writes, held=found.held) if found.keeps_writes else found


def _refined(parts: _Parts, found: _Found, refine: Callable[[_Parts, _Found], _Parts]) -> tuple[_Parts, _Found]:
    """What is found with parts that are refined, if a run is off and the refined one is nearer."""
    if found.off <= _EXACT:
        return parts, found
    refined = refine(parts, found)
    if refined == parts:
        return parts, found
    better = _chosen(refined, writes=found.writes, held=found.held, keeps_writes=found.keeps_writes)
    return (refined, better) if better.off < found.off else (parts, found)


def _otherwise(parts: _Parts, usual: _Found) -> _Found:
    """What another way of writing explains, or data that nothing holds, another strategy or stack need not."""
    ways = ways_of_writing(parts.seen)
    knobs: tuple[dict[str, Any], ...] = ({}, {"nagle": Nagle.OFF}, {"nagle": Nagle.STRICT})
    # Together, for the nearest strategy by a wrong way of writing may be a wrong one.
    each = [(choice, *pair) for pair in product(ways, knobs) for choice in usual.likely]
    _, way, held = nearest_run(
        parts.seen, each, lambda tried: parts.scenario(tried[0], writes=tried[1], **tried[2])
    ).best
    return _chosen(parts, writes=way, held=held)


def _chosen(
    parts: _Parts,
    *,
    writes: Writes = _ONE_WRITE,
    held: Mapping[str, Any] = _NOTHING,
    keeps_writes: bool = False,
) -> _Found:
    """Strategy, presets and way of writing whose run is nearest to the capture; ``held``: knobs of the server."""
    match = nearest_run(parts.seen, _choices(parts), partial(parts.scenario, writes=writes, **held))
    best = replace(match.best, server=replace(match.best.server, **held))
    ways = [writes] if keeps_writes else ways_of_writing(parts.seen)
    written = nearest_run(parts.seen, ways, lambda way: parts.scenario(best, writes=way))
    servers = dict.fromkeys(choice.server for choice in match.alike if choice.server != match.best.server)
    return _Found(
        choice=best,
        writes=written.best,
        keeps_writes=keeps_writes,
        held=held,
        off=written.off,
        figures=(*_choice_figures(parts, match), writes_figure(parts.seen, written)),
        servers=tuple(servers),
        likely=match.ranked[:_LIKELY],
    )


def _with_bound(parts: _Parts, found: _Found) -> _Parts:
    """With as many connections as were open at once, if the nearest strategy may open more."""
    shown = signs(parts.seen)
    may_open = found.choice.strategy.connections
    is_bound = shown.at_once > 1 and (may_open is None or may_open > shown.at_once)
    return replace(parts, most_at_once=shown.at_once) if is_bound and found.off > _NEAR else parts


def _without_quick_acks(parts: _Parts, found: _Found) -> _Parts:
    """With a client that delays each ACK that may be delayed, if its stack acknowledges some at once."""
    is_possible = found.choice.client.acks.quick_acks is not None and held_acks(parts.seen, parts.reactions())
    return replace(parts, has_quick_acks=False) if is_possible and found.off > _NEAR else parts


def _with_late_losses(parts: _Parts, found: _Found) -> _Parts:
    """With the losses that only runs tell."""

    def scenario_of(lost: tuple[Lost, ...]) -> Scenario:
        return replace(parts, lost=lost).scenario(found.choice, writes=found.writes)

    return replace(parts, lost=with_late_losses(parts.seen, parts.lost, scenario_of))


def _with_times(parts: _Parts, found: _Found) -> _Parts:
    """With those of the server's times that only runs tell."""

    def scenario_of(times: tuple[Figure, ...]) -> Scenario:
        return replace(parts, times=times).scenario(found.choice, writes=found.writes)

    return replace(parts, times=with_times_of_runs(parts.seen, parts.times, scenario_of))


def _with_clock(parts: _Parts, found: _Found) -> _Parts:
    """With the ticks of the server's clock where timeouts show them."""
    offsets = clock_offsets(parts.seen, found.choice.server, parts.rate, parts.propagation)
    return _nearer(parts, [replace(parts, clock=offset) for offset in offsets], found)


def _nearer(parts: _Parts, others: list[_Parts], found: _Found) -> _Parts:
    """Those of the parts whose run is nearest."""
    match = nearest_run(
        parts.seen, (parts, *others), lambda each: each.scenario(found.choice, writes=found.writes)
    )
    return match.best


def _with_queue(parts: _Parts, choice: _Choice, writes: Writes, server: Stack) -> tuple[_Parts, Figure]:
    """With the queue's bound in place of what it dropped, if a run tells the capture with it."""
    what = parts.seen
    knobs = {name: getattr(server, name) for name in KNOBS}

    def scenario_of(each: _Parts) -> Scenario:
        return each.scenario(choice, writes=writes, **knobs)

    if what.is_near_client:
        offered = offered_of_run(scenario_of(parts), parts.lost, sorted(what.by_flow))
    else:
        offered = offered_of_capture(what, parts.lost)
    bound = queue_bound(offered, parts.rate)
    if not isinstance(bound.figure.value, int):
        return parts, bound.figure
    kept = tuple(each for each in parts.lost if each not in bound.dropped)
    bounded = replace(parts, lost=kept, queue=_queue_of(bound.figure.unit, bound.figure.value))
    match = nearest_run(what, (bounded, parts), scenario_of)
    if match.off > _NEAR and what.is_near_client:
        reason = "packets were lost, but no run tells when, and so not what waited then: without bound"
        return parts, assumed(bound.figure.name, None, unit="B", reason=reason)
    return match.best, bound.figure


def _queue_of(unit: str, limit: int) -> Queue:
    return PacketQueue(limit=limit) if unit == "packets" else ByteQueue(limit=limit)


def _with_phase(parts: _Parts, found: _Found) -> _Parts:
    """With the phase of the client's heartbeat by runs, where its ACKs do not show what explains the capture."""
    period = heartbeat_period(found.choice.client)
    if period is None or found.off <= _NEAR:
        return parts

    def at_phase(phase: int) -> _Parts:
        return replace(parts, phase=phase_of_runs(phase, 0.0, parts.seen))

    def scenario_of(phase: int) -> Scenario:
        return at_phase(phase).scenario(found.choice, writes=found.writes)

    def nexts(phase: int, run: Timeline) -> Iterator[int]:
        # What a heartbeat let go on is off by as much as the heartbeat is.
        return ((phase + late) % period for _, late in partings(parts.seen, run, by=0)[:_PARTED_FIRST])

    coarse = nearest_run(parts.seen, range(0, period, period // _PHASES), scenario_of)
    best = stepwise(parts.seen, coarse.best, nexts, scenario_of, most=_PHASE_STEPS)
    match = nearest_run(parts.seen, (best,), scenario_of)
    return replace(parts, phase=phase_of_runs(best, match.confidence, parts.seen))


# What one of them tells, another may need; the server's times last, for they can be made to fit anything.
_REFINED: Final = (
    _with_bound,
    _without_quick_acks,
    _with_clock,
    _with_late_losses,
    _with_times,
    _with_phase,
    _with_late_losses,
    _with_clock,
    _with_times,
)


def _choices(parts: _Parts) -> list[_Choice]:
    """The strategies and presets that what was seen leaves."""
    rows = strategies_with(signs(parts.seen)) or [_as_observed(parts.seen)]
    if parts.most_at_once is not None:
        rows = [_bounded(row, parts.most_at_once) for row in rows]
    clients = nearest(parts.of_client, None, held_acks(parts.seen, parts.reactions()))
    return [
        # Two hosts that look alike are taken to be.
        _Choice(strategy=row, server=server, client=server if server in clients else clients[0])
        for row in rows
        for server in nearest(parts.of_server, parts.window)
    ]


def _bounded(row: Strategy, most: int) -> Strategy:
    """The row with at most so many connections."""
    if row.connections is not None and row.connections <= most:
        return row
    return row.but(f"{row.name}, at most {most}", row.about, connections=most)


def _choice_figures(parts: _Parts, match: Match[_Choice]) -> list[Figure]:
    best = match.best

    def others(of: str) -> tuple[str, ...]:
        names = dict.fromkeys(getattr(choice, of).name for choice in match.alike)
        return tuple(name for name in names if name != getattr(best, of).name)

    strategy = seen(
        "browser.strategy",
        best.strategy.name,
        confidence=max(1 - 5 * match.off, 0.1) / (1 + len(others("strategy"))),
        frames=[exchange.request_frame for exchange in parts.seen.exchanges],
        how=f"of {match.candidates} runs the nearest: packets {100 * match.off:.3f} % of the page time off",
        alternatives=others("strategy"),
    )
    return [
        strategy,
        stack_figure("server", best.server.name, others("server"), parts.of_server),
        stack_figure("client", best.client.name, others("client"), parts.of_client),
    ]


def _with_knobs(parts: _Parts, found: _Found) -> tuple[Stack, list[Figure]]:
    """The server's stack with those knobs that runs tell."""
    server = found.choice.server
    figures = []
    for name in KNOBS:

        def scenario_of(stack: Stack, value: Nagle | IdleRestart, name: str = name) -> Scenario:
            choice = replace(found.choice, server=stack)
            return parts.scenario(choice, writes=found.writes, **{name: value})

        figure = knob(parts.seen, name, (found.choice.server, *found.servers), scenario_of)
        figures.append(figure)
        server = replace(server, **{name: type(getattr(server, name))(figure.value)})
    return server, figures


def _window_of(window: Figure, server: Stack) -> Figure:
    """The figure of the first window; the preset's, where none was seen."""
    if window.value is not None:
        return window
    return replace(window, value=first_window(server), reason=f"{window.reason}; as {server.name} has it")


def _as_observed(what: Observed) -> Strategy:
    """A strategy of the choices that were seen, where no row of the table has them."""
    shown = signs(what)
    return Strategy(
        name="inferred",
        about="as captured",
        version=HttpVersion(shown.version),
        connections=shown.at_once,
        persistent=shown.is_reused or shown.may_persist,
        pipelining=_ALL_AT_ONCE if shown.is_pipelined else 1,
    )

"""From an analysis to a scenario that runs: each quantity by its own estimator, then put together.

A session is one browser's visits, with the pauses between them as they were captured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from reference_sim.plan import HttpVersion
from reference_sim.scenario import Record, Writes
from reference_sim.stack import Nagle
from reference_sim.strategy import Strategy
from reference_sim.topology import ByteQueue, Unlimited
from reference_sim.workloads import retrieval as retrieval_scenario
from tcptrace_http.inference.ack_delay import ack_delay, heartbeat_period, held_acks, phase_of_runs, with_delays
from tcptrace_http.inference.client_clock import reactions
from tcptrace_http.inference.figure import seen
from tcptrace_http.inference.initial_window import initial_window
from tcptrace_http.inference.knobs import KNOBS, knob
from tcptrace_http.inference.loss import loss_rate
from tcptrace_http.inference.network import network_of
from tcptrace_http.inference.observed import observed
from tcptrace_http.inference.page import pages_of
from tcptrace_http.inference.parse import parse_time
from tcptrace_http.inference.processing import processing_times
from tcptrace_http.inference.queue import queue_bound
from tcptrace_http.inference.rate import bottleneck_rate
from tcptrace_http.inference.requests import Split, split_figure, splits, with_nagle, with_splits
from tcptrace_http.inference.round_trip import propagation, round_trip, round_trip_spread
from tcptrace_http.inference.stacks import first_window, nearest, options, stack_figure, with_options
from tcptrace_http.inference.strategy import signs, strategies_with
from tcptrace_http.inference.synthesis import nearest_run
from tcptrace_http.inference.writes import ways_of_writing, writes_figure

if TYPE_CHECKING:
    from reference_sim.page import Page
    from reference_sim.plan import Visit
    from reference_sim.scenario import Scenario
    from reference_sim.stack import IdleRestart, Stack
    from reference_sim.topology import Network
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.stacks import Options
    from tcptrace_http.inference.synthesis import Match

__all__ = ["Inference", "infer"]

# More than any page has objects: as the simulator's table has it.
_ALL_AT_ONCE: Final = 100
# A run whose packets are no further off on average, as a part of the page time, explains the capture.
_NEAR: Final = 0.01
# So many phases of a heartbeat are tried: each is off by 5 ms at most, where the period is 200 ms.
_PHASES: Final = 20


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
class _Parts:
    """What was measured, before any run."""

    seen: Observed
    pages: tuple[Page, ...]
    network: Network
    rate: int | None
    propagation: int
    window: Figure
    of_server: Options
    of_client: Options
    splits: dict[tuple[int, int], Split]
    #: The phase of the client's heartbeat, where runs told it.
    phase: Figure | None = None

    def reactions(self) -> dict[int, int]:
        return reactions(self.seen, self.rate, self.propagation)

    def stacks(self, choice: _Choice) -> tuple[Stack, Stack, list[Figure]]:
        """Server's and client's stack with what their segments say, and the figures of that."""
        server, of_server = with_options(choice.server, self.of_server, self.window, "server")
        client, of_client = with_options(choice.client, self.of_client, None, "client")
        client, of_delays = with_delays(client, self.seen, self.reactions(), told=self.phase)
        client, nagle = with_nagle(client, self.splits)
        return server, client, [*of_server, *of_client, *of_delays, nagle]

    def parse(self, strategy: Strategy) -> Figure:
        plans = [strategy.visits(page)[0].plan for page in self.pages]
        return parse_time(self.seen, self.pages, plans, self.rate, self.propagation)

    def visits(self, strategy: Strategy) -> tuple[Visit, ...]:
        """The pages by this strategy, with the pauses that were between them."""
        made: list[Visit] = []
        last = 0
        for page, visited, is_kept in zip(self.pages, self.seen.visits, self._kept(), strict=True):
            visit = strategy.visits(page)[0]
            plan = with_splits(replace(visit.plan, keeps_connections=is_kept), len(made), self.splits)
            made.append(replace(visit, plan=plan, think=max(visited.start - last, 0) if made else None))
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
        made = retrieval_scenario(
            strategy=choice.strategy,
            page=self.pages[0],
            network=self.network,
            client_stack=client_stack,
            server_stack=server_stack,
            parse=parse if isinstance(parse, int) else 0,
            at="client" if self.seen.is_near_client else "server",
            record=Record(),
        )
        heads = min(exchange.head_bytes for exchange in self.seen.exchanges)
        requests = min(exchange.request_bytes for exchange in self.seen.exchanges)
        (server,) = made.servers
        server = replace(
            server,
            product=self.seen.server_software or server.product,
            min_head_bytes=heads,
            writes=server.writes if writes is None else writes,
        )
        return replace(
            made,
            servers=(server,),
            browsers=tuple(
                replace(browser, visits=self.visits(choice.strategy), min_request_bytes=requests)
                for browser in made.browsers
            ),
        )


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
    queue, loss = queue_bound(what, bits), loss_rate(what)
    times = processing_times(what, bits, delay)
    parts = _Parts(
        seen=what,
        pages=pages_of(what, times),
        network=network_of(
            rate=bits,
            propagation=delay,
            # What a full queue drops is not lost by chance as well.
            loss=loss.value if isinstance(loss.value, float) and queue.value is None else 0.0,
            queue=ByteQueue(limit=queue.value) if isinstance(queue.value, int) else Unlimited(),
        ),
        rate=bits,
        propagation=delay,
        window=initial_window(what, bits),
        of_server=options(what, of_client=False),
        of_client=options(what, of_client=True),
        splits=splits(what),
    )
    choice, writes, chosen = _chosen(parts)
    parts = _with_phase(parts, choice, writes)
    *_, of_ends = parts.stacks(choice)
    server, knobs = _with_knobs(parts, choice, writes)
    figures = (
        *(round_trip(what), way, round_trip_spread(what), rate, queue, loss),
        *(*chosen, _window_of(parts.window, server), *knobs, *of_ends),
        ack_delay(what, parts.reactions()),
        *(parts.parse(choice.strategy), split_figure(what, parts.splits), *times),
    )
    changed = {
        name: getattr(server, name) for name in KNOBS if getattr(server, name) != getattr(choice.server, name)
    }
    return Inference(scenario=parts.scenario(choice, writes=writes, **changed), figures=figures)


def _chosen(parts: _Parts) -> tuple[_Choice, Writes, list[Figure]]:
    """Strategy, presets and way of writing whose run is nearest to the capture."""
    ways = ways_of_writing(parts.seen)
    match = nearest_run(parts.seen, _choices(parts), parts.scenario)
    held: dict[str, Any] = {}
    if match.off > _NEAR:
        # What another way of writing explains, or data that nothing holds, another strategy or stack need not.
        knobs: tuple[dict[str, Any], ...] = ({}, {"nagle": Nagle.OFF}, {"nagle": Nagle.STRICT})
        each = [
            (held, nearest_run(parts.seen, _choices(parts), partial(parts.scenario, writes=way, **held)))
            for way in ways
            for held in knobs
        ]
        held, match = min(each, key=lambda pair: pair[1].off)
    best = replace(match.best, server=replace(match.best.server, **held))
    written = nearest_run(parts.seen, ways, lambda way: parts.scenario(best, writes=way))
    return best, written.best, [*_choice_figures(parts, match), writes_figure(parts.seen, written)]


def _with_phase(parts: _Parts, choice: _Choice, writes: Writes) -> _Parts:
    """With the phase of the client's heartbeat by runs, where its ACKs do not show what explains the capture."""

    def at_phase(phase: int) -> _Parts:
        return replace(parts, phase=phase_of_runs(phase, 0.0, parts.seen))

    period = heartbeat_period(choice.client)
    own = nearest_run(parts.seen, [parts], lambda each: each.scenario(choice, writes=writes))
    if period is None or own.off <= _NEAR:
        return parts
    step = period // _PHASES
    match = nearest_run(
        parts.seen, range(0, period, step), lambda phase: at_phase(phase).scenario(choice, writes=writes)
    )
    if match.off >= own.off:
        return parts
    return replace(parts, phase=phase_of_runs(match.best, match.confidence, parts.seen))


def _choices(parts: _Parts) -> list[_Choice]:
    """The strategies and presets that what was seen leaves."""
    rows = strategies_with(signs(parts.seen)) or [_as_observed(parts.seen)]
    clients = nearest(parts.of_client, None, held_acks(parts.seen, parts.reactions()))
    return [
        # Two hosts that look alike are taken to be.
        _Choice(strategy=row, server=server, client=server if server in clients else clients[0])
        for row in rows
        for server in nearest(parts.of_server, parts.window)
    ]


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


def _with_knobs(parts: _Parts, choice: _Choice, writes: Writes) -> tuple[Stack, list[Figure]]:
    """The server's stack with those knobs that runs tell."""
    server = choice.server
    figures = []
    for name in KNOBS:
        figure = knob(parts.seen, name, server, partial(_with_knob, parts, choice, writes, name))
        figures.append(figure)
        if not figure.is_assumed:
            server = replace(server, **{name: type(getattr(server, name))(figure.value)})
    return server, figures


def _with_knob(parts: _Parts, choice: _Choice, writes: Writes, name: str, value: Nagle | IdleRestart) -> Scenario:
    return parts.scenario(choice, writes=writes, **{name: value})


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

"""From an analysis to a scenario that runs: each quantity by its own estimator, then put together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from reference_sim.plan import HttpVersion
from reference_sim.scenario import Record
from reference_sim.strategy import Strategy
from reference_sim.topology import ByteQueue, Unlimited
from reference_sim.workloads import retrieval as retrieval_scenario
from tcptrace_http.inference.ack_delay import ack_delay, with_phase
from tcptrace_http.inference.client_clock import reactions
from tcptrace_http.inference.figure import seen
from tcptrace_http.inference.initial_window import initial_window
from tcptrace_http.inference.knobs import KNOBS, knob
from tcptrace_http.inference.loss import loss_rate
from tcptrace_http.inference.network import network_of
from tcptrace_http.inference.observed import observed
from tcptrace_http.inference.page import page_of
from tcptrace_http.inference.parse import parse_time
from tcptrace_http.inference.processing import processing_times
from tcptrace_http.inference.queue import queue_bound
from tcptrace_http.inference.rate import bottleneck_rate
from tcptrace_http.inference.round_trip import propagation, round_trip, round_trip_spread
from tcptrace_http.inference.stacks import first_window, nearest, options, stack_figure, with_options
from tcptrace_http.inference.strategy import signs, strategies_with
from tcptrace_http.inference.synthesis import nearest_run
from tcptrace_http.inference.writes import write_pattern

if TYPE_CHECKING:
    from reference_sim.page import Page
    from reference_sim.scenario import Scenario, Writes
    from reference_sim.stack import IdleRestart, Nagle, Stack
    from reference_sim.topology import Network
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.stacks import Options

__all__ = ["Inference", "infer"]

# More than any page has objects: as the simulator's table has it.
_ALL_AT_ONCE: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """A scenario that retells a captured retrieval, and where each figure of it is from."""

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
    page: Page
    network: Network
    rate: int | None
    propagation: int
    window: Figure
    of_server: Options
    of_client: Options

    def reactions(self) -> dict[int, int]:
        return reactions(self.seen, self.rate, self.propagation)

    def stacks(self, choice: _Choice) -> tuple[Stack, Stack, list[Figure]]:
        """Server's and client's stack with what their segments say, and the figures of that."""
        server, of_server = with_options(choice.server, self.of_server, self.window, "server")
        client, of_client = with_options(choice.client, self.of_client, None, "client")
        client, phase = with_phase(client, self.seen, self.reactions())
        return server, client, [*of_server, *of_client, phase]

    def parse(self, strategy: Strategy) -> Figure:
        plan = strategy.visits(self.page)[0].plan
        return parse_time(self.seen, self.page, plan, self.rate, self.propagation)

    def scenario(self, choice: _Choice, *, writes: Writes | None = None, **knobs: object) -> Scenario:
        """One retrieval by this choice; ``knobs`` are of the server's stack."""
        parse = self.parse(choice.strategy).value
        server_stack, client_stack, _ = self.stacks(choice)
        if knobs:
            server_stack = replace(server_stack, name=f"{server_stack.name}-changed", **knobs)  # type: ignore[arg-type]
        made = retrieval_scenario(
            strategy=choice.strategy,
            page=self.page,
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
            browsers=tuple(replace(browser, min_request_bytes=requests) for browser in made.browsers),
        )


def infer(analysis: Analysis, *, retrieval: int | None = None) -> Inference:
    """The scenario of one retrieval of a capture; by default of the one with most transactions.

    ``analysis`` should have the tables of :data:`~tcptrace_http.inference.observed.NEEDED_TABLES`, else
    the capture is read again for them.

    :raises ScenarioError: no retrieval was captured, or none of this number.
    """
    return _infer(observed(analysis, retrieval=retrieval))


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
        page=page_of(what, times),
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
    )
    choice, chosen = _chosen(parts)
    *_, of_ends = parts.stacks(choice)
    writes, written = write_pattern(what, lambda writes: parts.scenario(choice, writes=writes))
    server, knobs = _with_knobs(parts, choice, writes)
    figures = (
        *(round_trip(what), way, round_trip_spread(what), rate, queue, loss),
        *(*chosen, _window_of(parts.window, server), *knobs, *of_ends),
        *(written, ack_delay(what, parts.reactions())),
        *(parts.parse(choice.strategy), *times),
    )
    changed = {
        name: getattr(server, name) for name in KNOBS if getattr(server, name) != getattr(choice.server, name)
    }
    return Inference(scenario=parts.scenario(choice, writes=writes, **changed), figures=figures)


def _chosen(parts: _Parts) -> tuple[_Choice, list[Figure]]:
    """Strategy and presets whose run is nearest to the capture."""
    rows = strategies_with(signs(parts.seen)) or [_as_observed(parts.seen)]
    clients = nearest(parts.of_client, None)
    choices = [
        # Two hosts that look alike are taken to be.
        _Choice(strategy=row, server=server, client=server if server in clients else clients[0])
        for row in rows
        for server in nearest(parts.of_server, parts.window)
    ]
    match = nearest_run(parts.seen, choices, parts.scenario)
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
    return best, [
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
        connections=len(shown.requests),
        persistent=shown.is_reused or shown.may_persist,
        pipelining=_ALL_AT_ONCE if shown.is_pipelined else 1,
    )

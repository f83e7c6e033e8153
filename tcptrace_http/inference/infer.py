"""From an analysis to a scenario that runs: each quantity by its own estimator, then put together.

A session is one browser's visits, with the pauses between them as they were captured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.topology import PacketLoss, Unlimited
from tcptrace_http.inference.ack_delay import (
    ack_delay,
)
from tcptrace_http.inference.initial_window import initial_window
from tcptrace_http.inference.keep_alive import max_requests
from tcptrace_http.inference.knobs import KNOBS, knob
from tcptrace_http.inference.loss import chance_of_loss, loss_rate, losses
from tcptrace_http.inference.observed import observed
from tcptrace_http.inference.processing import processing_times
from tcptrace_http.inference.rate import bottleneck_rate
from tcptrace_http.inference.requests import split_figure, splits
from tcptrace_http.inference.round_trip import propagation, round_trip, round_trip_spread
from tcptrace_http.inference.stacks import first_window, least_first_window, options
from tcptrace_http.inference.strategy import signs, strategies_with
from tcptrace_http.inference.tls import tls_of

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario
    from reference_sim.stack import IdleRestart, Nagle, Stack
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.part import Part

from tcptrace_http.inference.choosing import NEAR, Found, chosen, otherwise
from tcptrace_http.inference.parts import Parts
from tcptrace_http.inference.queue_of_runs import with_queue
from tcptrace_http.inference.refining import EXACT, all_refined

__all__ = ["Inference", "infer"]

# A run that is no further off nearly does, on a busy machine.
_NEARLY: Final = 2 * NEAR


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """A scenario that retells a captured retrieval or session, and where each figure of it is from."""

    #: It loses the packets that the capture shows to be lost.
    scenario: Scenario
    figures: tuple[Figure, ...]
    #: Part of the server's packets with data that were lost otherwise than from a full queue.
    chance_of_loss: float
    #: How much of the retrieval or session it is of; None: all of it.
    part: Part | None = None

    @property
    def by_chance(self) -> Scenario:
        """The scenario with as many losses by chance: for other strategies, which send other packets."""
        network = self.scenario.network
        there, back = (link.title for link in network.links)
        loss = (PacketLoss(rate=self.chance_of_loss),) if self.chance_of_loss else ()
        return replace(self.scenario, network=network.with_link(there, loss=()).with_link(back, loss=loss))

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
    shown = losses(what, bits, delay)
    secured, of_tls = tls_of(what, bits, delay)
    parts = Parts(
        seen=what,
        tls=secured,
        times=processing_times(what, bits, delay),
        lost=shown,
        queue=Unlimited(),
        rate=bits,
        propagation=delay,
        window=initial_window(what),
        most_requests=max_requests(what),
        of_server=options(what, of_client=False),
        of_client=options(what, of_client=True),
        splits=splits(what),
    )
    parts, found = _nearest(parts)
    choice, writes, chosen = found.choice, found.writes, found.figures
    *_, of_ends = parts.stacks(choice)
    server, knobs = _with_knobs(parts, found)
    # A loss that shows only as a wait is told by the run that it explains the capture with, and by no other.
    of_runs = parts.lost
    lost = of_runs if found.off <= NEAR else shown
    parts, queue = with_queue(parts, choice, writes, server)
    figures = (
        *(round_trip(what), way, round_trip_spread(what), rate, queue, loss_rate(what, lost, of_runs=of_runs)),
        *(*chosen, _window_of(parts.window, server), *knobs, parts.most_requests, *of_ends),
        ack_delay(what),
        *of_tls,
        *(parts.parse(choice.strategy), split_figure(what, parts.splits), *parts.times),
    )
    changed = {
        name: getattr(server, name) for name in KNOBS if getattr(server, name) != getattr(choice.server, name)
    }
    return Inference(
        scenario=parts.scenario(choice, writes=writes, **changed),
        figures=figures,
        chance_of_loss=chance_of_loss(what, parts.lost),
        part=what.part,
    )


def _nearest(parts: Parts) -> tuple[Parts, Found]:
    """What the nearest run is of: with what servers usually do, or with another way of writing."""
    usual = chosen(parts, keeps_writes=True)
    if usual.off <= EXACT:
        return all_refined(parts, usual)
    parts, usual = _as_shared(parts, usual)
    other = otherwise(parts, usual)
    # What nearly explains it before anything is fitted is taken: times can be made to fit any other.
    if other.off <= min(_NEARLY, usual.off / 2) or other.off <= NEAR < usual.off:
        return all_refined(parts, other)
    if usual.off <= NEAR:
        return all_refined(parts, usual)
    # What is off may be losses and times that no packet shows: each is refined, and the nearer one taken.
    each = [all_refined(parts, found) for found in (usual, other)]
    return min(each, key=lambda pair: pair[1].off)


def _as_shared(parts: Parts, usual: Found) -> tuple[Parts, Found]:
    """With hosts that share what they know of the path, if a run of such hosts is much nearer to the capture."""
    shown = signs(parts.seen)
    if not strategies_with(shown, shares=True):
        return parts, usual
    shared = replace(
        parts,
        shares=True,
        window=initial_window(parts.seen, shares=True),
        times=processing_times(parts.seen, parts.rate, parts.propagation, shares=True),
    )
    found = chosen(shared, keeps_writes=True)
    # No other row has data on a SYN.
    return (shared, found) if shown.has_data_on_syn or found.off <= usual.off / 2 else (parts, usual)


def _with_knobs(parts: Parts, found: Found) -> tuple[Stack, list[Figure]]:
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
    least, usual = least_first_window(window, server), first_window(server)
    source = f"as {server.name} has it" if least == usual else f"{server.name} has {usual}"
    return replace(window, value=least, reason=f"{window.reason}; {source}")

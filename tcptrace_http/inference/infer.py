"""Inference of a runnable scenario from an analysis: one estimator per quantity, then a combination.

A session is the sequence of one browser's visits, with the captured pauses.
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
from tcptrace_http.inference.observe import observe
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
    from tcptrace_http.inference.observed import Observed, Part

from tcptrace_http.inference.choosing import NEAR, Found, chosen, otherwise
from tcptrace_http.inference.parts import Parts
from tcptrace_http.inference.queue_of_runs import with_queue
from tcptrace_http.inference.refining import EXACT, all_refined

__all__ = ["Inference", "infer"]

# Maximum distance of a nearly matching run, as on a busy machine.
_NEARLY: Final = 2 * NEAR


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """Scenario that reproduces a captured retrieval or session, with the evidence of each figure."""

    #: The scenario loses the same packets as the capture.
    scenario: Scenario
    figures: tuple[Figure, ...]
    #: Share of the server's data packets lost other than by a full queue.
    chance_of_loss: float
    #: Modelled part of the retrieval or session; None for all of it.
    part: Part | None = None

    @property
    def by_chance(self) -> Scenario:
        """Return the scenario with the same rate of random losses, for strategies that send other packets."""
        network = self.scenario.network
        there, back = (link.title for link in network.links)
        loss = (PacketLoss(rate=self.chance_of_loss),) if self.chance_of_loss else ()
        return replace(self.scenario, network=network.with_link(there, loss=()).with_link(back, loss=loss))

    def figure(self, name: str) -> Figure:
        """Return the figure with this name.

        :raises KeyError: no figure has this name.
        """
        found = next((figure for figure in self.figures if figure.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    @property
    def assumptions(self) -> tuple[Figure, ...]:
        """Return the figures that the capture does not show."""
        return tuple(figure for figure in self.figures if figure.is_assumed)


def infer(analysis: Analysis, *, retrieval: int | None = None, session: bool = False) -> Inference:
    """Return the scenario of one retrieval of a capture, by default of the one with most transactions.

    With ``session``, the scenario covers all visits of its client to its server. ``analysis`` should have the
    tables of :data:`~tcptrace_http.inference.observe.NEEDED_TABLES`; otherwise the capture is read again.

    :raises ScenarioError: the capture has no retrieval, or none with this number.
    """
    return _infer(observe(analysis, retrieval=retrieval, session=session))


def _infer(what: Observed) -> Inference:
    rate = bottleneck_rate(what)
    bits = rate.value if isinstance(rate.value, int) and rate.value > 0 else None
    way = propagation(what, bits)
    if rate.is_assumed and bits is not None:
        way = replace(way, is_assumed=True, low=0, reason="the serialization time is unknown without path.rate")
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
    # A loss that shows only as a wait counts only if its run explains the capture.
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
    """Return the parts and the result of the nearest run, with the usual or another way of writing."""
    usual = chosen(parts, keeps_writes=True)
    if usual.off <= EXACT:
        return all_refined(parts, usual)
    parts, usual = _as_shared(parts, usual)
    other = otherwise(parts, usual)
    # A choice that nearly matches before any fit is taken: fitted times can match any other choice.
    if other.off <= min(_NEARLY, usual.off / 2) or other.off <= NEAR < usual.off:
        return all_refined(parts, other)
    if usual.off <= NEAR:
        return all_refined(parts, usual)
    # Invisible losses and times may cause the distance. Each choice is refined, and the nearer one taken.
    each = [all_refined(parts, found) for found in (usual, other)]
    return min(each, key=lambda pair: pair[1].off)


def _as_shared(parts: Parts, usual: Found) -> tuple[Parts, Found]:
    """Return the parts with hosts that share path state, if such a run is much nearer to the capture."""
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
    """Return the server's stack with the knobs that runs determine."""
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
    """Return the figure of the initial window, or the preset's if none was observed."""
    if window.value is not None:
        return window
    least, usual = least_first_window(window, server), first_window(server)
    source = f"the value of {server.name}" if least == usual else f"{server.name} has {usual}"
    return replace(window, value=least, reason=f"{window.reason}; {source}")

"""Refinements by runs: losses, times, clocks, phases and bounds that no packet shows and no choice explains.

Each refinement changes the parts. The change is kept if its run is nearer to the capture.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.ack_delay import (
    heartbeat_period,
    held_acks,
    phase_of_runs,
)
from tcptrace_http.inference.processing import with_times_of_runs
from tcptrace_http.inference.replay import with_late_losses
from tcptrace_http.inference.server_clock import clock_offsets
from tcptrace_http.inference.steps import partings, stepwise
from tcptrace_http.inference.strategy import signs
from tcptrace_http.inference.synthesis import is_alike, nearest_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.loss import Lost
    from tcptrace_http.inference.parts import Parts
    from tcptrace_http.inference.timeline import Timeline

from tcptrace_http.inference.choosing import NEAR, Found, chosen

__all__ = ["EXACT", "all_refined"]

#: Maximum distance of a run that equals the capture except for rounding.
EXACT: Final = 2e-4
# Number of tried heartbeat phases: each is within 5 ms for a period of 200 ms.
_PHASES: Final = 20
# Number of first divergences tried, and number of moves, for the phase.
_PARTED_FIRST: Final = 4
_PHASE_STEPS: Final = 4


def all_refined(parts: Parts, found: Found) -> tuple[Parts, Found]:
    """Return the parts after all refinements, in order."""
    for refine in _REFINED:
        parts, found = _refined(parts, found, refine)
    parts, found = _unbound(parts, found)
    return parts, chosen(parts, writes=found.writes, held=found.held) if found.keeps_writes else found


def _refined(parts: Parts, found: Found, refine: Callable[[Parts, Found], Parts]) -> tuple[Parts, Found]:
    """Return the refined parts if the run deviates and the refined run is nearer."""
    if found.off <= EXACT:
        return parts, found
    refined = refine(parts, found)
    if refined == parts:
        return parts, found
    better = chosen(refined, writes=found.writes, held=found.held, keeps_writes=found.keeps_writes)
    return (refined, better) if better.off < found.off else (parts, found)


def _with_bound(parts: Parts, found: Found) -> Parts:
    """Return the parts limited to the observed parallel connections, if the nearest strategy may open more."""
    shown = signs(parts.seen)
    may_open = found.choice.strategy.connections
    is_bound = shown.at_once > 1 and (may_open is None or may_open > shown.at_once)
    return replace(parts, most_at_once=shown.at_once) if is_bound and found.off > NEAR else parts


def _unbound(parts: Parts, found: Found) -> tuple[Parts, Found]:
    """Return the parts without the connection limit, if the later result explains the capture as well."""
    if parts.most_at_once is None:
        return parts, found
    free = replace(parts, most_at_once=None)
    again = chosen(free, writes=found.writes, held=found.held, keeps_writes=found.keeps_writes)
    return (free, again) if is_alike(again.off, found.off) else (parts, found)


def _without_quick_acks(parts: Parts, found: Found) -> Parts:
    """Return the parts with a client that delays every ACK that it may delay, if its stack sends
    immediate ACKs.
    """
    is_possible = found.choice.client.acks.quick_acks is not None and held_acks(parts.seen, parts.reactions())
    return replace(parts, has_quick_acks=False) if is_possible and found.off > NEAR else parts


def _with_late_losses(parts: Parts, found: Found) -> Parts:
    """Return the parts with the losses that only runs reveal."""

    def scenario_of(lost: tuple[Lost, ...]) -> Scenario:
        return replace(parts, lost=lost).scenario(found.choice, writes=found.writes)

    return replace(parts, lost=with_late_losses(parts.seen, parts.lost, scenario_of))


def _with_times(parts: Parts, found: Found) -> Parts:
    """Return the parts with the server times that only runs reveal."""

    def scenario_of(times: tuple[Figure, ...]) -> Scenario:
        return replace(parts, times=times).scenario(found.choice, writes=found.writes)

    return replace(parts, times=with_times_of_runs(parts.seen, parts.times, scenario_of))


def _with_clock(parts: Parts, found: Found) -> Parts:
    """Return the parts with the phase of the server's clock, if timeouts show it."""
    offsets = clock_offsets(parts.seen, found.choice.server, parts.rate, parts.propagation)
    return _nearer(parts, [replace(parts, clock=offset) for offset in offsets], found)


def _nearer(parts: Parts, others: list[Parts], found: Found) -> Parts:
    """Return the parts with the nearest run."""
    match = nearest_run(
        parts.seen, (parts, *others), lambda each: each.scenario(found.choice, writes=found.writes)
    )
    return match.best


def _with_phase(parts: Parts, found: Found) -> Parts:
    """Return the parts with the heartbeat phase from runs, if the ACKs do not show it."""
    period = heartbeat_period(found.choice.client)
    if period is None or found.off <= NEAR:
        return parts

    def at_phase(phase: int) -> Parts:
        return replace(parts, phase=phase_of_runs(phase, 0.0, parts.seen))

    def scenario_of(phase: int) -> Scenario:
        return at_phase(phase).scenario(found.choice, writes=found.writes)

    def nexts(phase: int, run: Timeline) -> Iterator[int]:
        # Data released by a heartbeat deviates by as much as the heartbeat.
        return ((phase + late) % period for _, late in partings(parts.seen, run, by=0)[:_PARTED_FIRST])

    coarse = nearest_run(parts.seen, range(0, period, period // _PHASES), scenario_of)
    best = stepwise(parts.seen, coarse.best, nexts, scenario_of, most=_PHASE_STEPS)
    match = nearest_run(parts.seen, (best,), scenario_of)
    return replace(parts, phase=phase_of_runs(best, match.confidence, parts.seen))


# One refinement may need the result of another. Server times come last, because they can fit anything.
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

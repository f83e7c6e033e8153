"""What no packet tells and no choice explains, found by runs: losses, times, clocks, phases, bounds.

Each refinement changes the parts; it is kept if a run with it is nearer to the capture.
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

#: A run that is no further off is the capture, but for rounding: there is nothing to refine.
EXACT: Final = 2e-4
# So many phases of a heartbeat are tried: each is off by 5 ms at most, where the period is 200 ms.
_PHASES: Final = 20
# Then it is moved by what run and capture part by first: so many packets are tried, so many times.
_PARTED_FIRST: Final = 4
_PHASE_STEPS: Final = 4


def all_refined(parts: Parts, found: Found) -> tuple[Parts, Found]:
    """All refinements, one after the other."""
    for refine in _REFINED:
        parts, found = _refined(parts, found, refine)
    parts, found = _unbound(parts, found)
    return parts, chosen(parts, writes=found.writes, held=found.held) if found.keeps_writes else found


def _refined(parts: Parts, found: Found, refine: Callable[[Parts, Found], Parts]) -> tuple[Parts, Found]:
    """What is found with parts that are refined, if a run is off and the refined one is nearer."""
    if found.off <= EXACT:
        return parts, found
    refined = refine(parts, found)
    if refined == parts:
        return parts, found
    better = chosen(refined, writes=found.writes, held=found.held, keeps_writes=found.keeps_writes)
    return (refined, better) if better.off < found.off else (parts, found)


def _with_bound(parts: Parts, found: Found) -> Parts:
    """With as many connections as were open at once, if the nearest strategy may open more."""
    shown = signs(parts.seen)
    may_open = found.choice.strategy.connections
    is_bound = shown.at_once > 1 and (may_open is None or may_open > shown.at_once)
    return replace(parts, most_at_once=shown.at_once) if is_bound and found.off > NEAR else parts


def _unbound(parts: Parts, found: Found) -> tuple[Parts, Found]:
    """Without the bound on connections, if what was found after it explains the capture as well."""
    if parts.most_at_once is None:
        return parts, found
    free = replace(parts, most_at_once=None)
    again = chosen(free, writes=found.writes, held=found.held, keeps_writes=found.keeps_writes)
    return (free, again) if is_alike(again.off, found.off) else (parts, found)


def _without_quick_acks(parts: Parts, found: Found) -> Parts:
    """With a client that delays each ACK that may be delayed, if its stack acknowledges some at once."""
    is_possible = found.choice.client.acks.quick_acks is not None and held_acks(parts.seen, parts.reactions())
    return replace(parts, has_quick_acks=False) if is_possible and found.off > NEAR else parts


def _with_late_losses(parts: Parts, found: Found) -> Parts:
    """With the losses that only runs tell."""

    def scenario_of(lost: tuple[Lost, ...]) -> Scenario:
        return replace(parts, lost=lost).scenario(found.choice, writes=found.writes)

    return replace(parts, lost=with_late_losses(parts.seen, parts.lost, scenario_of))


def _with_times(parts: Parts, found: Found) -> Parts:
    """With those of the server's times that only runs tell."""

    def scenario_of(times: tuple[Figure, ...]) -> Scenario:
        return replace(parts, times=times).scenario(found.choice, writes=found.writes)

    return replace(parts, times=with_times_of_runs(parts.seen, parts.times, scenario_of))


def _with_clock(parts: Parts, found: Found) -> Parts:
    """With the ticks of the server's clock where timeouts show them."""
    offsets = clock_offsets(parts.seen, found.choice.server, parts.rate, parts.propagation)
    return _nearer(parts, [replace(parts, clock=offset) for offset in offsets], found)


def _nearer(parts: Parts, others: list[Parts], found: Found) -> Parts:
    """Those of the parts whose run is nearest."""
    match = nearest_run(
        parts.seen, (parts, *others), lambda each: each.scenario(found.choice, writes=found.writes)
    )
    return match.best


def _with_phase(parts: Parts, found: Found) -> Parts:
    """With the phase of the client's heartbeat by runs, where its ACKs do not show what explains the capture."""
    period = heartbeat_period(found.choice.client)
    if period is None or found.off <= NEAR:
        return parts

    def at_phase(phase: int) -> Parts:
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

"""Stepwise approach to a capture: the first divergence of run and capture suggests the next change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from tcptrace_http.inference.timeline import distance_of, timeline_of_capture, timeline_of_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.packets import Packet
    from tcptrace_http.inference.timeline import Timeline

__all__ = ["NEAR", "Parting", "partings", "stepwise"]

#: Maximum mean distance, as a share of the page time, of a run that needs no more steps.
NEAR: Final = 2e-4
# Maximum ratio of the new distance to the old one for a step.
_BETTER: Final = 0.9
# Maximum ratio by which a repair of the first divergence may worsen the rest.
_ABOUT: Final = 1.2
# Maximum rounding difference between matching times of run and capture, in nanoseconds.
_PARTED: Final = 50_000
_T = TypeVar("_T")


class Parting(NamedTuple):
    """First packet of a flow and direction with different times in run and capture."""

    packet: Packet
    #: Nanoseconds by which the capture is later.
    late: int


def stepwise(
    observed: Observed,
    begin: _T,
    nexts: Callable[[_T, Timeline], Iterable[_T]],
    scenario_of: Callable[[_T], Scenario],
    *,
    most: int,
) -> _T:
    """Return the nearest state, reached by steps that each run suggests and that reduce the distance."""
    run = timeline_of_run(scenario_of(begin))
    state, off = begin, distance_of(observed, run)
    best, least = state, off
    for _ in range(most):
        if off <= NEAR:
            break
        tried = []
        for candidate in nexts(state, run):
            other = timeline_of_run(scenario_of(candidate))
            tried.append((distance_of(observed, other), candidate, other))
        nearest = min(tried, key=lambda each: each[0], default=None)
        if nearest is None or not _is_better(observed, (nearest[0], nearest[2]), (off, run)):
            break
        off, state, run = nearest
        if off < least:
            best, least = state, off
    return best


def _is_better(observed: Observed, one: tuple[float, Timeline], other: tuple[float, Timeline]) -> bool:
    """Return whether a run is nearer than another, or about as near and matching for longer."""
    (off, run), (other_off, other_run) = one, other
    if off <= other_off * _BETTER:
        return True
    return off < other_off * _ABOUT and _matches_until(observed, run) > _matches_until(observed, other_run)


def _matches_until(observed: Observed, run: Timeline) -> int:
    """Return the time until which the run matches the capture."""
    parted = partings(observed, run, by=_PARTED)
    return parted[0].packet.time - max(parted[0].late, 0) if parted else observed.packets[-1].time


def partings(observed: Observed, run: Timeline, *, by: int) -> list[Parting]:
    """Return the places where run and capture diverge by more than ``by`` nanoseconds, earliest first."""
    return sorted(_partings(observed, run, by), key=lambda each: each.packet.time - max(each.late, 0))


def _partings(observed: Observed, run: Timeline, by: int) -> Iterator[Parting]:
    flows = (packets for _, packets in sorted(observed.by_flow.items()))
    with_data = ([packet for packet in packets if packet.payload] for packets in flows)
    captured = timeline_of_capture(observed)
    for packets, times, made in zip(filter(None, with_data), captured, run, strict=False):
        for to_client in (True, False):
            seen = [pair for pair in zip(packets, times, strict=True) if pair[0].to_client is to_client]
            pairs = [pair for pair in made if pair[2] is to_client]
            for (packet, (when, _, _)), (time, _, _) in zip(seen, pairs, strict=False):
                if abs(when - time) > by:
                    yield Parting(packet, when - time)
                    break

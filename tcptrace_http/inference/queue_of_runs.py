"""Queue bound in place of the dropped packets: from queue lengths, or from runs with each bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.topology import ByteQueue, PacketQueue, Unlimited
from tcptrace_http.inference.figure import assumed, seen
from tcptrace_http.inference.knobs import KNOBS
from tcptrace_http.inference.queue import (
    FEW_DROPS,
    LEAST_QUEUE,
    longest_queue,
    offered_of_capture,
    offered_of_run,
    queue_bound,
)
from tcptrace_http.inference.synthesis import nearest_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_sim.scenario import Scenario, Writes
    from reference_sim.stack import Stack
    from reference_sim.topology import Queue
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.parts import Choice, Parts


__all__ = ["with_queue"]

# Maximum tried bound in packets, and maximum distance of a run that confirms a bound.
_LONGEST: Final = 64
_TOLD_BY_RUNS: Final = 2e-3


def with_queue(parts: Parts, choice: Choice, writes: Writes, server: Stack) -> tuple[Parts, Figure]:
    """Return the parts with the queue's bound in place of its drops, if a run with the bound matches the
    capture.
    """
    what = parts.seen
    knobs = {name: getattr(server, name) for name in KNOBS}

    def scenario_of(each: Parts) -> Scenario:
        return each.scenario(choice, writes=writes, **knobs)

    if what.is_near_client:
        return _with_queue_of_runs(parts, scenario_of)
    bound = queue_bound(offered_of_capture(what, parts.lost), parts.rate)
    if not isinstance(bound.figure.value, int):
        return parts, bound.figure
    kept = tuple(each for each in parts.lost if each not in bound.dropped)
    bounded = replace(parts, lost=kept, queue=_queue_of(bound.figure.unit, bound.figure.value))
    return nearest_run(what, (bounded, parts), scenario_of).best, bound.figure


def _with_queue_of_runs(parts: Parts, scenario_of: Callable[[Parts], Scenario]) -> tuple[Parts, Figure]:
    """Return the parts with the bound whose run drops the lost packets: behind a queue its length is invisible."""
    what = parts.seen
    offered = offered_of_run(scenario_of(parts), parts.lost, sorted(what.by_flow))
    bound = queue_bound(offered, parts.rate)
    longest = longest_queue(offered, parts.rate)
    if sum(each.to_client for each in parts.lost) < FEW_DROPS or longest < LEAST_QUEUE:
        return parts, replace(bound.figure, value=None, is_assumed=True) if bound.dropped else bound.figure
    sizes = range(LEAST_QUEUE, min(longest, _LONGEST) + 1)
    queues = [_queue_of(unit, size * scale) for size in sizes for unit, scale in (("B", 1500), ("packets", 1))]
    by_chance = tuple(each for each in parts.lost if each not in bound.dropped)
    lost = dict.fromkeys((parts.lost_to_server, by_chance if bound.dropped else parts.lost_to_server))
    bounded = [replace(parts, lost=kept, queue=queue) for queue in queues for kept in lost]
    match = nearest_run(what, (parts, *bounded), scenario_of)
    if match.best is parts or match.off > _TOLD_BY_RUNS:
        reason = "no run with a bound drops the lost packets: without bound"
        return parts, assumed(bound.figure.name, None, low=0, unit="B", reason=reason)
    queue = match.best.queue
    unit = "packets" if isinstance(queue, PacketQueue) else "B"
    figure = seen(
        bound.figure.name,
        0 if isinstance(queue, Unlimited) else int(queue.limit),
        unit=unit,
        confidence=match.confidence,
        frames=[each.frame for each in parts.lost],
        how=f"of {match.candidates} bounds that were run, the one that drops the lost packets: "
        f"{100 * match.off:.3f} % of the page time off",
    )
    return match.best, figure


def _queue_of(unit: str, limit: int) -> Queue:
    return PacketQueue(limit=limit) if unit == "packets" else ByteQueue(limit=limit)

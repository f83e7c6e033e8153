"""Losses that show only as waits are found by runs: one after the other is tried where run and capture part.

A packet that was lost at the end of what was sent leaves no hole: behind the place of loss it comes late, by
the sender's timeout. Where the run that retells the capture has such a packet much earlier, it is taken to be
lost there, too, if the run is nearer then. And a loss that the run has too much, which makes it late, is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.loss import Lost
from tcptrace_http.inference.timeline import distance, timeline_of_capture, timeline_of_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.timeline import Timeline

__all__ = ["with_late_losses"]

# A run that is no further off on average, as a part of the page time, needs no more losses.
_NEAR: Final = 2e-4
# No stack's timer for lost data is shorter (RFC 8985, section 7.2: a probe waits 10 ms beyond two round trips).
_LATE: Final = 20_000_000
# A loss must make the run nearer by this part to be taken for one.
_BETTER: Final = 0.9
# So many losses are looked for; each is a run or two.
_MOST: Final = 24
# Of what parts first, so many packets are tried each time.
_FIRST: Final = 2


def with_late_losses(
    observed: Observed, lost: tuple[Lost, ...], scenario_of: Callable[[tuple[Lost, ...]], Scenario]
) -> tuple[Lost, ...]:
    """The losses, with those that make the run nearer to the capture."""
    captured = timeline_of_capture(observed)
    elapsed = observed.elapsed // len(observed.visits)
    run = timeline_of_run(scenario_of(lost))
    off = distance(captured, run, elapsed)
    for _ in range(_MOST):
        if off <= _NEAR:
            break
        tried = []
        for candidate in _candidates(observed, captured, run, lost):
            other = timeline_of_run(scenario_of(candidate))
            tried.append((distance(captured, other, elapsed), candidate, other))
        nearest = min(tried, key=lambda each: each[0], default=None)
        if nearest is None or nearest[0] > off * _BETTER:
            break
        off, lost, run = nearest
    return lost


def _candidates(
    observed: Observed, captured: Timeline, run: Timeline, lost: tuple[Lost, ...]
) -> list[tuple[Lost, ...]]:
    """The losses with one more where the capture first is late, or without one where the run first is."""
    late: list[tuple[int, Lost]] = []
    early: list[tuple[int, int, int, bool]] = []
    with_data = (
        [packet for packet in packets if packet.payload] for _, packets in sorted(observed.by_flow.items())
    )
    for packets, times, made in zip(filter(None, with_data), captured, run, strict=False):
        for to_client in (True, False):
            seen = [pair for pair in zip(packets, times, strict=True) if pair[0].to_client is to_client]
            pairs = [pair for pair in made if pair[2] is to_client]
            for (packet, (when, _, _)), (time, _, _) in zip(seen, pairs, strict=False):
                if when > time + _LATE:
                    late.append((packet.time, Lost(packet.flow, to_client, packet.seq, packet.frame)))
                    break
                if time > when + _LATE:
                    early.append((packet.time, packet.flow, packet.seq, to_client))
                    break
    found = [(*lost, one) for _, one in sorted(late, key=lambda each: each[0])[:_FIRST]]
    for _, flow, seq, to_client in sorted(early)[:_FIRST]:
        of_flow = [
            each for each in lost if each.flow == flow and each.to_client is to_client and each.offset <= seq
        ]
        if of_flow:
            # The last one that can have made it late.
            place = lost.index(max(of_flow, key=lambda each: each.offset))
            found.append((*lost[:place], *lost[place + 1 :]))
    return found

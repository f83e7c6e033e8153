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


def with_late_losses(
    observed: Observed, lost: tuple[Lost, ...], scenario_of: Callable[[tuple[Lost, ...]], Scenario]
) -> tuple[Lost, ...]:
    """The losses, with those that make the run nearer to the capture."""
    captured = timeline_of_capture(observed)
    run = timeline_of_run(scenario_of(lost))
    off = distance(captured, run, observed.elapsed)
    for _ in range(_MOST):
        if off <= _NEAR:
            break
        tried = []
        for candidate in _candidates(observed, run, lost):
            other = timeline_of_run(scenario_of(candidate))
            tried.append((distance(captured, other, observed.elapsed), candidate, other))
        nearest = min(tried, key=lambda each: each[0], default=None)
        if nearest is None or nearest[0] > off * _BETTER:
            break
        off, lost, run = nearest
    return lost


def _candidates(observed: Observed, run: Timeline, lost: tuple[Lost, ...]) -> list[tuple[Lost, ...]]:
    """The losses with one more where the capture first is late, or without one where the run first is."""
    late: list[tuple[int, Lost]] = []
    early: list[tuple[int, int, int, bool]] = []
    first = observed.packets[0].time
    for (flow, packets), pairs in zip(sorted(observed.by_flow.items()), run, strict=False):
        for to_client in (True, False):
            seen = [packet for packet in packets if packet.payload and packet.to_client is to_client]
            made = [pair for pair in pairs if pair[2] is to_client]
            for packet, (time, _, _) in zip(seen, made, strict=False):
                if packet.time - first > time + _LATE:
                    late.append((packet.time, Lost(flow, to_client, packet.seq, packet.frame)))
                    break
                if time > packet.time - first + _LATE:
                    early.append((packet.time, flow, packet.seq, to_client))
                    break
    found = [(*lost, one) for _, one in sorted(late, key=lambda each: each[0])[:2]]
    for _, flow, seq, to_client in sorted(early)[:1]:
        of_flow = [
            each for each in lost if each.flow == flow and each.to_client is to_client and each.offset <= seq
        ]
        if of_flow:
            # The last one that can have made it late.
            gone = max(of_flow, key=lambda each: each.offset)
            place = lost.index(gone)
            found.append((*lost[:place], *lost[place + 1 :]))
    return found

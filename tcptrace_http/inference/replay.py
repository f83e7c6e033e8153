"""Losses that show only as waits, found by runs: each is tried where run and capture diverge.

A packet lost at the end of the sent data leaves no hole. Behind the place of loss the packet comes late,
after the sender's timeout. If the matching run has such a packet much earlier, the packet is assumed lost,
provided that the run comes nearer. A loss that makes the run late is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.loss import Lost
from tcptrace_http.inference.steps import partings, stepwise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.packets import Packet
    from tcptrace_http.inference.timeline import Timeline

__all__ = ["with_late_losses"]

# Minimum timer for lost data of any stack, in nanoseconds (RFC 8985, section 7.2: a probe waits 10 ms beyond
# two round trips).
_LATE: Final = 20_000_000
# Maximum number of losses; each takes one or two runs.
_MOST: Final = 24
# Number of first divergences tried per step.
_FIRST: Final = 2
# Maximum number of packets at the end of a flight that may be lost together.
_TOGETHER: Final = 3


def with_late_losses(
    observed: Observed, lost: tuple[Lost, ...], scenario_of: Callable[[tuple[Lost, ...]], Scenario]
) -> tuple[Lost, ...]:
    """Return the losses, with those that bring the run nearer to the capture."""

    def nexts(held: tuple[Lost, ...], run: Timeline) -> Iterator[tuple[Lost, ...]]:
        return _with_one_more_or_less(observed, run, held)

    return stepwise(observed, lost, nexts, scenario_of, most=_MOST)


def _with_one_more_or_less(
    observed: Observed, run: Timeline, lost: tuple[Lost, ...]
) -> Iterator[tuple[Lost, ...]]:
    """Yield the losses with one loss added at the capture's first delay, or removed at the run's first delay."""
    parted = partings(observed, run, by=_LATE)
    for packet, _ in [each for each in parted if each.late > 0][:_FIRST]:
        more = _lost_from(observed, packet)
        for count in range(1, len(more) + 1):
            yield (*lost, *more[:count])
    for packet, _ in [each for each in parted if each.late < 0][:_FIRST]:
        of_flow = [each for each in lost if each.flow == packet.flow]
        before = [each for each in of_flow if each.to_client is not packet.to_client or each.offset <= packet.seq]
        # The last candidates of either direction: the answer may be the lost packet.
        for gone in {each.to_client: each for each in before}.values():
            place = lost.index(gone)
            fewer = (*lost[:place], *lost[place + 1 :])
            yield fewer
            yield (*fewer, Lost(packet.flow, packet.to_client, packet.seq, packet.frame))


def _lost_from(observed: Observed, first: Packet) -> list[Lost]:
    """Return a packet and its followers in the stream, which may have been lost with it."""
    packets = observed.by_flow[first.flow]
    data = (p for p in packets if p.payload and p.to_client is first.to_client and p.seq >= first.seq)
    frames = {p.seq: p.frame for p in data}
    return [Lost(first.flow, first.to_client, seq, frames[seq]) for seq in sorted(frames)[:_TOGETHER]]

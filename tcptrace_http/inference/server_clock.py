"""Phase of the server's clock, for stacks that retransmit at whole ticks, such as BSD with its slow timer.

The phase of the ticks against the retrieval decides the length of each timeout (Stevens 1995, volume 2,
section 25.3). A timeout retransmission leaves at a tick, so each one gives a phase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.quantities import nanoseconds
from tcptrace_http.inference.client_clock import sending_time

if TYPE_CHECKING:
    from reference_sim.stack import Stack
    from tcptrace_http.inference.observed import Observed

__all__ = ["clock_offsets"]

# Minimum pause before a timeout retransmission: no stack's timeout is shorter.
_PAUSE: Final = 200_000_000
# Maximum difference of equal phases: queueing delay can add this much.
_ALIKE: Final = 1_000_000
# Maximum number of tried phases.
_MOST: Final = 8


def clock_offsets(observed: Observed, stack: Stack, rate: int | None, propagation: int) -> list[int]:
    """Return the candidate times of the server's clock past a whole tick, at the client's start."""
    rules = stack.retransmission
    if not rules.on_ticks:
        return []
    tick = nanoseconds(rules.tick)
    first = observed.packets[0].time
    way = propagation // 2
    found: list[int] = []
    for packets in observed.by_flow.values():
        before = None
        for packet in packets:
            if not packet.to_client or not packet.payload:
                continue
            if before is not None and packet.time - before > _PAUSE:
                since = packet.time - first
                since += -way - sending_time(packet.ip_bytes, rate) if observed.is_near_client else way
                found.append(-since % tick)
            before = packet.time
    apart: list[int] = []
    for offset in found:
        if all(abs(offset - other) > _ALIKE for other in apart):
            apart.append(offset)
    return apart[:_MOST]

"""When the server's clock ticks, if its stack sends lost data again at whole ticks as BSD's slow timer does.

The phase of these ticks against the retrieval decides how long each timeout takes (Stevens 1995, volume 2,
section 25.3). What a timeout sent again left at a tick: each such packet gives a phase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.quantities import nanoseconds
from tcptrace_http.inference.client_clock import sending_time

if TYPE_CHECKING:
    from reference_sim.stack import Stack
    from tcptrace_http.inference.observed import Observed

__all__ = ["clock_offsets"]

# What comes so long after the packet before it may be sent by a timeout: no stack's is shorter.
_PAUSE: Final = 200_000_000
# Phases are alike within the time that a queue can add.
_ALIKE: Final = 1_000_000
# So many phases are tried.
_MOST: Final = 8


def clock_offsets(observed: Observed, stack: Stack, rate: int | None, propagation: int) -> list[int]:
    """What the server's clock can have shown, past a whole tick, when the client began."""
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

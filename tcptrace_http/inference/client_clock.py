"""When the client's reaction to a packet of the server could pass the observation point.

Near the client that is the packet's own time. Before the slowest link it is what remains of the way
there, the queue of that link included, and the way back: the queue is that of one FIFO link of
``path.rate`` into which the packets went as they were seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed

__all__ = ["reactions", "sending_time"]

_S: Final = 1_000_000_000
_BITS_A_BYTE: Final = 8


def sending_time(size: int, rate: int | None) -> int:
    """Nanoseconds that a link of this rate takes for so many bytes; none, if no rate is known."""
    return 0 if rate is None else round(size * _BITS_A_BYTE * _S / rate)


def reactions(observed: Observed, rate: int | None, propagation: int) -> dict[int, int]:
    """By the frames of the server's packets: when what they made the client do at once can be seen."""
    if observed.is_near_client:
        return {packet.frame: packet.time for packet in observed.packets if packet.to_client}
    found = {}
    free = 0
    for packet in observed.packets:
        if packet.to_client:
            free = max(free, packet.time) + sending_time(packet.ip_bytes, rate)
            found[packet.frame] = free + propagation
    return found

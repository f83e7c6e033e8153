"""When the client's reaction to a packet of the server could pass the observation point.

Near the client that is the packet's own time. Before the slowest link it is what remains of the way
there, the queue of that link included, and the way back: the queue is that of one FIFO link of
``path.rate`` into which the packets went as they were seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from tcptrace_http.inference.observed import Observed

__all__ = ["departures", "reactions", "sending_time", "sent_at"]

_S: Final = 1_000_000_000
_BITS_A_BYTE: Final = 8
# The clock of a capture: packets that are no further apart than it tells came one behind the other.
_CLOCK: Final = 1_000


def sending_time(size: int, rate: int | None) -> int:
    """Nanoseconds that a link of this rate takes for so many bytes; none, if no rate is known."""
    return 0 if rate is None else round(size * _BITS_A_BYTE * _S / rate)


def reactions(
    observed: Observed, rate: int | None, propagation: int, *, without: Collection[int] = ()
) -> dict[int, int]:
    """By the frames of the server's packets: when what they made the client do at once can be seen.

    ``without``: places of packets that took none in the link's queue.
    """
    if observed.is_near_client:
        return {packet.frame: packet.time for packet in observed.packets if packet.to_client}
    found = {}
    free = 0
    for packet in observed.packets:
        if packet.to_client:
            sent = max(free, packet.time) + sending_time(packet.ip_bytes, rate)
            found[packet.frame] = sent + propagation
            if packet.place not in without:
                free = sent
    return found


def departures(observed: Observed, rate: int | None) -> dict[int, int]:
    """By the frames of the client's packets: when the link had sent them; several may be made at once."""
    found = {}
    free = 0
    for packet in observed.packets:
        if not packet.to_client:
            if observed.is_near_client:
                free = max(free, packet.time) + sending_time(packet.ip_bytes, rate)
            else:
                free = packet.time
            found[packet.frame] = free
    return found


def sent_at(observed: Observed, rate: int | None) -> dict[int, int]:
    """By the frames of the client's packets: when the client can have sent them, the path's propagation aside.

    Near the client that is when they were seen. Elsewhere the link took its time for the packet, and for those
    of the client that came directly before it, for which it may have waited.
    """
    packets = [packet for packet in observed.packets if not packet.to_client]
    if observed.is_near_client:
        return {packet.frame: packet.time for packet in packets}
    alone = [packet.time - sending_time(packet.ip_bytes, rate) for packet in packets]
    found: list[int] = []
    for number, begin in enumerate(alone):
        before = number - 1
        while before >= 0 and alone[before] > begin and packets[before].time >= begin - _CLOCK:
            before -= 1
        is_behind = before >= 0 and packets[before].time >= begin - _CLOCK
        # What the one before waited for, this one waited for as well.
        found.append(found[before] if is_behind else begin)
    return {packet.frame: begin for packet, begin in zip(packets, found, strict=True)}

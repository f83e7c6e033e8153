"""Times at which the client's reaction to a server packet can pass the observation point.

Near the client the time is the packet's own time. Before the bottleneck the rest of the path there, the
bottleneck's queue and the way back are added. The queue is that of one FIFO link of ``path.rate``, fed with
the packets as captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from tcptrace_http.inference.observed import Observed

__all__ = ["departures", "reactions", "sending_time", "sent_at"]

_S: Final = 1_000_000_000
_BITS_A_BYTE: Final = 8
# Clock resolution of a capture in nanoseconds: packets within this gap are back to back.
_CLOCK: Final = 1_000


def sending_time(size: int, rate: int | None) -> int:
    """Return the serialization time of the bytes in nanoseconds; 0 for an unknown rate."""
    return 0 if rate is None else round(size * _BITS_A_BYTE * _S / rate)


def reactions(
    observed: Observed, rate: int | None, propagation: int, *, without: Collection[int] = ()
) -> dict[int, int]:
    """Return, by frame of the server's packets, the time at which an immediate reaction of the client is
    visible.

    ``without`` has the places of packets that took no room in the link's queue.
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
    """Return, by frame of the client's packets, the time at which the link had sent them; several may leave
    together.
    """
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
    """Return, by frame of the client's packets, the possible sending time, without the path's propagation.

    Near the client the sending time is the capture time. Elsewhere the serialization times of the packet and
    of the client packets directly before it are subtracted: the packet may have waited for them.
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
        # The wait of the previous packet also delayed this packet.
        found.append(found[before] if is_behind else begin)
    return {packet.frame: begin for packet, begin in zip(packets, found, strict=True)}

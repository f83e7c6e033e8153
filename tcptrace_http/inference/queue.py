"""How much the slowest link's queue holds: the longest that packets stood in it, if one was lost then.

Without a loss the queue was never full: what stood in it is the least that it holds.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.handshakes import handshakes
from tcptrace_http.inference.loss import lost_again

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed

__all__ = ["FULL_PACKETS", "queue_bound"]

_NAME: Final = "path.queue"
_BITS_A_BYTE: Final = 8
_S: Final = 1_000_000_000
_CONFIDENCE: Final = 0.5
#: A queue of fewer bytes than so many full packets did not fill: what was lost was lost otherwise.
FULL_PACKETS: Final = 4
_FULL_BYTES: Final = 1500


def queue_bound(observed: Observed, rate: int | None) -> Figure:
    """Bytes that waited at most before a packet was lost; assumed to be without bound where none was."""
    delays = _delays(observed)
    if rate is None or not delays:
        return assumed(_NAME, None, unit="B", reason="no packet is known to have queued: without bound")
    longest, frame = max(delays)
    least = min(delay for delay, _ in delays)
    stood = round((longest - least) * rate / _BITS_A_BYTE / _S)
    lost = [packet.frame for packet in lost_again(observed)]
    if not lost or stood < FULL_PACKETS * _FULL_BYTES:
        reason = f"no packet was lost from a full queue, though {stood} bytes stood in it: without bound"
        return assumed(_NAME, None, low=stood, unit="B", reason=reason)
    return seen(
        _NAME,
        stood,
        low=stood,
        unit="B",
        confidence=_CONFIDENCE,
        frames=(frame, *lost),
        how="the longest delay over the least, at path.rate; packets were lost",
    )


def _delays(observed: Observed) -> list[tuple[int, int]]:
    """Round trips through the queue with their frames: data to its ACK before it, handshakes behind it."""
    if observed.is_near_client:
        return [(elapsed, frame) for elapsed, _, frame in handshakes(observed)]
    found = []
    for packets in observed.by_flow.values():
        ends: list[int] = []
        times: list[int] = []
        frames: list[int] = []
        highest = 1
        for packet in packets:
            if packet.to_client and packet.payload and not packet.is_resent:
                ends.append(packet.end)
                times.append(packet.time)
                frames.append(packet.frame)
            elif not packet.to_client and packet.ack > highest:
                highest = packet.ack
                place = bisect_right(ends, packet.ack) - 1
                if place >= 0:
                    found.append((packet.time - times[place], frames[place]))
    return found

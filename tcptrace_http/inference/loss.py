"""How many of the server's packets were lost, and how long packets stood in a queue before one was."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed, Packet

__all__ = ["loss_rate", "lost_again"]

_NAME: Final = "path.loss"
# The 95 % interval of Wilson 1927 for a part of so many.
_Z: Final = 1.96


def loss_rate(observed: Observed) -> Figure:
    """The part of the server's data packets that it had to send again."""
    sent = [packet for packet in observed.packets if packet.to_client and packet.payload]
    again = lost_again(observed)
    if not sent:
        return assumed(_NAME, 0.0, reason="the server sent no data")
    low, high = _interval(len(again), len(sent))
    return seen(
        _NAME,
        len(again) / len(sent),
        low=low,
        high=high,
        confidence=1 - (high - low),
        frames=[packet.frame for packet in again] or [sent[0].frame, sent[-1].frame],
        how=f"{len(again)} of {len(sent)} data packets were sent again; Wilson's 95 % interval",
    )


def lost_again(observed: Observed) -> list[Packet]:
    """What the server had to send again: not what its timer sent in vain, which says nothing of the path.

    Behind the place of loss, what comes twice was not lost. Before it, what the client reported to have
    got twice was not (RFC 2883), which is a number for each flow: of the last ones sent again.
    """
    found = []
    for number, packets in observed.by_flow.items():
        data = [packet for packet in packets if packet.to_client and packet.payload]
        if observed.is_near_client:
            starts: set[int] = set()
            for packet in data:
                if packet.is_resent and packet.seq not in starts:
                    found.append(packet)
                starts.add(packet.seq)
        else:
            again = [packet for packet in data if packet.is_resent]
            in_vain = observed.flows[number].get("server_unnecessary_retransmissions") or 0
            found += again[: max(len(again) - in_vain, 0)]
    return found


def _interval(count: int, total: int) -> tuple[float, float]:
    part = count / total
    scale = 1 + _Z**2 / total
    middle = (part + _Z**2 / (2 * total)) / scale
    half = _Z * sqrt(part * (1 - part) / total + _Z**2 / (4 * total**2)) / scale
    return max(middle - half, 0.0), min(middle + half, 1.0)

"""The handshakes of a retrieval: small packets that the stacks answer at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.inference.packets import FIN, SYN

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.packets import Packet

__all__ = ["handshakes"]


def handshakes(observed: Observed) -> list[tuple[int, int, int]]:
    """Time, bytes sent in it one after the other, and frame of each whole handshake without repetition."""
    found = []
    for packets in observed.by_flow.values():
        opening = _opening(packets)
        if opening is None:
            continue
        syn, answer, last = opening
        # At the client the ACK leaves when the SYN-ACK comes, at the server it has the way to go, too.
        sizes = (syn if observed.is_near_client else last).ip_bytes + answer.ip_bytes
        found.append((last.time - syn.time, sizes, syn.frame))
    return found


def _opening(packets: list[Packet]) -> tuple[Packet, Packet, Packet] | None:
    """SYN, SYN-ACK and the ACK of it, if each was sent once."""
    syns = [packet for packet in packets if packet.flags & SYN and not packet.to_client]
    answers = [packet for packet in packets if packet.flags & SYN and packet.to_client]
    if len(syns) != 1 or len(answers) != 1 or syns[0].flags & FIN:
        return None
    last = next((packet for packet in packets if not packet.to_client and packet.place > answers[0].place), None)
    return None if last is None else (syns[0], answers[0], last)

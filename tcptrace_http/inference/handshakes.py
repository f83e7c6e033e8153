"""Handshakes of a retrieval: small packets that the stacks answer at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.inference.packets import FIN, SYN

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.packets import Packet

__all__ = ["handshakes"]


def handshakes(observed: Observed) -> list[tuple[int, int, int]]:
    """Return time, serialized bytes, and frame of each complete handshake without a retransmission."""
    found = []
    for packets in observed.by_flow.values():
        opening = _opening(packets)
        if opening is None:
            continue
        syn, answer, last = opening
        # Near the client the ACK leaves with the SYN-ACK's arrival. Near the server the ACK also crosses the
        # path.
        sizes = (syn if observed.is_near_client else last).ip_bytes + answer.ip_bytes
        found.append((last.time - syn.time, sizes, syn.frame))
    return found


def _opening(packets: list[Packet]) -> tuple[Packet, Packet, Packet] | None:
    """Return SYN, SYN-ACK and their ACK, if each was sent once."""
    syns = [packet for packet in packets if packet.flags & SYN and not packet.to_client]
    answers = [packet for packet in packets if packet.flags & SYN and packet.to_client]
    if len(syns) != 1 or len(answers) != 1 or syns[0].flags & FIN:
        return None
    last = next((packet for packet in packets if not packet.to_client and packet.place > answers[0].place), None)
    return None if last is None else (syns[0], answers[0], last)

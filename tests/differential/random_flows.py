"""Capture of random TCP segments on many small flows: combines all rules of an analysis."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Final

from captures import ACK, FIN, MILLISECOND, PSH, RST, START, SYN, pcap, tcp

if TYPE_CHECKING:
    from captures import Endpoint, Record

__all__ = ["random_capture"]

#: Close to the wrap. No sum with the lengths below is 0, which tshark interprets as "none".
_INITIAL: Final = 2**32 - 1021
_UNIT: Final = 8
_WINDOWS: Final = (0, 8, 16, 64, 64, 64, 1000)
_WAITS: Final = (0, 10_000, MILLISECOND, 2 * MILLISECOND, 5 * MILLISECOND, 25 * MILLISECOND, 400 * MILLISECOND)
_FLAGS: Final = (ACK, ACK, ACK, ACK, PSH | ACK, PSH | ACK, FIN | ACK, SYN, SYN | ACK, RST | ACK, RST)
#: Offsets of the window field and of the IP payload in a frame of Ethernet and IPv4.
_TCP_AT: Final = 34
_WINDOW_AT: Final = _TCP_AT + 14


class _Side:
    """Sent data of one end, and its acknowledgment of received data."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.next = _INITIAL
        self.received = _INITIAL
        self.window = 64


def random_capture(seed: int, *, flows: int = 40, segments: int = 60) -> bytes:
    """Return a pcap file that depends only on the seed."""
    chance = random.Random(seed)
    time = START
    records: list[Record] = []
    for flow in range(flows):
        ends = (_Side(("10.0.0.1", 2000 + flow)), _Side(("10.0.0.2", 9)))
        for at in range(segments):
            time += chance.choice(_WAITS)
            sender, peer = ends if chance.random() < 0.5 else ends[::-1]
            if at < 3 and flow % 4:
                sender, peer = ends if at != 1 else ends[::-1]
                flags = (SYN, SYN | ACK, ACK)[at]
            else:
                flags = chance.choice(_FLAGS if at % 7 == 0 else _FLAGS[:6])
            records.append((time, _frame(chance, sender, peer, flags)))
    return pcap(records)


def _frame(chance: random.Random, sender: _Side, peer: _Side, flags: int) -> bytes:
    """Return the next segment: new, repeated, after a hole, or a probe; with a new, old or premature ACK."""
    payload = bytes(_UNIT * chance.choice((0, 0, 1, 2, 4))) if not flags & SYN else b""
    seq = sender.next
    if not flags & SYN:
        seq += chance.choice((0, 0, 0, 0, 0, -_UNIT, -2 * _UNIT, -4 * _UNIT, _UNIT, -1))
        if seq == sender.next - 1 or chance.random() < 0.05:
            payload = payload[:1] if payload else b""
        # Data before the initial number belongs to another connection.
        seq = max(seq, _INITIAL + 1)
    else:
        seq = _INITIAL
    if chance.random() < 0.4:
        sender.received = max(peer.next + chance.choice((0, 0, 0, 0, -_UNIT, _UNIT)), _INITIAL + 1)
    if chance.random() < 0.2:
        sender.window = chance.choice(_WINDOWS)
    ack = sender.received if flags & ACK else 0
    end = seq + len(payload) + bool(flags & (SYN | FIN))
    if not flags & RST:
        sender.next = max(sender.next, end)
    frame = tcp(sender.endpoint, peer.endpoint, seq, ack, flags, payload)
    return frame[:_WINDOW_AT] + struct.pack(">H", sender.window) + frame[_WINDOW_AT + 2 :]

"""The server's initial congestion window: what it sent before any ACK of its data could have come.

What the first ACK of data releases passes no sooner than that ACK's passing and the way to the server
and back; all data before is of the first window. That is exact where the link was idle afterwards: in a
link that is busy throughout, more of the window may have queued behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed, Packet

__all__ = ["FirstFlight", "first_flight", "initial_window"]

_NAME: Final = "server.initial_window"
_UNIT: Final = "segments"
# A packet that comes later than this many times what it takes to send had no queue before it.
_IDLE: Final = 1.5
_S: Final = 1_000_000_000
_BITS_A_BYTE: Final = 8
# A round trip of so many ticks of a timestamps clock tells a burst from what its first ACK released.
_TICKS: Final = 4
# What comes so much later than what an ACK released was not released by it: no stack's timeout is shorter.
_TIMEOUT: Final = 200_000_000
# The smallest initial window that any standard has allowed (RFC 2001) stands where nothing was seen.
_LEAST: Final = 1


@dataclass(frozen=True, slots=True)
class FirstFlight:
    """The data that the server sent of its own window, in full segments."""

    segments: int
    #: The server had more to send, and waited: the window is neither more nor less.
    is_exact: bool
    frames: tuple[int, ...]


def initial_window(observed: Observed, rate: int | None) -> Figure:
    """Segments of the first flight of the flows whose first response was longer than that."""
    flights = [
        flight
        for packets in observed.by_flow.values()
        if (flight := _opening_flight(observed, packets, rate)) is not None
    ]
    exact = [flight for flight in flights if flight.is_exact]
    if not exact:
        most = max((flight.segments for flight in flights), default=_LEAST)
        return assumed(
            _NAME,
            None,
            low=most,
            unit=_UNIT,
            reason=f"no first response was cut off by the window; it is {most} segments at least",
        )
    counts = [flight.segments for flight in exact]
    value = max(set(counts), key=lambda count: (counts.count(count), count))
    agreeing = [flight for flight in exact if flight.segments == value]
    return seen(
        _NAME,
        value,
        low=min(counts),
        high=max(counts),
        unit=_UNIT,
        confidence=len(agreeing) / len(exact),
        frames=agreeing[0].frames,
        how=f"data before its first ACK could come back, on {len(agreeing)} of {len(exact)} flows",
    )


def _opening_flight(observed: Observed, packets: list[Packet], rate: int | None) -> FirstFlight | None:
    flow = packets[0].flow if packets else -1
    if not packets or not observed.flows[flow]["has_syn_ack"]:
        return None
    first = next((packet for packet in packets if packet.to_client and packet.payload), None)
    if first is None:
        return None
    return first_flight(observed, packets, first, rate)


def first_flight(observed: Observed, packets: list[Packet], first: Packet, rate: int | None) -> FirstFlight | None:
    """The flight that begins with ``first``, before which all was acknowledged."""
    ack = next((p for p in packets if not p.to_client and p.place > first.place and p.ack > first.seq), None)
    if ack is None:
        return None
    last_frame = next((e.response_last_frame for e in observed.exchanges if e.response_frame == first.frame), 0)
    data = [p for p in packets if p.to_client and p.payload and first.frame <= p.frame <= last_frame]
    sent_together = _sent_together(observed, packets, data)
    if sent_together is not None:
        flight, is_cut_off = data[:sent_together], sent_together < len(data)
    else:
        until = ack.time + observed.server_path
        if not observed.is_near_client:
            # What follows a round trip later without any ACK is a probe for a lost tail (RFC 8985, section 7).
            until = min(until, first.time + observed.server_path + observed.client_path)
        flight = [p for p in data if p.time < until and (observed.is_near_client or p.place < ack.place)]
        later = data[len(flight) :]
        is_cut_off = bool(flight) and bool(later) and not _was_busy(observed, flight[-1], later[0], rate)
    full = observed.segment_bytes(first.flow)
    # A segment that is not full may have been held by Nagle's algorithm, and not by the window.
    is_cut_off = is_cut_off and data[len(flight)].payload == full
    if not flight or any(p.is_resent for p in flight) or _lost_any(flight, data[len(flight) :], ack, observed):
        return None
    return FirstFlight(
        segments=-(-sum(p.payload for p in flight) // full),
        # A short segment alone may be a head that was written before its body; one behind the flight may have
        # waited for an ACK of it, as Nagle's algorithm has it (RFC 896), and not for the window.
        is_exact=is_cut_off and flight[0].payload == full and data[len(flight)].payload == full,
        frames=tuple(p.frame for p in (*flight, ack)),
    )


def _lost_any(flight: list[Packet], later: list[Packet], ack: Packet, observed: Observed) -> bool:
    """Whether a packet of the flight was lost: it left a hole, or came by a timeout as the next one."""
    if any(following.seq != before.end for before, following in pairwise(flight)):
        return True
    if not later:
        return False
    return later[0].seq != flight[-1].end or later[0].time > ack.time + 2 * observed.server_path + _TIMEOUT


def _sent_together(observed: Observed, packets: list[Packet], data: list[Packet]) -> int | None:
    """How many of these packets the server's timestamps show to have been sent in one burst.

    What an ACK releases is sent a round trip later at least. None: the clock of the timestamps is too coarse to
    tell, or there are none (RFC 7323, section 5.4, has it tick once in 1 ms to 1 s).
    """
    stamped = [(p.time, p.timestamp) for p in packets if p.to_client and p.timestamp is not None]
    if not observed.is_near_client or not data or len(stamped) <= 1:
        return None
    (begin, first), (end, last) = stamped[0], stamped[-1]
    if end <= begin:
        return None
    ticks_a_round_trip = (last - first) / (end - begin) * (observed.server_path + observed.client_path)
    if ticks_a_round_trip < _TICKS:
        return None
    sent = data[0].timestamp or 0
    return sum((p.timestamp or 0) - sent < ticks_a_round_trip / 2 for p in data)


def _was_busy(observed: Observed, last: Packet, following: Packet, rate: int | None) -> bool:
    """Whether the link had data, of whatever flow, all the time between these two: then a queue may hide more."""
    if rate is None or not observed.is_near_client:
        return False
    between = observed.packets[last.place + 1 : following.place + 1]
    carried = sum(packet.ip_bytes for packet in between if packet.to_client)
    return following.time - last.time < _IDLE * carried * _BITS_A_BYTE * _S / rate

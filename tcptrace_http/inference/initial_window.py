"""The server's initial congestion window: what it sent before any ACK of its data could have come.

What the first ACK of data releases passes no sooner than that ACK's passing and the way to the server
and back; all data before is of the first window. That is exact where the link was idle afterwards: in a
link that is busy throughout, more of the window may have queued behind.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    last_frame = next(
        (
            e.response_last_frame
            for e in observed.exchanges
            if e.flow == first.flow and e.response_frame == first.frame
        ),
        first.frame,
    )
    data = [p for p in packets if p.to_client and p.payload and first.frame <= p.frame <= last_frame]
    until = ack.time + observed.server_path
    flight = [p for p in data if p.place < ack.place or p.time < until]
    later = data[len(flight) :]
    if any(p.is_resent for p in flight):
        return None
    full = observed.segment_bytes(first.flow)
    segments = -(-sum(p.payload for p in flight) // full)
    return FirstFlight(
        segments=segments,
        # A short segment alone may be a head that was written before its body.
        is_exact=bool(later) and flight[0].payload == full and not _was_busy(observed, flight[-1], later[0], rate),
        frames=tuple(p.frame for p in (*flight, ack)),
    )


def _was_busy(observed: Observed, last: Packet, following: Packet, rate: int | None) -> bool:
    """Whether the link had data, of whatever flow, all the time between these two: then a queue may hide more."""
    if rate is None or not observed.is_near_client:
        return False
    between = observed.packets[last.place + 1 : following.place + 1]
    carried = sum(packet.ip_bytes for packet in between if packet.to_client)
    return following.time - last.time < _IDLE * carried * _BITS_A_BYTE * _S / rate

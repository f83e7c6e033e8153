"""In-order deliveries of a stream's bytes at one end of the connection."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_sim.true_waits._records import CLIENT, SERVER, Connection, Packet

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Delivery", "Stream", "stream_of"]

_PROBES: Final = "tail_loss_probe"
_OPENS_RECOVERY: Final = ("retransmission_timeout", "fast_retransmit", _PROBES)
_BY_TIMER: Final = "retransmission_timeout"
_GOES_ON: Final = "recovery"
_ASKS: Final = "window_probe"


@dataclass(frozen=True, slots=True)
class Delivery:
    """Moment at which the observer has more in-order data of a stream, and the delivering packet."""

    time: int
    packet: Packet
    #: In-order offsets before and after this delivery.
    before: int
    after: int
    #: The first copy of the byte at ``before``, if that copy was lost.
    lost: Packet | None
    #: The first packet that arrived after the hole, and its arrival time.
    behind: tuple[int, Packet] | None


@dataclass(slots=True)
class Stream:
    """One direction of a connection: packets with payload, and deliveries."""

    sender: str
    #: Packets with payload in sending order.
    packets: list[Packet]
    #: Packets with new data; they are contiguous.
    firsts: list[Packet]
    #: FINs without payload, which are acknowledged like data.
    ends: list[Packet]
    deliveries: list[Delivery]
    #: Index in ``packets`` by packet number.
    places: dict[int, int]
    #: The packet that began the recovery, by the number of each packet retransmitted in it.
    openers: dict[int, Packet]
    #: Arrival times of packets with payload, new data or not.
    arrivals: list[int]

    def first_copy(self, offset: int) -> Packet | None:
        """Return the packet that first carried the byte at ``offset``."""
        return _carrier(self.firsts, offset)

    def probed(self, delivery: Delivery) -> tuple[int, Packet] | None:
        """Return the first probe after the loss, and its arrival time, if its data was lost as well."""
        if delivery.behind is None or delivery.behind[1].reason != _PROBES:
            return None
        probe = delivery.behind[1]
        first = self.first_copy(probe.start)
        return None if first is None or first.packet == probe.packet else delivery.behind

    def sent_before(self, packet: Packet) -> Packet | None:
        """Return the packet with payload sent before this packet."""
        place = self.places[packet.packet]
        return self.packets[place - 1] if place else None

    def delivered(self, offset: int) -> Delivery | None:
        """Return the delivery of the byte at ``offset``."""
        at = bisect.bisect_right(self.deliveries, offset, key=lambda it: it.after)
        return self.deliveries[at] if at < len(self.deliveries) else None

    def arrived_before(self, time: int) -> int:
        """Return the arrival time of the last packet before this time, new data or not."""
        at = bisect.bisect_left(self.arrivals, time)
        return self.arrivals[at - 1] if at else 0

    def repair_cause(self, packet: Packet) -> str:
        """Return how the sender detected the loss of ``packet``'s data."""
        opener = self.openers.get(packet.packet)
        if opener is None or opener.reason in ("fast_retransmit", "recovery"):
            return "stall.fast_recovery"
        if opener.reason == _PROBES:
            return "stall.tail_loss"
        return "stall.retransmission_timeout" if self._was_told(opener) else "stall.tail_loss"

    def _was_told(self, opener: Packet) -> bool:
        """Return whether later data or a FIN arrived before the timer expired: ACKs then reported the loss."""
        first = self.first_copy(opener.start)
        return first is not None and any(
            each.start > opener.start
            and each.received is not None
            and first.sent <= each.sent < opener.sent
            and each.received < opener.sent
            for each in (*self.packets, *self.ends)
        )


def stream_of(connection: Connection, sender: str, at: str) -> Stream:
    """Return the stream of ``sender`` as observed ``at`` the client or the server.

    A sender's own data is delivered when the first copy is sent. A response is delivered at the server when
    an undelayed ACK would arrive.
    """
    peer = SERVER if sender == CLIENT else CLIENT
    taken = list(_taken(connection.packets[sender], connection.packets[peer]))
    packets = [packet for packet in taken if packet.payload]
    ends = [packet for packet in taken if packet.has_fin and not packet.payload]
    firsts = list(_firsts(packets))
    later = connection.paths[CLIENT].least if sender == SERVER and at == SERVER else 0
    if sender == CLIENT and at == CLIENT:
        deliveries = [Delivery(it.sent, it, it.start, it.end, None, None) for it in firsts]
    else:
        deliveries = list(_arrivals(packets, firsts, later))
    places = {packet.packet: place for place, packet in enumerate(packets)}
    heard = {packet.received for packet in connection.packets[peer]}
    arrivals = sorted(packet.received + later for packet in packets if packet.received is not None)
    return Stream(sender, packets, firsts, ends, deliveries, places, _openers(packets, heard), arrivals)


def _taken(packets: list[Packet], peers: list[Packet]) -> Iterator[Packet]:
    """Yield the packets of a sender; packets that its peer dropped count as lost.

    In SYN-SENT, everything but a SYN or RST is dropped (RFC 9293, section 3.10.7.3). A listener also drops
    data. The receiver refuses data beyond its receive window. A zero-window probe is no copy of later data.
    """
    syns = [packet.received for packet in packets if packet.is_syn and packet.received is not None]
    first = min(syns, default=0)
    offers = sorted((packet.sent, packet.ack + packet.window) for packet in peers)
    # A window offered once stays valid (RFC 9293, section 3.8.6), though later windows are rounded more
    # coarsely.
    edges = list(itertools.accumulate((edge for _, edge in offers), max))
    for packet in packets:
        if packet.received is None:
            yield packet
            continue
        at = bisect.bisect_left(offers, (packet.received,))
        is_refused = bool(at and packet.payload) and packet.end > edges[at - 1]
        if is_refused and packet.reason == _ASKS:
            continue
        is_dropped = packet.received < first or is_refused
        yield dataclasses.replace(packet, received=None) if is_dropped else packet


def _openers(packets: list[Packet], heard: set[int | None]) -> dict[int, Packet]:
    """Return the packet that began each packet's recovery; ``heard`` has the arrival times of ACKs.

    After an RTO, or Tahoe's fast retransmit, the sender retransmits all outstanding data as ACKs arrive. All
    these retransmissions have the same cause: only a timer ends a silence.
    """
    openers: dict[int, Packet] = {}
    opener: Packet | None = None
    for packet in packets:
        if not packet.is_retransmission and packet.reason not in _OPENS_RECOVERY:
            continue
        goes_on = packet.reason == _GOES_ON or (packet.reason == _BY_TIMER and packet.sent in heard)
        if opener is None or not goes_on:
            opener = packet
        openers[packet.packet] = opener
    return openers


def _firsts(packets: list[Packet]) -> Iterator[Packet]:
    edge = 1
    for packet in packets:
        if packet.end > edge:
            yield packet
            edge = packet.end


def _carrier(firsts: list[Packet], offset: int) -> Packet | None:
    """Return the packet of ``firsts`` with the byte at ``offset``."""
    at = bisect.bisect_right(firsts, offset, key=lambda it: it.end)
    return firsts[at] if at < len(firsts) else None


def _arrivals(packets: list[Packet], firsts: list[Packet], later: int) -> Iterator[Delivery]:
    came = sorted((packet.received, packet.packet, packet) for packet in packets if packet.received is not None)
    edge = 1
    beyond: list[tuple[int, int]] = []
    behind: tuple[int, Packet] | None = None
    for received, _, packet in came:
        time = received + later
        if packet.start > edge:
            beyond.append((packet.start, packet.end))
            behind = behind or (time, packet)
        elif packet.end > edge:
            after = packet.end
            for start, end in sorted(beyond):
                after = max(after, end) if start <= after else after
            beyond = [hole for hole in beyond if hole[1] > after]
            original = _carrier(firsts, edge)
            lost = original if original is not None and original.packet != packet.packet else None
            yield Delivery(time, packet, edge, after, lost, behind)
            edge = after
            behind = (time, packet) if beyond else None

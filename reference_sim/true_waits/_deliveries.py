"""When a stream's bytes came, in order, as one end of the connection has it."""

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
    """A moment at which the observer has more of a stream in order, and the packet that brought it."""

    time: int
    packet: Packet
    #: The offsets up to which all was there before, and is there now.
    before: int
    after: int
    #: The first copy of the byte at ``before``, if that was lost.
    lost: Packet | None
    #: The first packet that came behind the hole, and when.
    behind: tuple[int, Packet] | None


@dataclass(slots=True)
class Stream:
    """One direction of a connection: its packets with payload and its deliveries."""

    sender: str
    #: Packets with payload in the order in which they were sent.
    packets: list[Packet]
    #: Those of them that carried something for the first time; they follow each other without a hole.
    firsts: list[Packet]
    #: Its FINs without payload, which are acknowledged as data is.
    ends: list[Packet]
    deliveries: list[Delivery]
    #: Where a packet stands among ``packets``, by its number.
    places: dict[int, int]
    #: The packet that began the recovery in which a packet was sent again, by that one's number.
    openers: dict[int, Packet]
    #: When packets with payload came, whatever was known of it.
    arrivals: list[int]

    def first_copy(self, offset: int) -> Packet | None:
        """The packet that carried the byte at ``offset`` first."""
        return _carrier(self.firsts, offset)

    def probed(self, delivery: Delivery) -> tuple[int, Packet] | None:
        """The probe that came first behind what was lost, and when, if what it carries had been lost as well."""
        if delivery.behind is None or delivery.behind[1].reason != _PROBES:
            return None
        probe = delivery.behind[1]
        first = self.first_copy(probe.start)
        return None if first is None or first.packet == probe.packet else delivery.behind

    def sent_before(self, packet: Packet) -> Packet | None:
        """The packet with payload that left before this one."""
        place = self.places[packet.packet]
        return self.packets[place - 1] if place else None

    def delivered(self, offset: int) -> Delivery | None:
        """The delivery with which the byte at ``offset`` was there."""
        at = bisect.bisect_right(self.deliveries, offset, key=lambda it: it.after)
        return self.deliveries[at] if at < len(self.deliveries) else None

    def arrived_before(self, time: int) -> int:
        """When the packet came that came last before this time; what it carried may have been there before."""
        at = bisect.bisect_left(self.arrivals, time)
        return self.arrivals[at - 1] if at else 0

    def repair_cause(self, packet: Packet) -> str:
        """How the sender learnt that what ``packet`` carries was lost."""
        opener = self.openers.get(packet.packet)
        if opener is None or opener.reason in ("fast_retransmit", "recovery"):
            return "stall.fast_recovery"
        if opener.reason == _PROBES:
            return "stall.tail_loss"
        return "stall.retransmission_timeout" if self._was_told(opener) else "stall.tail_loss"

    def _was_told(self, opener: Packet) -> bool:
        """Whether data or a FIN behind the loss had come when its timer ran out, so that ACKs told of it."""
        first = self.first_copy(opener.start)
        return first is not None and any(
            each.start > opener.start
            and each.received is not None
            and first.sent <= each.sent < opener.sent
            and each.received < opener.sent
            for each in (*self.packets, *self.ends)
        )


def stream_of(connection: Connection, sender: str, at: str) -> Stream:
    """The stream of ``sender`` as the observer ``at`` the client or the server has it.

    Its own data an end has when it leaves, first copies only. The server has a response when an ACK
    that nothing delays would tell that it came.
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
    """The packets of a sender, those as lost that its peer dropped.

    In SYN-SENT everything but a SYN or RST is dropped (RFC 9293, section 3.10.7.3), and so is what comes to a
    listener; of data that ends beyond the window that the peer offers nothing is taken. What probes such a window
    only asks for it: it is no copy of what comes later.
    """
    syns = [packet.received for packet in packets if packet.is_syn and packet.received is not None]
    first = min(syns, default=0)
    offers = sorted((packet.sent, packet.ack + packet.window) for packet in peers)
    # What was offered once is taken (RFC 9293, section 3.8.6), though later windows are told in coarser units.
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
    """Which packet began the recovery that each one belongs to; ``heard`` is when ACKs came.

    After a timeout, or Tahoe's fast retransmit, all that had been sent goes out again as ACKs come, for the
    same reason: a timer alone ends a silence.
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
    """The packet of ``firsts`` with the byte at ``offset``."""
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

"""The packets of a session, and those of a flow for look-ups.

An estimator that asks something of each exchange does not go over all packets for it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["FIN", "PSH", "SYN", "FlowPackets", "Packet", "SentData"]

SYN: Final = 2
FIN: Final = 1
PSH: Final = 8

_PLACE = attrgetter("place")


@dataclass(frozen=True, slots=True)
class Packet:
    """A TCP packet of the session; times are nanoseconds from the session's first packet."""

    frame: int
    time: int
    flow: int
    to_client: bool
    seq: int
    ack: int
    payload: int
    #: Its IP packet: headers of IP and TCP, and payload.
    ip_bytes: int
    flags: int
    window: int
    is_resent: bool
    timestamp: int | None
    #: Its place among the packets of the session.
    place: int

    @property
    def end(self) -> int:
        """The sequence number behind it."""
        return self.seq + self.payload


class SentData:
    """The packets with data of one direction, by their places in the stream."""

    def __init__(self, packets: Iterable[Packet]) -> None:
        self._packets = sorted(packets, key=attrgetter("seq"))
        self._starts = [packet.seq for packet in self._packets]
        #: Up to each packet, the furthest end of it and those that start before it.
        self._ends = list(accumulate((packet.end for packet in self._packets), max))

    def starting_in(self, first: int, end: int) -> list[Packet]:
        """The packets that start from ``first`` on and before ``end``, as they passed."""
        low, high = bisect_left(self._starts, first), bisect_left(self._starts, end)
        return sorted(self._packets[low:high], key=_PLACE)

    def carrying(self, first: int, end: int) -> list[Packet]:
        """The packets that carry any byte from ``first`` on and before ``end``, as they passed."""
        found = []
        for number in range(bisect_left(self._starts, end) - 1, -1, -1):
            if self._ends[number] <= first:
                break
            if self._packets[number].end > first:
                found.append(self._packets[number])
        return sorted(found, key=_PLACE)


class FlowPackets:
    """The packets of one flow, in their order."""

    def __init__(self, packets: Sequence[Packet]) -> None:
        self._packets = packets
        self._frames = [packet.frame for packet in packets]

    @cached_property
    def of_client(self) -> list[Packet]:
        """The packets that the client sent."""
        return [packet for packet in self._packets if not packet.to_client]

    def data(self, *, to_client: bool) -> SentData:
        """The packets with data of one direction."""
        return self._data_of_server if to_client else self._data_of_client

    @cached_property
    def largest_of_server(self) -> int:
        """The longest payload of the server; 0: it sent no data."""
        return max((packet.payload for packet in self._packets if packet.to_client), default=0)

    @cached_property
    def openings(self) -> list[Packet]:
        """The packets with SYN."""
        return [packet for packet in self._packets if packet.flags & SYN]

    def between(self, first_frame: int, last_frame: int) -> Sequence[Packet]:
        """The packets from one frame to another."""
        return self._packets[bisect_left(self._frames, first_frame) : bisect_left(self._frames, last_frame + 1)]

    def of_client_since(self, time: int) -> Packet | None:
        """The client's first packet that passed at this time or later."""
        number = bisect_left(self._times_of_client, time)
        return self.of_client[number] if number < len(self.of_client) else None

    def first_ack_from(self, end: int) -> Packet | None:
        """The client's first packet that acknowledges all up to this place."""
        number = bisect_left(self._acks_of_client, end)
        return self.of_client[number] if number < len(self.of_client) else None

    # Clocks can go back, and acknowledgments can come out of order: the furthest so far never does.
    @cached_property
    def _times_of_client(self) -> list[int]:
        return list(accumulate((packet.time for packet in self.of_client), max))

    @cached_property
    def _acks_of_client(self) -> list[int]:
        return list(accumulate((packet.ack for packet in self.of_client), max))

    @cached_property
    def _data_of_client(self) -> SentData:
        return SentData(packet for packet in self.of_client if packet.payload)

    @cached_property
    def _data_of_server(self) -> SentData:
        return SentData(packet for packet in self._packets if packet.to_client and packet.payload)

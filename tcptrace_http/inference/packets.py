"""Packets of a session, and of a flow for lookups.

An estimator for each exchange uses the lookups instead of a scan of all packets.
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
    """TCP packet of the session; times in nanoseconds since the session's first packet."""

    frame: int
    time: int
    flow: int
    to_client: bool
    seq: int
    ack: int
    payload: int
    #: Bytes of the IP packet: IP and TCP headers, and payload.
    ip_bytes: int
    flags: int
    window: int
    is_resent: bool
    timestamp: int | None
    #: Index among the packets of the session.
    place: int

    @property
    def end(self) -> int:
        """Return the sequence number behind the packet."""
        return self.seq + self.payload


class SentData:
    """Data packets of one direction, by their offsets in the stream."""

    def __init__(self, packets: Iterable[Packet]) -> None:
        self._packets = sorted(packets, key=attrgetter("seq"))
        self._starts = [packet.seq for packet in self._packets]
        #: For each packet, the maximum end of the packets that start no later.
        self._ends = list(accumulate((packet.end for packet in self._packets), max))

    def starting_in(self, first: int, end: int) -> list[Packet]:
        """Return the packets that start at or after ``first`` and before ``end``, in capture order."""
        low, high = bisect_left(self._starts, first), bisect_left(self._starts, end)
        return sorted(self._packets[low:high], key=_PLACE)

    def carrying(self, first: int, end: int) -> list[Packet]:
        """Return the packets with any byte at or after ``first`` and before ``end``, in capture order."""
        found = []
        for number in range(bisect_left(self._starts, end) - 1, -1, -1):
            if self._ends[number] <= first:
                break
            if self._packets[number].end > first:
                found.append(self._packets[number])
        return sorted(found, key=_PLACE)


class FlowPackets:
    """Packets of one flow, in order."""

    def __init__(self, packets: Sequence[Packet]) -> None:
        self._packets = packets
        self._frames = [packet.frame for packet in packets]

    @cached_property
    def of_client(self) -> list[Packet]:
        """Return the client's packets."""
        return [packet for packet in self._packets if not packet.to_client]

    def data(self, *, to_client: bool) -> SentData:
        """Return the data packets of one direction."""
        return self._data_of_server if to_client else self._data_of_client

    @cached_property
    def largest_of_server(self) -> int:
        """Return the server's largest payload; 0 without server data."""
        return max((packet.payload for packet in self._packets if packet.to_client), default=0)

    @cached_property
    def openings(self) -> list[Packet]:
        """Return the packets with SYN."""
        return [packet for packet in self._packets if packet.flags & SYN]

    def between(self, first_frame: int, last_frame: int) -> Sequence[Packet]:
        """Return the packets from one frame to another."""
        return self._packets[bisect_left(self._frames, first_frame) : bisect_left(self._frames, last_frame + 1)]

    def of_client_since(self, time: int) -> Packet | None:
        """Return the client's first packet at or after this time."""
        number = bisect_left(self._times_of_client, time)
        return self.of_client[number] if number < len(self.of_client) else None

    def first_ack_from(self, end: int) -> Packet | None:
        """Return the client's first packet that acknowledges everything up to this offset."""
        number = bisect_left(self._acks_of_client, end)
        return self.of_client[number] if number < len(self.of_client) else None

    # A clock can step back and ACKs can come out of order; the running maximum never decreases.
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

"""Connections as tcptrace separates them, and all connections of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .columns import values_of
from .counting import count
from .direction import Direction
from .fields import SYN, destination, microseconds, source
from .numbers import elapsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SILENCE_US: Final = 240_000_000


class Connection:
    """Connection as tcptrace separates it."""

    def __init__(self, packet: dict[str, Any]) -> None:
        self.ends = source(packet), destination(packet)
        self.directions = Direction(), Direction()
        self.frames: list[int] = []
        self.start = self.end = microseconds(packet)

    def halves(self, packet: dict[str, Any]) -> tuple[Direction, Direction]:
        """Return the packet's direction, and the other direction."""
        first, second = self.directions
        return (first, second) if source(packet) == self.ends[0] else (second, first)

    def is_over_at(self, packet: dict[str, Any]) -> bool:
        """Return whether the packet belongs to another connection between the same ends."""
        if microseconds(packet) - self.end > _SILENCE_US:
            return True
        if not packet["flags"] & SYN:
            return False
        this, other = self.halves(packet)
        seq = packet["seq_raw"]
        was_closed = this.fins or other.fins or this.resets or other.resets
        # Intended to respect the wrap; a 64-bit long does not.
        is_outside = seq > other.windowend or seq < this.syn
        return bool(was_closed and is_outside) or (this.syns > 1 and this.syn != seq)

    def take(self, packet: dict[str, Any]) -> None:
        """Add the next packet of the connection."""
        self.frames.append(packet["frame"])
        now = self.end = microseconds(packet)
        this, other = self.halves(packet)
        count(this, other, packet, now)

    def columns(self, end_of_capture: int) -> dict[str, str]:
        """Return tcptrace's output without padding."""
        first, second = self.directions
        is_closed = (first.fins > 0 and second.fins > 0) or first.resets or second.resets
        columns: dict[str, str] = {}
        for name, this in (("a2b", first), ("b2a", second)):
            both_scaled = first.is_rescaled and second.is_rescaled
            idle = this.idle
            if not is_closed and this.time is not None:
                idle = max(idle, elapsed(this.time, end_of_capture))
            duration = elapsed(self.start, self.end)
            values = values_of(this, duration, idle, both_scaled=both_scaled)
            columns |= {f"{key}_{name}": value for key, value in values.items()}
        columns["RTT full_sz_stdev_a2b"] = columns.pop("RTT_full_sz_stdev_a2b")
        return columns


def connections(packets: Iterable[dict[str, Any]]) -> Iterator[Connection]:
    """Return the connections of a capture's packets, in the order of their first packets."""
    found: list[Connection] = []
    live: dict[frozenset[tuple[str, int]], Connection] = {}
    for packet in packets:
        ends = frozenset((source(packet), destination(packet)))
        connection = live.get(ends)
        if connection is None or connection.is_over_at(packet):
            connection = live[ends] = Connection(packet)
            found.append(connection)
        connection.take(packet)
    return iter(found)

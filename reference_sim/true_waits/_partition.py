"""Partition of a transaction's time into causes, from start to end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Partition", "Piece", "Wait"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Interval with one cause up to ``end``; it begins at the end of the previous piece."""

    end: int
    cause: str
    #: The ending ACK arrived on another connection with the same cwnd.
    ended_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    cause: str
    start: int
    end: int
    ended_elsewhere: bool = False


@dataclass(slots=True)
class Partition:
    """Partition in which each nanosecond from start to end has exactly one cause."""

    start: int
    end: int
    waits: list[Wait] = field(default_factory=list)

    @property
    def at(self) -> int:
        """End of the assigned time."""
        return self.waits[-1].end if self.waits else self.start

    def until(self, time: int, cause: str, *, ended_elsewhere: bool = False) -> None:
        """Assign the time up to ``time`` to ``cause``; nothing if ``time`` is already assigned."""
        start, time = self.at, min(time, self.end)
        if time <= start:
            return
        last = self.waits[-1] if self.waits else None
        if last is not None and (last.cause, last.ended_elsewhere) == (cause, ended_elsewhere):
            start = self.waits.pop().start
        self.waits.append(Wait(cause, start, time, ended_elsewhere))

    def pieces(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            self.until(piece.end, piece.cause, ended_elsewhere=piece.ended_elsewhere)

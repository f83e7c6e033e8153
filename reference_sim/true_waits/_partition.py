"""A transaction's time, given away from its start to its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Partition", "Piece", "Wait"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Time up to ``end`` that has one cause; it begins where the piece before ends."""

    end: int
    cause: str
    #: What ended it came by another connection, whose window this one shares.
    ended_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    cause: str
    start: int
    end: int
    ended_elsewhere: bool = False


@dataclass(slots=True)
class Partition:
    """Each nanosecond from a start to an end has one cause, whatever is asked for."""

    start: int
    end: int
    waits: list[Wait] = field(default_factory=list)

    @property
    def at(self) -> int:
        """How far the time is given away."""
        return self.waits[-1].end if self.waits else self.start

    def until(self, time: int, cause: str, *, ended_elsewhere: bool = False) -> None:
        """Gives the time up to ``time`` to ``cause``; nothing if that has passed."""
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

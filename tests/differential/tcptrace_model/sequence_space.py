"""Store of sent data in tcptrace: pieces of numbers in the quadrants of the sequence space."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

QUADRANT_BITS: Final = 30


@dataclass(slots=True)
class Piece:
    """Numbers sent together."""

    first: int
    last: int
    time: int
    resent: int = 0
    acked: int = 0


@dataclass(slots=True)
class Quadrant:
    pieces: list[Piece] = field(default_factory=list)
    before: Quadrant | None = None
    after: Quadrant | None = None


class Space:
    """Sequence space in four quadrants, of which three at a time are kept."""

    def __init__(self) -> None:
        self.quadrants: list[Quadrant | None] = [None] * 4

    def at(self, seq: int) -> Quadrant:
        index = seq >> QUADRANT_BITS
        here = self.quadrants[index]
        if here and here.before and here.after:
            return here
        here, after, before = (self._made((index + step) % 4) for step in (0, 1, 3))
        self.quadrants[(index + 2) % 4] = None
        here.before, here.after = before, after
        after.before, before.after = here, here
        after.after, before.before = None, None
        return here

    def _made(self, index: int) -> Quadrant:
        made = self.quadrants[index] or Quadrant()
        self.quadrants[index] = made
        return made


def collapse(here: Quadrant) -> None:
    """Merge adjacent acknowledged pieces from the start on."""
    pieces = here.pieces
    at = 0
    while at + 1 < len(pieces) and pieces[at].acked:
        one, other = pieces[at], pieces[at + 1]
        if other.acked and one.last + 1 == other.first:
            one.last, one.acked, one.time = other.last, other.acked, max(one.time, other.time)
            del pieces[at + 1]
        else:
            at += 1

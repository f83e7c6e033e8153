"""Integer widths of tcptrace, and its arithmetic of sequence numbers and times."""

from __future__ import annotations

from typing import Final

WORD: Final = 2**32
LONG: Final = 2**64
SHORT: Final = 2**16


def elapsed(start: int, end: int) -> int:
    return max(end - start, 0)


def signed(number: int) -> int:
    number %= WORD
    return number - WORD if number >= WORD // 2 else number

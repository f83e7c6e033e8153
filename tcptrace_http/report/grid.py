"""Plain-text tables that fit a given width.

In a narrow table, optional columns are dropped first, then elastic columns are cut. The other columns are
never cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Heading", "clipped", "grid", "printable"]

_GAP: Final = "  "
_ELLIPSIS: Final = "…"
#: Minimum width of an elastic column, even if the line is then too long.
_ELASTIC_MINIMUM: Final = 8


@dataclass(frozen=True, slots=True)
class Heading:
    """Title and layout of a column."""

    title: str
    is_number: bool = False
    is_elastic: bool = False
    is_optional: bool = False


def printable(text: str) -> str:
    """Return the text with terminal control characters escaped: captured bytes are not trusted."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def clipped(text: str, width: int) -> str:
    """Return the text cut in its middle: start and end distinguish it best."""
    if len(text) <= width:
        return text
    kept = width - len(_ELLIPSIS)
    tail = kept // 3
    return f"{text[: kept - tail]}{_ELLIPSIS}{text[len(text) - tail :]}"


def grid(headings: Sequence[Heading], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of the table, headings first."""
    texts = [[heading.title for heading in headings], *([printable(cell) for cell in row] for row in rows)]
    natural = [max(len(row[column]) for row in texts) for column in range(len(headings))]
    kept = _kept(headings, natural, width)
    widths = _shrunk([headings[column] for column in kept], [natural[column] for column in kept], width)
    return [
        _GAP.join(
            row[column].rjust(room) if headings[column].is_number else clipped(row[column], room).ljust(room)
            for column, room in zip(kept, widths, strict=True)
        ).rstrip()
        for row in texts
    ]


def _kept(headings: Sequence[Heading], natural: Sequence[int], width: int) -> list[int]:
    """Return the shown columns: the last optional column is dropped first."""
    kept = list(range(len(headings)))
    for column in reversed(range(len(headings))):
        if _total([natural[each] for each in kept]) > width and headings[column].is_optional:
            kept.remove(column)
    return kept


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _shrunk(headings: Sequence[Heading], natural: Sequence[int], width: int) -> list[int]:
    """Return the widths, with elastic columns reduced, the widest first, until the line fits."""
    widths = list(natural)
    excess = _total(widths) - width
    elastic = [column for column, heading in enumerate(headings) if heading.is_elastic]
    while excess > 0 and elastic:
        widest = max(elastic, key=lambda column: widths[column])
        if widths[widest] <= _ELASTIC_MINIMUM:
            break
        widths[widest] -= 1
        excess -= 1
    return widths

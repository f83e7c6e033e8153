"""Alignment of two sequences: transactions, or retrievals.

The alignment has three passes. The first pass aligns equal names at any position, so a reordering has no
effect. The second pass aligns the rest (renamed, unnamed or one-sided items) by size, with the cheapest
sequence alignment (Needleman and Wunsch, J. Mol. Biol. 48, 1970). The third pass pairs renamed and reordered
items of equal size. All other items are one-sided.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Item", "Pair", "align"]

#: Cost of a one-sided item: the unit.
_ONE_SIDED: Final = 1.0
#: Cost of another name. With ``_OTHER_SIZE``, sizes within a factor of four are one renamed item, and farther
#: sizes are two items. The parts of a page differ by that much; the same part after a change seldom does.
_RENAMED: Final = 0.5
#: Cost of entirely different sizes.
_OTHER_SIZE: Final = 2.0
#: Maximum cost of another size under the same name: less than two one-sided items, so equal names always
#: align.
_SAME_NAME_MAX: Final = 1.0
#: Maximum number of comparisons, about a second. Longer sequences are compared near the diagonal only.
_CELLS_MAX: Final = 200_000
_DIAGONAL, _LEFT_ONLY, _RIGHT_ONLY = 0, 1, 2

#: Positions in the left and the right sequence; None for a one-sided item.
Pair = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Item:
    """Item to align. Only items of one kind can be equal; an empty kind or name is unknown."""

    kind: str
    name: str
    size: int


def align(left: Sequence[Item], right: Sequence[Item]) -> list[Pair]:
    """Return every position of both sequences once, in left order; right-only positions come last."""
    partners: dict[int, int] = {}
    for pass_ in (_by_name, _by_order_and_size, _by_size):
        lefts = [index for index in range(len(left)) if index not in partners]
        taken = set(partners.values())
        rights = [index for index in range(len(right)) if index not in taken]
        partners.update(pass_(left, right, lefts, rights))
    taken = set(partners.values())
    pairs: list[Pair] = [(index, partners.get(index)) for index in range(len(left))]
    return pairs + [(None, index) for index in range(len(right)) if index not in taken]


def _by_name(
    left: Sequence[Item], right: Sequence[Item], lefts: Sequence[int], rights: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of equal names, in their order."""
    places = defaultdict[tuple[str, str], tuple[list[int], list[int]]](lambda: ([], []))
    for side, items, indices in ((0, left, lefts), (1, right, rights)):
        for index in (index for index in indices if items[index].name):
            places[items[index].kind, items[index].name][side].append(index)
    for ours, theirs in places.values():

        def cost(i: int, j: int, ours: list[int] = ours, theirs: list[int] = theirs) -> float:
            return min(_SAME_NAME_MAX, _size_cost(left[ours[i]].size, right[theirs[j]].size))

        yield from ((ours[i], theirs[j]) for i, j in _cheapest(len(ours), len(theirs), cost))


def _by_order_and_size(
    left: Sequence[Item], right: Sequence[Item], lefts: Sequence[int], rights: Sequence[int]
) -> Iterator[tuple[int, int]]:
    def cost(i: int, j: int) -> float:
        one, other = left[lefts[i]], right[rights[j]]
        if one.kind and other.kind and one.kind != other.kind:
            return 2 * _ONE_SIDED
        return _RENAMED + _size_cost(one.size, other.size)

    return ((lefts[i], rights[j]) for i, j in _cheapest(len(lefts), len(rights), cost))


def _by_size(
    left: Sequence[Item], right: Sequence[Item], lefts: Sequence[int], rights: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of equal sizes at any distance; empty bodies prove nothing."""
    waiting = defaultdict[tuple[str, int], list[int]](list)
    for index in reversed(rights):
        waiting[right[index].kind, right[index].size].append(index)
    for index in lefts:
        twins = waiting[left[index].kind, left[index].size]
        if left[index].size and twins:
            yield index, twins.pop()


def _size_cost(one: int, other: int) -> float:
    greater = max(one, other)
    return _OTHER_SIZE * (1 - min(one, other) / greater) if greater else 0.0


def _cheapest(rows: int, columns: int, cost: Callable[[int, int], float]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of the cheapest alignment, without pairs that cost as much as two one-sided items."""
    alike = 0
    while alike < min(rows, columns) and cost(alike, alike) == 0:
        alike += 1
    # Equal items at the start are always cheapest.
    yield from ((index, index) for index in range(alike))
    rest = _tabulated(rows - alike, columns - alike, lambda row, column: cost(row + alike, column + alike))
    yield from ((row + alike, column + alike) for row, column in rest)


def _tabulated(rows: int, columns: int, cost: Callable[[int, int], float]) -> Iterable[tuple[int, int]]:
    """Return the cheapest alignment by dynamic programming, near the diagonal for large tables."""
    if not rows or not columns:
        return ()
    width = max(abs(rows - columns) + 1, _CELLS_MAX // (2 * rows))
    choices: list[tuple[int, bytearray]] = []
    first, before = 0, [index * _ONE_SIDED for index in range(min(columns, width) + 1)]
    for row in range(1, rows + 1):
        middle = row * columns // rows
        low, high = max(0, middle - width), min(columns, middle + width)
        costs, choice = _row(row, (low, high), first, before, cost)
        choices.append((low, choice))
        first, before = low, costs
    return _traced(rows, columns, choices)


def _row(
    row: int, span: tuple[int, int], first: int, before: Sequence[float], cost: Callable[[int, int], float]
) -> tuple[list[float], bytearray]:
    """Return the costs of a table row from the previous row, which begins at ``first``, with the origin of each.

    Of equal costs, the alignment of earlier items wins.
    """
    never = float("inf")
    costs: list[float] = []
    choice = bytearray()
    for column in range(span[0], span[1] + 1):
        above = column - first
        options = (
            before[above - 1] + _paired(cost, row - 1, column - 1) if 0 < above <= len(before) else never,
            before[above] + _ONE_SIDED if 0 <= above < len(before) else never,
            costs[-1] + _ONE_SIDED if costs else never,
        )
        best = min((_LEFT_ONLY, _RIGHT_ONLY, _DIAGONAL), key=options.__getitem__)
        costs.append(options[best])
        choice.append(best)
    return costs, choice


def _paired(cost: Callable[[int, int], float], row: int, column: int) -> float:
    made = cost(row, column)
    return made if made < 2 * _ONE_SIDED else float("inf")


def _traced(rows: int, columns: int, choices: Sequence[tuple[int, bytearray]]) -> list[tuple[int, int]]:
    pairs = []
    row, column = rows, columns
    while row:
        low, choice = choices[row - 1]
        taken = choice[column - low]
        if taken == _DIAGONAL:
            pairs.append((row - 1, column - 1))
        row -= taken != _RIGHT_ONLY
        column -= taken != _LEFT_ONLY
    return pairs[::-1]

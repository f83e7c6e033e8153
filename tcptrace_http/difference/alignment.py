"""Which items of two sequences are the same one: transactions, and retrievals.

In three passes. What has one name on both sides is aligned first, whatever its place: a reordering is seen
through. What is left is renamed, without a name, or missing on a side: a sequence alignment (Needleman and
Wunsch, J. Mol. Biol. 48, 1970) by size finds the cheapest account of that. What then still has a twin of the same
size was renamed and reordered. The rest is on one side only.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Item", "Pair", "align"]

#: What an item costs that is on one side only: the unit.
_ONE_SIDED: Final = 1.0
#: What another name costs. With ``_OTHER_SIZE``, sizes up to a factor of four apart are one renamed item, and
#: two items beyond that: a page's parts differ by that much, the same part after a change seldom does.
_RENAMED: Final = 0.5
#: What sizes cost that have nothing in common.
_OTHER_SIZE: Final = 2.0
#: The same name always aligns: at most this much for another size, which is less than two items on one side.
_SAME_NAME_MAX: Final = 1.0
#: Comparisons of a sequence alignment: about a second. Of longer sequences those near the diagonal are made.
_CELLS_MAX: Final = 200_000
_DIAGONAL, _LEFT_ONLY, _RIGHT_ONLY = 0, 1, 2

#: Positions in the left and the right sequence; None where the item is on one side only.
Pair = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Item:
    """What is aligned: only items of one kind are ever the same one; an empty kind or name is not known."""

    kind: str
    name: str
    size: int


def align(left: Sequence[Item], right: Sequence[Item]) -> list[Pair]:
    """Every position of both sequences once, in the order of the left one; those of the right alone are last."""
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
    """Those of one name among themselves, in their order."""
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
    """Those of exactly one size, however far apart; bodies of no size tell nothing."""
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
    """The pairs of positions of the cheapest alignment; none that costs as much as two items on one side."""
    alike = 0
    while alike < min(rows, columns) and cost(alike, alike) == 0:
        alike += 1
    # Nothing is cheaper than to align what is equal at the beginning.
    yield from ((index, index) for index in range(alike))
    rest = _tabulated(rows - alike, columns - alike, lambda row, column: cost(row + alike, column + alike))
    yield from ((row + alike, column + alike) for row, column in rest)


def _tabulated(rows: int, columns: int, cost: Callable[[int, int], float]) -> Iterable[tuple[int, int]]:
    """The same by the table of all beginnings of both sequences, near its diagonal if it is large."""
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
    """The costs of a row of the table from the row before, which begins at ``first``; where each comes from.

    Of two accounts that cost the same, the one that aligns earlier items is taken.
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

"""Whether what a paper concludes holds, whatever the figures: the signs of effects, and the order of figures.

With another stack or network no time is the printed one. A conclusion holds where four fifths of what can be asked
come out as the paper has them: an effect (a gain, a ratio of two strategies) is on the printed side of no effect;
of two figures of one unit that the paper prints as different, the larger is the larger one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_sim.reproduction.verdict import Comparison

__all__ = ["Conclusion", "Holding", "conclusion"]

#: Of what is asked.
HOLDS: Final = 0.8
HOLDS_IN_PART: Final = 0.5
#: Relative: nearer figures have no order, for a single run differs by as much.
DIFFERENT: Final = 0.25


class Holding(StrEnum):
    """What became of a conclusion."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    NOT = "does not hold"
    #: The claim has figures of one kind, and none of them is an effect.
    NOT_ASKED = "no effect or order"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """How much of a claim's signs and orders come out as printed."""

    kept: int
    asked: int

    @property
    def holding(self) -> Holding:
        """By the share that is kept."""
        if not self.asked:
            return Holding.NOT_ASKED
        share = self.kept / self.asked
        return Holding.HOLDS if share >= HOLDS else Holding.IN_PART if share >= HOLDS_IN_PART else Holding.NOT


def conclusion(comparisons: Sequence[Comparison]) -> Conclusion:
    """What the comparisons of a claim say of its conclusion."""
    effects = [one for one in comparisons if _is_effect(one)]
    kept = [not one.has_other_sign and one.ours.value != one.no_effect for one in effects]
    figures = [
        (one.published, one.ours.value, one.unit)
        for one in comparisons
        if not _is_effect(one) and not isinstance(one.published, tuple)
    ]
    for (low, ours, unit), (high, other, its_unit) in combinations(sorted(figures), 2):
        if unit == its_unit and high - low > DIFFERENT * max(abs(low), abs(high)):
            kept.append(ours < other)
    return Conclusion(sum(kept), len(kept))


def _is_effect(one: Comparison) -> bool:
    """A published figure or range on one side of no effect, where that is said or the range has no end."""
    is_order = isinstance(one.published, tuple) and inf in map(abs, one.published)
    return (one.neutral is not None or is_order) and one.has_sign

"""Test of a paper's conclusion by the signs of effects and the order of figures, not by their values.

With another stack or network, no time equals the printed time. A conclusion holds if four fifths of the tests
agree with the paper. An effect (a gain, a ratio of two strategies) must be on the printed side of no effect.
Of two figures of one unit that the paper prints as different, the larger must stay larger.
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

#: Share of the tests.
HOLDS: Final = 0.8
HOLDS_IN_PART: Final = 0.5
#: Relative: closer figures have no order, because single runs differ by the same amount.
DIFFERENT: Final = 0.25


class Holding(StrEnum):
    """Outcome of a conclusion."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    NOT = "does not hold"
    #: The claim has figures of one kind, and no effect.
    NOT_ASKED = "no effect or order"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Share of a claim's signs and orders that agree with the paper."""

    kept: int
    requested: int

    @property
    def holding(self) -> Holding:
        """Return the outcome by the share of agreement."""
        if not self.requested:
            return Holding.NOT_ASKED
        share = self.kept / self.requested
        return Holding.HOLDS if share >= HOLDS else Holding.IN_PART if share >= HOLDS_IN_PART else Holding.NOT


def conclusion(comparisons: Sequence[Comparison]) -> Conclusion:
    """Test the conclusion of a claim by its comparisons."""
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
    """Return a published figure or range on one side of no effect, if so stated or if the range is open."""
    is_order = isinstance(one.published, tuple) and inf in map(abs, one.published)
    return (one.neutral is not None or is_order) and one.has_sign

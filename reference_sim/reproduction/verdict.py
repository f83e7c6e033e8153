"""How far ours and the published are apart, and what that makes of a claim.

A verdict is computed from stated tolerances, never written down by hand: a claim is *reproduced* when
enough of its comparisons are within their tolerance, *reproduced in shape* when enough are within the
wider one (the rough size of an effect), else *not reproduced*, and then the experiment must say why. An effect
of the other sign, or an order that is turned over, is never in shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Comparison", "Judgement", "Mean", "Verdict", "judged"]


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    REPRODUCED_IN_SHAPE = "reproduced in shape"
    NOT_REPRODUCED = "not reproduced"


@dataclass(frozen=True, slots=True)
class Mean:
    """A figure, with the 95 % interval of its mean where seeds were repeated."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One published figure (or range) beside ours."""

    #: What is compared, in words a reader of the paper knows: "retrieval rate, 8 web, 1 FTP clients".
    what: str
    unit: str
    #: A figure, or the ends of a range; for an order or a shape that the paper states in words, what
    #: must hold as a range of ours (a ratio over 1 is ``(1.0, inf)``).
    published: float | tuple[float, float]
    ours: Mean
    #: How far from the published figure, or from the nearer end of the range, is still the same:
    #: relative to the published, or in its unit where ``absolute``.
    tolerance: float
    #: How far is still its shape; not less than ``tolerance``.
    shape_tolerance: float
    absolute: bool = False
    #: The figure that means no effect: 0 of a gain, 1 of a ratio of two strategies. None: 0, and of a range
    #: without an end the end that it has.
    neutral: float | None = None
    #: Half of the last digit that is printed, in the unit: no difference from the published.
    rounding: float = 0.0

    @property
    def distance(self) -> float:
        """How far ours is from the published figure or range, as ``tolerance`` counts it.

        Relative to a published zero all else is infinitely far.
        """
        low, high = self._ends
        outside = max(low - self.ours.value - self.rounding, self.ours.value - high - self.rounding, 0.0)
        if self.absolute or outside == 0:
            return outside
        nearer = abs(low if self.ours.value < low else high)
        return outside / nearer if nearer else inf

    @property
    def no_effect(self) -> float:
        """What ours is where there is no effect."""
        low, high = self._ends
        if self.neutral is not None:
            return self.neutral
        return low if high == inf else high if low == -inf else 0.0

    @property
    def has_sign(self) -> bool:
        """Whether all of the published is on one side of no effect."""
        return self._is_above or self._is_below

    @property
    def has_other_sign(self) -> bool:
        """Whether the published effect is on one side of no effect, and ours on the other."""
        ours = self.ours.value
        return (self._is_above and ours < self.no_effect) or (self._is_below and ours > self.no_effect)

    @property
    def _is_above(self) -> bool:
        low, high = self._ends
        return low >= self.no_effect and high > self.no_effect

    @property
    def _is_below(self) -> bool:
        low, high = self._ends
        return high <= self.no_effect and low < self.no_effect

    @property
    def _ends(self) -> tuple[float, float]:
        return self.published if isinstance(self.published, tuple) else (self.published, self.published)

    @property
    def ratio(self) -> float | None:
        """Ours over the published; of ranges and of nothing there is none."""
        if isinstance(self.published, tuple) or self.published == 0:
            return None
        return self.ours.value / self.published

    @property
    def verdict(self) -> Verdict:
        """What becomes of this figure alone."""
        if self.distance <= self.tolerance:
            return Verdict.REPRODUCED
        if self.distance <= self.shape_tolerance and not self.has_other_sign:
            return Verdict.REPRODUCED_IN_SHAPE
        return Verdict.NOT_REPRODUCED


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What became of a claim."""

    verdict: Verdict
    comparisons: Sequence[Comparison]
    #: The rule that made the verdict, in words: how many figures had to be within their tolerance, how many are.
    rule: str
    #: What was chosen where the paper is silent, and, for what is not reproduced, the reason found.
    remarks: str = ""
    #: Not all figures have to hold, and one more or one less would turn the verdict over.
    is_on_edge: bool = False


def judged(
    comparisons: Sequence[Comparison], *, share: float = 1.0, share_reason: str = "", remarks: str = ""
) -> Judgement:
    """The verdict of a claim: at least ``share`` of its comparisons must be within their tolerance.

    ``share_reason`` is why less than all is enough; the rule has it, so that readers see it.

    :raises ValueError: nothing was compared, less than all is asked for no reason, or what was not
        reproduced has no reason in ``remarks``.
    """
    if not comparisons:
        raise ValueError("a claim is judged by at least one comparison")
    if share < 1 and not share_reason:
        raise ValueError("that less than all figures are enough has a reason")
    verdicts = [one.verdict for one in comparisons]
    same = verdicts.count(Verdict.REPRODUCED)
    alike = len(verdicts) - verdicts.count(Verdict.NOT_REPRODUCED)
    verdict = _of_counts(same, alike, len(verdicts), share)
    near = {_of_counts(same + more, alike + more, len(verdicts), share) for more in (-1, 0, 1)}
    if verdict is Verdict.NOT_REPRODUCED and not remarks:
        raise ValueError("what is not reproduced has a reason")
    asked = "all figures" if share == 1 else f"at least {100 * share:.0f} % of the figures"
    why = f" ({share_reason})" if share < 1 else ""
    rule = (
        f"reproduced where {asked} are within the first tolerance, in shape where as many are within the second"
        f"{why}; of {len(verdicts)} here {same} and {alike}"
    )
    return Judgement(
        verdict=verdict,
        comparisons=comparisons,
        rule=rule,
        remarks=remarks,
        is_on_edge=share < 1 and len(near) > 1,
    )


def _of_counts(same: int, alike: int, count: int, share: float) -> Verdict:
    """The verdict of a claim by how many of its figures are the same, and how many at least alike."""
    if same / count >= share:
        return Verdict.REPRODUCED
    return Verdict.REPRODUCED_IN_SHAPE if alike / count >= share else Verdict.NOT_REPRODUCED

"""Distance between ours and the published figures, and the verdict on a claim.

Verdicts are computed from stated tolerances, never written by hand. A claim is *reproduced* if enough of its
comparisons are within their tolerance. A claim is *reproduced in shape* if enough are within the wider
tolerance (the rough size of an effect). Otherwise it is *not reproduced*, and the experiment must state the
reason. An effect of opposite sign, or a reversed order, is never in shape.
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
    """Outcome of a claim."""

    REPRODUCED = "reproduced"
    REPRODUCED_IN_SHAPE = "reproduced in shape"
    NOT_REPRODUCED = "not reproduced"


@dataclass(frozen=True, slots=True)
class Mean:
    """Figure, with the 95 % interval of its mean if seeds were repeated."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Published figure (or range) beside ours."""

    #: Compared quantity, in the paper's words: "retrieval rate, 8 web, 1 FTP clients".
    what: str
    unit: str
    #: Figure, or the ends of a range. If the paper states an order or a shape in words, the range that ours
    #: must meet (a ratio over 1 is ``(1.0, inf)``).
    published: float | tuple[float, float]
    ours: Mean
    #: Tolerance from the published figure, or from the nearer end of the range: relative to the published
    #: figure, or in its unit if ``absolute``.
    tolerance: float
    #: Tolerance of the shape; not less than ``tolerance``.
    shape_tolerance: float
    absolute: bool = False
    #: Figure that means no effect: 0 for a gain, 1 for a ratio of two strategies. None: 0, or, for an open
    #: range, its finite end.
    neutral: float | None = None
    #: Half of the last printed digit, in the unit: a smaller difference does not count.
    rounding: float = 0.0

    @property
    def distance(self) -> float:
        """Return the distance of ours from the published figure or range, in the measure of ``tolerance``.

        Relative to a published zero, every other figure is infinitely far.
        """
        low, high = self._ends
        outside = max(low - self.ours.value - self.rounding, self.ours.value - high - self.rounding, 0.0)
        if self.absolute or outside == 0:
            return outside
        nearer = abs(low if self.ours.value < low else high)
        return outside / nearer if nearer else inf

    @property
    def no_effect(self) -> float:
        """Figure of ours that means no effect."""
        low, high = self._ends
        if self.neutral is not None:
            return self.neutral
        return low if high == inf else high if low == -inf else 0.0

    @property
    def has_sign(self) -> bool:
        """Return whether all of the published range is on one side of no effect."""
        return self._is_above or self._is_below

    @property
    def has_other_sign(self) -> bool:
        """Return whether the published effect and ours are on opposite sides of no effect."""
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
        """Ratio of ours to the published figure; None for ranges and zero."""
        if isinstance(self.published, tuple) or self.published == 0:
            return None
        return self.ours.value / self.published

    @property
    def verdict(self) -> Verdict:
        """Verdict on this figure alone."""
        if self.distance <= self.tolerance:
            return Verdict.REPRODUCED
        if self.distance <= self.shape_tolerance and not self.has_other_sign:
            return Verdict.REPRODUCED_IN_SHAPE
        return Verdict.NOT_REPRODUCED


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Verdict on a claim, with its comparisons."""

    verdict: Verdict
    comparisons: Sequence[Comparison]
    #: Rule of the verdict in words: the required and the actual number of figures within tolerance.
    rule: str
    #: Choices where the paper is silent, and the reason for a failed reproduction.
    remarks: str = ""
    #: Not all figures have to hold, and one figure more or less changes the verdict.
    is_on_edge: bool = False


def judged(
    comparisons: Sequence[Comparison], *, share: float = 1.0, share_reason: str = "", remarks: str = ""
) -> Judgement:
    """Return the verdict on a claim: at least ``share`` of its comparisons must be within tolerance.

    ``share_reason`` states why less than all is enough; readers see it in the rule.

    :raises ValueError: nothing was compared, the required share is below 1 without a reason, or a failed
        reproduction has no reason in ``remarks``.
    """
    if not comparisons:
        raise ValueError("a claim is judged by at least one comparison")
    if share < 1 and not share_reason:
        raise ValueError("a share below all figures needs a reason")
    verdicts = [one.verdict for one in comparisons]
    same = verdicts.count(Verdict.REPRODUCED)
    alike = len(verdicts) - verdicts.count(Verdict.NOT_REPRODUCED)
    verdict = _of_counts(same, alike, len(verdicts), share)
    near = {_of_counts(same + more, alike + more, len(verdicts), share) for more in (-1, 0, 1)}
    if verdict is Verdict.NOT_REPRODUCED and not remarks:
        raise ValueError("a figure that is not reproduced needs a reason")
    requested = "all figures" if share == 1 else f"at least {100 * share:.0f} % of the figures"
    why = f" ({share_reason})" if share < 1 else ""
    rule = (
        f"reproduced if {requested} are within the first tolerance, in shape if as many are within the second"
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
    """Return the verdict from the numbers of equal and of similar figures."""
    if same / count >= share:
        return Verdict.REPRODUCED
    return Verdict.REPRODUCED_IN_SHAPE if alike / count >= share else Verdict.NOT_REPRODUCED

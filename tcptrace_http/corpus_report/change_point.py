"""Change point of a sequence of counts: the day when a finding began.

The method is the maximum of the likelihood-ratio statistic over all split points of the sequence (Hinkley and
Hinkley, "Inference about the change-point in a sequence of binomial variables", Biometrika 57, 1970). Days
differ by more than chance. Therefore the statistic is divided by the dispersion about both shares
(quasi-likelihood: McCullagh and Nelder, "Generalized Linear Models", 1989, section 4.5). Its tail is then
that of Student's t, times the number of split points (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan as arc_tangent
from math import cos, erfc, log, pi, sin, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Change", "change_point"]

#: Probability of a reported change without a real one. A report has hundreds of sequences.
SIGNIFICANCE: Final = 0.001
#: Minimum ratio of the shares; a smaller change is not reported.
RATIO_MIN: Final = 1.5
#: Minimum number of days. Fewer days do not show their variation.
_LENGTH_MIN: Final = 5


@dataclass(frozen=True, slots=True)
class Change:
    """Change: its place, and the shares before and after."""

    #: Index of the first entry after the change.
    at: int
    before: float
    after: float
    #: Probability of the change without a real one.
    chance: float

    @property
    def word(self) -> str:
        """Return the word for the change."""
        if self.before == 0:
            return "began"
        if self.after == 0:
            return "ended"
        return "grew" if self.after > self.before else "fell"


def change_point(counts: Sequence[int], totals: Sequence[int]) -> Change | None:
    """Return the most likely change of the share ``counts / totals``; None if chance explains it.

    :raises ValueError: a count exceeds its total, or all totals are zero.
    """
    if any(not 0 <= count <= total or total <= 0 for count, total in zip(counts, totals, strict=True)):
        raise ValueError("a count is one of a total")
    length = len(counts)
    if length < _LENGTH_MIN:
        return None
    at, ratio = max(((at, _likelihood_ratio(counts, totals, at)) for at in range(1, length)), key=lambda it: it[1])
    before, after = _share(counts[:at], totals[:at]), _share(counts[at:], totals[at:])
    dispersion = _dispersion(counts, totals, at)
    chance = min(1.0, (length - 1) * _tail(ratio, dispersion, length - 2))
    if chance > SIGNIFICANCE or max(before, after) < RATIO_MIN * min(before, after):
        return None
    return Change(at, before, after, chance)


def _share(counts: Sequence[int], totals: Sequence[int]) -> float:
    return sum(counts) / sum(totals)


def _likelihood_ratio(counts: Sequence[int], totals: Sequence[int], at: int) -> float:
    parts = ((counts[:at], totals[:at]), (counts[at:], totals[at:]))
    return 2 * (sum(_likelihood(sum(k), sum(n)) for k, n in parts) - _likelihood(sum(counts), sum(totals)))


def _likelihood(count: int, total: int) -> float:
    """Return the log-likelihood of a binomial count at its most likely share."""
    return sum(part * log(part / total) for part in (count, total - count) if part)


def _dispersion(counts: Sequence[int], totals: Sequence[int], at: int) -> float:
    """Return Pearson's chi-square about both shares, per degree of freedom."""
    chi_square = 0.0
    for k, n in ((counts[:at], totals[:at]), (counts[at:], totals[at:])):
        share = _share(k, n)
        if 0 < share < 1:
            spread = share * (1 - share)
            chi_square += sum(
                (count - total * share) ** 2 / (total * spread) for count, total in zip(k, n, strict=True)
            )
    return chi_square / (len(counts) - 2)


def _tail(ratio: float, dispersion: float, freedom: int) -> float:
    """Return the probability of a larger statistic: chi-square with one degree of freedom, or Student's t if
    overdispersed.
    """
    if dispersion <= 1:
        return erfc(sqrt(ratio / 2))
    return _student_tail(sqrt(ratio / dispersion), freedom)


def _student_tail(t: float, freedom: int) -> float:
    """Return the two-sided tail of Student's t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = arc_tangent(t / sqrt(freedom))
    if freedom % 2:
        term, total = cos(angle), cos(angle) if freedom > 1 else 0.0
        for k in range(3, freedom - 1, 2):
            term *= (k - 1) / k * cos(angle) ** 2
            total += term
        return 1 - 2 / pi * (angle + sin(angle) * total)
    term = total = 1.0
    for k in range(2, freedom - 1, 2):
        term *= (k - 1) / k * cos(angle) ** 2
        total += term
    return 1 - sin(angle) * total

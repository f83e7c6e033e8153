"""Figures and verdicts as text, for pages and terminals."""

from __future__ import annotations

from math import isfinite, isinf
from typing import TYPE_CHECKING, Final

from reference_sim.reproduction.verdict import Verdict

if TYPE_CHECKING:
    from reference_sim.reproduction.runner import Outcome
    from reference_sim.reproduction.verdict import Comparison, Mean

__all__ = ["SIGNS", "certainty", "figure", "interval", "ours", "percent", "published", "ratio", "tolerances"]

#: Distinguishable without colour.
SIGNS: Final = {Verdict.REPRODUCED: "●", Verdict.REPRODUCED_IN_SHAPE: "◐", Verdict.NOT_REPRODUCED: "○"}
_NOTHING: Final = "\N{EN DASH}"
_MINUS: Final = "\N{MINUS SIGN}"
_THOUSAND: Final = 1000
#: Rounding residue of a zero from sums of seconds; every compared figure is larger.
_NOISE: Final = 1e-12


def certainty(outcome: Outcome) -> str:
    """Describe the fragility of a verdict: one figure, or single seeds with their share of agreement."""
    figure_alone = ["one figure more or less changes it"] if outcome.judgement.is_on_edge else []
    seeds = [f"{outcome.agreeing} of {outcome.seeds} single seeds give it"] if outcome.seeds else []
    return f"uncertain: {', '.join(figure_alone + seeds)}"


def figure(value: float) -> str:
    """Format with four significant digits; whole numbers from a thousand on."""
    if not isfinite(value):
        return ("∞" if value > 0 else f"{_MINUS}∞") if isinf(value) else "no number"
    if abs(value) < _NOISE:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:.4g}"
    return text.replace("-", _MINUS).replace(",", "\N{NARROW NO-BREAK SPACE}")


def published(one: Comparison) -> str:
    """Format a figure, a range, or a bound."""
    if not isinstance(one.published, tuple):
        return figure(one.published)
    low, high = one.published
    if low == high:
        return figure(low)
    if isinf(high):
        return f"≥ {figure(low)}"
    if isinf(low):
        return f"≤ {figure(high)}"
    return f"{figure(low)} to {figure(high)}"


def ours(mean: Mean) -> str:
    """Format the mean alone."""
    return figure(mean.value)


def interval(mean: Mean) -> str:
    """Format half the width of the mean's 95 % interval."""
    return _NOTHING if mean.low is None or mean.high is None else f"± {figure((mean.high - mean.low) / 2)}"


def ratio(one: Comparison) -> str:
    """Format the ratio of ours to the published figure."""
    return _NOTHING if one.ratio is None else f"{one.ratio:.3f}".replace("-", _MINUS)


def percent(share: float, *, signed: bool = False) -> str:
    """Format a share in whole percent."""
    text = f"{100 * share:+.0f}" if signed else f"{100 * share:.0f}"
    return f"{text.replace('-', _MINUS)} %"


def tolerances(one: Comparison) -> str:
    """Format the counts of figures that agree, and that agree in shape."""
    if one.tolerance == one.shape_tolerance == 0:
        return "exact"
    return f"{_tolerance(one, one.tolerance)}, {_tolerance(one, one.shape_tolerance)}"


def _tolerance(one: Comparison, tolerance: float) -> str:
    if tolerance == 0:
        return "exact"
    return f"± {figure(tolerance)}" if one.absolute else f"± {figure(100 * tolerance)} %"

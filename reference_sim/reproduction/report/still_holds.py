"""Markdown page of the conclusions that hold with another stack or network."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING, Final

from reference_sim.reproduction.claim import TITLES
from reference_sim.reproduction.conclusion import Holding, conclusion
from reference_sim.reproduction.report import words
from tcptrace_http._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_sim.reproduction.experiment import Effort
    from reference_sim.reproduction.runner import Outcome
    from reference_sim.reproduction.verdict import Comparison

__all__ = ["still_holds"]

_COULD_NOT: Final = "could not run"


def still_holds(
    published: Sequence[Outcome], substituted: Sequence[Outcome], *, title: str, command: str, effort: Effort
) -> str:
    """Return the page: the score, then each claim's published verdict and the outcome of its conclusion."""
    return "\n".join(_lines(published, substituted, title, command, effort))


def _lines(
    published: Sequence[Outcome], substituted: Sequence[Outcome], title: str, command: str, effort: Effort
) -> Iterator[str]:
    found = {one.claim.id: one for one in substituted}
    holdings = [_holding(one) for one in substituted]
    yield f"# Conclusions of the papers that hold with {title}"
    yield ""
    yield (
        f"Made {datetime.now(UTC):%Y-%m-%d} by `{command}`: tcptrace-http {__version__}, Python"
        f" {platform.python_version()}, seeds: {effort.seeds}{', fewer and shorter runs' * effort.quick}."
        " The same command rewrites the page."
    )
    yield ""
    yield (
        f"Every claim of the five papers is simulated twice: in its paper's setting, and with {title} in place of"
        " the paper's. The subject of a claim stays (an initial window, shared state, the hub's transport)."
        " *Reproduced* compares figures in the papers' own setting. A conclusion *holds* if four fifths of its"
        " effects have the printed sign, and of its figures the printed order. It holds *in part* if half do."
        " The numbers are in brackets."
    )
    yield ""
    yield f"With {title}:"
    yield ""
    for holding in (*map(str, Holding), _COULD_NOT):
        ids = [one.claim.id for one in substituted if _holding(one) == holding]
        if ids:
            yield f"- {holding}: {len(ids)} of {len(holdings)} claims ({', '.join(ids)})"
    yield from ("", "## Conclusions that fail, or hold in part", "")
    for one in substituted:
        if _holding(one) in {str(Holding.IN_PART), str(Holding.NOT)}:
            yield f"- {one.claim.id}: {one.claim.says}. {_furthest(one.judgement.comparisons)}"
    for paper, (name, source) in TITLES.items():
        shown = [one for one in published if one.claim.paper == paper]
        if not shown:
            continue
        yield from ("", f"## {name}", "", f"{source}.", "")
        yield f"| claim | about | as published | with {title} |"
        yield "|---|---|---|---|"
        for one in shown:
            mark = " (uncertain)" if one.is_uncertain else ""
            yield (
                f"| {one.claim.id} | {one.claim.system}, {one.claim.where} |"
                f" {one.judgement.verdict}{mark}; {_words(one)} | {_words(found[one.claim.id])} |"
            )


def _holding(outcome: Outcome) -> str:
    return _COULD_NOT if outcome.failures else str(conclusion(outcome.judgement.comparisons).holding)


def _furthest(comparisons: Sequence[Comparison]) -> str:
    """Return the figure furthest from the printed figure; effects of opposite sign come first."""
    turned = [one for one in comparisons if one.has_other_sign] or list(comparisons)
    known = [one for one in turned if isfinite(one.distance) and isfinite(one.ours.value)] or turned
    most = max(known, key=lambda one: one.distance)
    unit = f" {most.unit}" if most.unit else ""
    return f"Largest deviation: {most.what}: printed {words.published(most)}, here {words.ours(most.ours)}{unit}."


def _words(outcome: Outcome) -> str:
    if outcome.failures:
        return f"{_COULD_NOT}: {outcome.failures[0].error}"
    found = conclusion(outcome.judgement.comparisons)
    return f"{found.holding} ({found.kept} of {found.requested})" if found.requested else str(found.holding)

"""Side given by a name: a strategy or fixes, applied to the inference from the other side.

``http11`` is a strategy, ``no-nagle`` a fix; ``http11+no-nagle`` and ``no-nagle+initial-window-10`` combine
two, in order. A part behind ``+`` is a fix: ``+compression`` is the fix, ``compression`` alone the strategy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import ScenarioError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_sim.scenario import Scenario
    from reference_sim.strategy import Strategy
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.inference import Figure
    from tcptrace_http.what_if.strategies import Candidate

__all__ = ["INFERRED", "SCENARIO_SUFFIX", "Modelled", "model_named", "modelled", "names"]

#: Suffix of scenario files.
SCENARIO_SUFFIX: Final = ".toml"
#: Name of the unchanged inferred scenario.
INFERRED: Final = "inferred"
#: Separator before each fix after the first part.
_AND: Final = "+"
_STANDARD_INPUT: Final = "-"
#: Maximum number of suggested names.
_NEAR_MAX: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Modelled:
    """Scenario in place of a capture, with its origin."""

    scenario: Scenario
    #: Inferred scenario before any change.
    inferred: Scenario
    #: Figures that the capture does not show.
    assumptions: tuple[Figure, ...]
    #: Reproduced retrievals of the capture: one, or each visit of a strategy with several.
    retrievals: tuple[int, ...]
    #: Number of visits per page; the last one is the strategy's subject.
    visits_of_page: int
    #: Notes, such as a fix without an effect.
    notes: tuple[str, ...]


def model_named(source: object) -> str | None:
    """Return the name if the source is a text that is no file. A file with a strategy's name is a file.

    :raises UnknownName: the text is neither a file nor a name.
    """
    if not isinstance(source, str) or source == _STANDARD_INPUT or source.endswith(SCENARIO_SUFFIX):
        return None
    if Path(source).exists():
        return None
    first, fixes = _parts(source)
    for part, known in ((first, names()), *((fix, _fixes()) for fix in fixes)):
        if part not in known:
            raise UnknownName(f"{source!r} is neither a file nor a strategy or fix{_near(source, part, known)}")
    return source


def modelled(name: str, analysis: Analysis, *, retrieval: int | None) -> Modelled:
    """Return the named scenario on the path, with hosts and page inferred from a capture.

    :raises ScenarioError: nothing can be inferred, or the strategy does not fit.
    """
    from tcptrace_http.what_if.captured import captured
    from tcptrace_http.what_if.fixes import FIXES
    from tcptrace_http.what_if.predict import nearest
    from tcptrace_http.what_if.strategies import unmodified

    first, fixes = _parts(name)
    number = _most_transactions(analysis) if retrieval is None else retrieval
    numbers = _visits(analysis, number, first) if retrieval is None else (number,)
    told = captured(analysis, retrieval=number, session=len(numbers) > 1)
    inferred = nearest(told)
    is_fix = first in FIXES and first not in _strategies()
    is_as_it_is = is_fix or first == INFERRED
    candidate = unmodified(inferred) if is_as_it_is else _by_strategy(_of_first_visit(inferred), first)
    notes = [f"What is compared of {first} is {candidate.note}."] if candidate.note else []
    for fix in [first, *fixes] if is_fix else fixes:
        fixed = FIXES[fix].apply(candidate.scenario)
        if fixed is None:
            notes.append(f"{fix} changes nothing: {FIXES[fix].unneeded}.")
        else:
            candidate = replace(candidate, scenario=fixed)
    return Modelled(
        scenario=candidate.scenario,
        inferred=inferred,
        assumptions=tuple(figure for figure in told.figures if figure.is_assumed),
        retrievals=numbers,
        visits_of_page=candidate.visits_of_page,
        notes=tuple(notes),
    )


def _most_transactions(analysis: Analysis) -> int:
    """Return the retrieval with most transactions, the default of the inference."""
    ranked = analysis.retrievals.sort("transactions", "retrieval", descending=[True, False])
    if ranked.is_empty():
        raise ScenarioError(f"{analysis.capture.path} has no retrieval from which a scenario could be inferred")
    return int(ranked["retrieval"][0])


def _visits(analysis: Analysis, number: int, name: str) -> tuple[int, ...]:
    """Return the captured retrievals that the strategy's visits represent: this one, or its session's visits.

    A strategy with two visits per page is compared with two captured visits, if the capture has them.
    """
    from reference_sim.page import Page, objects_of
    from tcptrace_http.inference.observe import visits_of_session

    strategy = _strategies().get(name)
    count = 1 if strategy is None else len(strategy.revisit(Page(name=name, objects=objects_of(1))))
    visits = visits_of_session(analysis, number)
    is_plain = count > 1 and len(visits) == count and all(len(parts) == 1 for parts in visits)
    return tuple(part for parts in visits for part in parts) if is_plain else (number,)


def _of_first_visit(scenario: Scenario) -> Scenario:
    """Return the scenario with its browser's first visit, and the captured pause after it."""
    from reference_sim.page import Constant
    from reference_sim.quantities import nanoseconds

    (browser,) = scenario.browsers
    first, *others = browser.visits
    if not others or others[0].think is None:
        return scenario
    pause = Constant(value=nanoseconds(others[0].think))
    return replace(scenario, browsers=(replace(browser, visits=(first,), think=pause),))


def _by_strategy(scenario: Scenario, name: str) -> Candidate:
    from tcptrace_http.what_if.strategies import under

    candidate = under(scenario, _strategies()[name])
    if candidate.scenario.transfers:
        raise ScenarioError(f"{name} is not HTTP: its transfers are no transactions that could be aligned")
    return candidate


def _parts(name: str) -> tuple[str, list[str]]:
    """Return the first part, which may be a strategy, and the fixes after it."""
    first, *fixes = name.split(_AND)
    return first or INFERRED, fixes


def _strategies() -> Mapping[str, Strategy]:
    from reference_sim.strategies import STRATEGIES

    return STRATEGIES


def _fixes() -> list[str]:
    from tcptrace_http.what_if.fixes import FIXES

    return list(FIXES)


def names() -> list[str]:
    """Return the possible first parts of a name."""
    return [INFERRED, *_strategies(), *_fixes()]


def _near(name: str, part: str, known: list[str]) -> str:
    """Return suggestions: nearby files and similar names, or all names if none is similar."""
    path = Path(name)
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    files = [str(path.with_name(each)) for each in get_close_matches(path.name, beside, n=_NEAR_MAX)]
    near = [*(f"the file {each!r}" for each in files), *map(repr, get_close_matches(part, known, n=_NEAR_MAX))]
    return f"; did you mean {' or '.join(near)}?" if near else f" (these are: {', '.join(known)})"

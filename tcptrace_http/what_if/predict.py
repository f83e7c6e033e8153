"""Predictions from a capture: the baseline, and each fix and strategy."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

from reference_sim.quantities import bits_per_second, nanoseconds
from reference_sim.strategies import STRATEGIES, named_strategy
from tcptrace_http.errors import ScenarioError
from tcptrace_http.what_if.alternatives import alike, undetermined
from tcptrace_http.what_if.captured import captured
from tcptrace_http.what_if.draws import DRAWS, draws
from tcptrace_http.what_if.fixes import FIXES, fix_named
from tcptrace_http.what_if.outcome import elapsed_of, outcome_of
from tcptrace_http.what_if.path import over
from tcptrace_http.what_if.prediction import Cause, Range, Row, Skipped
from tcptrace_http.what_if.result import WhatIf
from tcptrace_http.what_if.strategies import under, unmodified

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

    from reference_sim.scenario import Scenario
    from reference_sim.strategy import Strategy
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.what_if.captured import Captured
    from tcptrace_http.what_if.fix import Fix
    from tcptrace_http.what_if.outcome import Outcome
    from tcptrace_http.what_if.strategies import Candidate

__all__ = ["nearest", "whatif"]

#: Keyword for every name.
_ALL: Final = "all"


def whatif(  # noqa: PLR0913 -- one parameter a choice
    source: str | os.PathLike[str] | Analysis,
    *,
    fixes: Sequence[str] | str | None = None,
    strategies: Sequence[str] | str | None = None,
    rtt: int | timedelta | str | None = None,
    rate: int | str | None = None,
    retrieval: int | None = None,
    session: bool = False,
    draws: int = DRAWS,
    jobs: int = 1,
) -> WhatIf:
    """Predict the time of a captured retrieval with fixes, and with other strategies.

    The inferred scenario reproduces the capture. It is simulated unchanged and with each change. ``fixes``
    and ``strategies`` are names or ``"all"``; by default all strategies, and all fixes with an effect.
    ``rtt`` (nanoseconds, or text such as ``100 ms``) and ``rate`` (bits per second, or ``1.5 Mb/s``) replace
    those of the path. ``retrieval`` is the predicted one, by default the one with most transactions.
    ``session`` adds all other visits of its client to its server. Ranges come from ``draws`` more runs of
    each candidate, with figures drawn within their bounds. ``jobs`` is the number of simulation threads.

    >>> import tcptrace_http
    >>> prediction = tcptrace_http.whatif("sample_traces/bsd_phttp_orig.pcap", fixes=["no-nagle"], draws=0)
    >>> prediction.row("no-nagle").causes[0].cause
    'stall.nagle_delayed_ack'

    :raises CaptureError: the capture cannot be read.
    :raises ScenarioError: the capture has no retrieval, or a strategy name is unknown.
    :raises UnknownName: a fix name is unknown.
    """
    chosen_fixes = _fixes(fixes, is_default=fixes is None and strategies is None)
    chosen_strategies = _strategies(strategies, is_default=fixes is None and strategies is None)
    what = captured(_analysis(source), retrieval=retrieval, session=session)
    requested = {
        "rtt_ns": None if rtt is None else nanoseconds(rtt),
        "rate": None if rate is None else bits_per_second(rate),
    }
    told = alike(nearest(what), what.figures)
    base = _baseline(told, what, draws, requested)
    is_named = fixes is not None and fixes != _ALL
    work: list[Callable[[], Row | Skipped]] = [
        *(partial(_fixed, base, fix, what, is_asked_for=is_named) for fix in chosen_fixes),
        *(partial(_by_strategy, base, strategy) for strategy in chosen_strategies),
    ]
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        made = list(pool.map(lambda each: each(), work))
    rows = [row for row in made if isinstance(row, Row)]
    return WhatIf(
        capture=what.name,
        retrievals=unmodified(told[0]).retrievals,
        captured_retrievals=what.retrievals,
        measured_ns=what.elapsed_ns,
        modelled_ns=base.outcome.elapsed_ns if requested == _AS_CAPTURED else elapsed_of(unmodified(told[0])),
        baseline_ns=base.outcome.elapsed_ns,
        baseline=_range(base.elapsed),
        baseline_causes=dict(base.outcome.causes),
        stalls=what.stalls,
        part=what.part,
        undetermined=undetermined(what.figures),
        rows=tuple(sorted(rows, key=lambda row: -row.saved_ns)),
        skipped=tuple(row for row in made if isinstance(row, Skipped)),
        **requested,
    )


_AS_CAPTURED: Final[dict[str, int | None]] = {"rtt_ns": None, "rate": None}


@dataclass(frozen=True, slots=True)
class _Baseline:
    """Scenarios of all draws, the inferred figures first, with their times."""

    scenarios: tuple[Scenario, ...]
    elapsed: tuple[int, ...]
    outcome: Outcome


def _analysis(source: str | os.PathLike[str] | Analysis) -> Analysis:
    from tcptrace_http.analysis import Analysis, analyze
    from tcptrace_http.inference import NEEDED_TABLES

    return source if isinstance(source, Analysis) else analyze(source, tables=NEEDED_TABLES)


def _fixes(names: Sequence[str] | str | None, *, is_default: bool) -> list[Fix]:
    if is_default or names == _ALL:
        return list(FIXES.values())
    return [fix_named(name) for name in _listed(names)]


def _strategies(names: Sequence[str] | str | None, *, is_default: bool) -> list[Strategy]:
    if is_default or names == _ALL:
        return list(STRATEGIES.values())
    return [named_strategy(name) for name in _listed(names)]


def _listed(names: Sequence[str] | str | None) -> list[str]:
    return [names] if isinstance(names, str) else list(dict.fromkeys(names or ()))


def nearest(what: Captured) -> Scenario:
    """Return the inferred scenario; with losses, with the seed whose time is nearest to the captured one.

    :raises ScenarioError: its retrieval does not finish.
    """
    scenario = what.scenario
    if not any(link.loss for link in scenario.network.links):
        return scenario
    seeds = (replace(scenario, seed=scenario.seed + number) for number in range(DRAWS + 1))
    return min(seeds, key=lambda seeded: abs(elapsed_of(unmodified(seeded)) - what.elapsed_ns))


def _baseline(
    told: Sequence[Scenario], what: Captured, count: int, requested: Mapping[str, int | None]
) -> _Baseline:
    rtt, rate = requested["rtt_ns"], requested["rate"]
    # A draw must reproduce the capture on the captured path.
    drawn = draws(told, what.figures, count)
    scenarios = tuple(over(scenario, rtt_ns=rtt, rate=rate) for scenario in drawn)
    outcome = outcome_of(unmodified(scenarios[0]))
    others = (elapsed_of(unmodified(drawn)) for drawn in scenarios[1:])
    return _Baseline(scenarios, (outcome.elapsed_ns, *others), outcome)


def _fixed(base: _Baseline, fix: Fix, what: Captured, *, is_asked_for: bool) -> Row | Skipped:
    """Return the row of a fix. A fix without an effect has a row only if it was requested."""
    scenarios = [fix.apply(scenario) for scenario in base.scenarios]
    fixed_findings = tuple(detector for detector in fix.fixed_findings if detector in what.findings)
    if scenarios[0] is None and not is_asked_for:
        return Skipped(kind="fix", name=fix.name, reason=fix.unneeded)
    candidates = [None if scenario is None else unmodified(scenario) for scenario in scenarios]
    row = _row(base, candidates, kind="fix", name=fix.name, about=fix.about, source=fix.source)
    if isinstance(row, Skipped):
        return row
    note = fix.unneeded if scenarios[0] is None else ""
    return replace(
        row, side=str(fix.side), fixed_findings=fixed_findings, is_practical=fix.is_practical, note=note
    )


def _by_strategy(base: _Baseline, strategy: Strategy) -> Row | Skipped:
    name, about, source = strategy.name, strategy.about, strategy.source
    try:
        candidates = [under(scenario, strategy) for scenario in base.scenarios]
    except ScenarioError as error:
        return Skipped(kind="strategy", name=name, reason=error.what)
    row = _row(base, candidates, kind="strategy", name=name, about=about, source=source)
    if isinstance(row, Skipped):
        return row
    first = candidates[0]
    return replace(row, note=first.note, is_second_access=first.visits_of_page > 1)


def _row(
    base: _Baseline, candidates: Sequence[Candidate | None], *, kind: str, name: str, about: str, source: str
) -> Row | Skipped:
    """Return the row of a change: the times of all draws against the baseline of the same draw."""
    try:
        first = base.outcome if candidates[0] is None else outcome_of(candidates[0])
        others = (
            own if candidate is None else elapsed_of(candidate)
            for own, candidate in zip(base.elapsed[1:], candidates[1:], strict=True)
        )
        elapsed = (first.elapsed_ns, *others)
    except ScenarioError as error:
        return Skipped(kind=kind, name=name, reason=error.what)
    saved = [own - taken for own, taken in zip(base.elapsed, elapsed, strict=True)]
    return Row(
        kind=kind,
        name=name,
        about=about,
        source=source,
        elapsed_ns=first.elapsed_ns,
        saved_ns=saved[0],
        elapsed=_range(elapsed),
        saved=_range(saved),
        share=saved[0] / max(base.outcome.elapsed_ns, 1),
        causes=_causes(base.outcome, first),
    )


def _range(values: Sequence[int]) -> Range:
    return Range(low_ns=min(values), median_ns=round(median(values)), high_ns=max(values))


def _causes(before: Outcome, after: Outcome) -> tuple[Cause, ...]:
    """Return the causes with different times; their differences sum to the difference of the total."""
    one, other = Counter(before.causes), Counter(after.causes)
    names = sorted({*one, *other}, key=lambda name: (-abs(one[name] - other[name]), name))
    return tuple(
        Cause(cause=name, before_ns=one[name], after_ns=other[name]) for name in names if one[name] != other[name]
    )

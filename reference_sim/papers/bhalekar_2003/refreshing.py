"""B18 and B19: the cumulative cache shows and refreshes a page; the cache is flushed (5.3, 7.1.2)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Final

from reference_sim.page import expected
from reference_sim.page_versions import conditional_get
from reference_sim.pages import page as page_named
from reference_sim.papers.bhalekar_2003.cumulative_cache import KEPT, kept_open, lan, visits
from reference_sim.papers.bhalekar_2003.office import Office, Tally, day, tallied
from reference_sim.papers.bhalekar_2003.saved_bytes import partly_changed
from reference_sim.papers.bhalekar_2003.scenarios import (
    ASSUMED_GROUND,
    RENO,
    hybrid,
    repeated,
    seconds,
    through_hub,
)
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record
from reference_sim.stacks import stack
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from reference_sim.page import Page
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["FLUSHING", "REFRESHING", "weeks"]

_MORE: Final = (1.0, inf)
_PAGE: Final = "espn"
_SHOWN: Final = "displayed from the cumulative cache"
_FRESH: Final = "validated: nothing changed"
_AT_HUB: Final = "refreshed: the NOC has the newer version"
_AT_SERVER: Final = "refreshed: the NOC fetches the newer version"


def _validated(page: Page) -> tuple[Page, ...]:
    """Return the cached page, and the request that validates its document."""
    requested = conditional_get(page)[-1]
    return page, requested.with_objects(requested.objects[:1])


def _refreshed(page: Page) -> tuple[Page, ...]:
    """Return the cached page, and the page again with its changes."""
    return page, partly_changed(page)


def _scenario(revisit: Callable[[Page], tuple[Page, ...]], *, at_hub: bool) -> Scenario:
    """Return the path from the terminal over the satellite (RWBP), to the NOC's cache or to the server."""
    made = retrieval(
        strategy=replace(KEPT, name=revisit.__name__, revisit=revisit, plan=kept_open),
        page=page_named(_PAGE),
        network=hybrid(ground=ASSUMED_GROUND),
        client_stack=RENO,
        record=Record(),
    )
    if not at_hub:
        return through_hub(made, persistent=True)
    space = stack("rwbp")
    (origin,), (browser,) = made.servers, made.browsers
    return replace(
        made,
        servers=(replace(origin, node="hub", stack=space),),
        browsers=(replace(browser, stack=space),),
    )


def _second(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds and bytes (requests, responses) of the second visit, on an open connection."""
    truth = simulation.truth
    own = truth.retrievals.filter(truth.retrievals["client"] == 0)
    elapsed = seconds(own["end"] - own["start"])[1]
    rows = truth.transactions.filter(truth.transactions["browser"] == 0, truth.transactions["visit"] == 1)
    sizes = rows["request_bytes"] + rows["response_head_bytes"] + rows["response_body_bytes"]
    return {"open_s": elapsed, "bytes": float(sizes.sum())}


def _runs(effort: Effort) -> Iterable[Run]:
    yield from repeated(effort, _SHOWN, lan(), visits)
    for label, revisit, at_hub in (
        (_FRESH, _validated, True),
        (_AT_HUB, _refreshed, True),
        (_AT_SERVER, _refreshed, False),
    ):
        yield from repeated(effort, label, _scenario(revisit, at_hub=at_hub), _second)


def _judge(results: Results) -> Judgement:
    page_bytes = sum(expected(one.size) for one in page_named(_PAGE).objects)

    def time(label: str) -> float:
        return results.value(label, "open_s")

    shown = time(_SHOWN)
    return judged(
        [
            *(
                _ordered(f"time until the page is {label}, over that until it is displayed", time(label) / shown)
                for label in (_FRESH, _AT_HUB, _AT_SERVER)
            ),
            _ordered("time with a newer version over that of a validation alone", time(_AT_HUB) / time(_FRESH)),
            _ordered(
                "time with a newer version at the server alone, over that with one at the NOC",
                time(_AT_SERVER) / time(_AT_HUB),
            ),
            _ordered("bytes of the page over those of a validation", page_bytes / results.value(_FRESH, "bytes")),
            _ordered("bytes of the page over those of a refresh", page_bytes / results.value(_AT_HUB, "bytes")),
        ],
        remarks=f"The page is on the user's screen after {1000 * shown:.0f} ms. Its validity is known after"
        f" {time(_FRESH):.2f} s. If the NOC, which validates with the server by itself, has the newer version,"
        f" that version arrives after {time(_AT_HUB):.2f} s, else after {time(_AT_SERVER):.2f} s. A quarter of"
        " the page's objects changed. Connections over the satellite are open; 25 ms of ground each way.",
    )


def _ordered(what: str, ours: float) -> Comparison:
    """Return the comparison of a ratio that must exceed one."""
    return Comparison(
        what=what, unit="ratio", published=_MORE, ours=Mean(ours), tolerance=0.0, shape_tolerance=0.0
    )


#: Five working days of eight hours.
_DAYS: Final = 5
_DAY_HOURS: Final = 8.0
_WEEKS: Final = 10
#: "Every 24 hours" (5.3), as working hours; and no flush within the week.
_FLUSHES: Final = {"each day": _DAY_HOURS, "each week": _DAYS * _DAY_HOURS}


@cache
def weeks(flush: str) -> Sequence[Tally]:
    """Return weeks of an office whose cumulative cache is flushed at these intervals."""
    usual = Office()
    office = replace(usual, hours=_DAYS * _DAY_HOURS, requests=_DAYS * usual.requests)
    return [tallied(list(day(office, seed=seed)), flush_hours=_FLUSHES[flush]) for seed in range(1, _WEEKS + 1)]


def _judge_flushes(results: Results) -> Judgement:
    del results
    daily, weekly = (weeks(flush) for flush in _FLUSHES)

    def ratio(share: Callable[[Tally], float], of: Sequence[Tally], over: Sequence[Tally]) -> float:
        return fmean(map(share, of)) / fmean(map(share, over))

    return judged(
        [
            _ordered(
                "hits of the caches, weekly flush over daily",
                ratio(lambda tally: tally.hit_share, weekly, daily),
            ),
            _ordered(
                "pages that cross the satellite, daily flush over weekly",
                ratio(lambda tally: tally.crossing_share, daily, weekly),
            ),
            _ordered(
                "outdated hits, weekly flush over daily",
                ratio(lambda tally: tally.stale_share, weekly, daily),
            ),
        ],
        remarks=_FLUSH_REMARKS.format(
            *(
                fmean(map(share, tallies))
                for share in (lambda tally: tally.hit_share, lambda tally: tally.stale_share)
                for tallies in (daily, weekly)
            )
        ),
    )


_FLUSH_REMARKS: Final = (
    f"The office of B5 for {_DAYS} days; documents change only by day, and browsers keep their own caches. Hits:"
    " {:.0%} with a daily flush, {:.0%} with a weekly one; outdated {:.0%} and {:.0%}."
)


def _no_runs(_: Effort) -> Iterable[Run]:
    return ()


#: Section 5.3.
REFRESHING: Final = Experiment(claim="B18", runs=_runs, judge=_judge)
#: Sections 5.3, 5.6 and 7.1.2.
FLUSHING: Final = Experiment(claim="B19", runs=_no_runs, judge=_judge_flushes)

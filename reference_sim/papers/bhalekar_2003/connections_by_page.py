"""B16 and B17: the number of connections by page (section 4.1) and by customer (section 4.7)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.pages import page as page_named
from reference_sim.papers.bhalekar_2003.scenarios import Access, page_time, repeated, retrieved
from reference_sim.reproduction.drawing import bars
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.strategies import named_strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import altair as alt

__all__ = ["ADAPTIVE_CONNECTIONS", "SERVICE_PLANS", "adaptive"]

_MORE: Final = (1.0, inf)
#: One connection with a large window; one connection per object with a small window (section 4.2.2).
_ONE: Final = "exactconn"
_MANY: Final = "maxconn"
#: "Plain HTML, or has a single large image"; "several moderate-sized elements"; the extremes of section 4.2.2.
_SINGLE: Final = ("one-large", "bhalekar-1-large")
_SEVERAL: Final = ("bhalekar-5-medium", "bhalekar-10-medium", "bhalekar-25-medium", "fifty-small", "espn")
_QUICK_SEVERAL: Final = ("bhalekar-5-medium", "fifty-small")


def adaptive(page: str) -> str:
    """Return the strategy for a page: one connection unless the page has several embedded objects."""
    return _MANY if len(page_named(page).objects) > 2 else _ONE  # noqa: PLR2004 -- the document is an object


def _label(strategy: str, page: str) -> str:
    return f"{strategy}, {page}"


def _by_page(effort: Effort) -> Iterable[Run]:
    for page in (*_SINGLE, *(_QUICK_SEVERAL if effort.quick else _SEVERAL)):
        for strategy in (_ONE, _MANY):
            scenario = retrieved(strategy, page, access=Access.END_TO_END)
            yield from repeated(effort, _label(strategy, page), scenario, page_time)


def _judge_pages(results: Results) -> Judgement:
    comparisons = []
    for page in (*_SINGLE, *_SEVERAL):
        if _label(_ONE, page) not in results.measured:
            continue
        chosen = adaptive(page)
        other = _ONE if chosen == _MANY else _MANY
        times = [results.value(_label(name, page), "page_s") for name in (other, chosen)]
        comparisons.append(_ordered(f"{page}: time of {other} over the chosen {chosen}", times[0] / times[1]))
    return judged(
        comparisons,
        remarks="TCP runs end to end here. Through the hub the space segment has no slow start, and a larger"
        " initial window changes nothing (B2). A page with at most one embedded object uses one connection"
        " with four segments. A page with more uses one connection per object with one segment, all opened at"
        " once.",
    )


#: Connections of each service plan: existing access, and more ("gold", "platinum"). The page has 25 objects.
_PLANS: Final = (4, 8, 16)
_BEYOND: Final = (26, 52)
_PLAN_PAGE: Final = "bhalekar-25-medium"
_SAME: Final = 0.02


def _plan_label(connections: int) -> str:
    return f"optimized browser, {connections} connections"


def _by_plan(effort: Effort) -> Iterable[Run]:
    for connections in (*_PLANS, *_BEYOND):
        strategy = replace(named_strategy("optimized-browser"), connections=connections)
        yield from repeated(effort, _plan_label(connections), retrieved(strategy, _PLAN_PAGE), page_time)


def _judge_plans(results: Results) -> Judgement:
    def seconds(connections: int) -> float:
        return results.value(_plan_label(connections), "page_s")

    enough, more = _BEYOND
    comparisons = [
        _ordered(f"page time with {few} connections over {many}", seconds(few) / seconds(many))
        for few, many in pairwise((*_PLANS, enough))
    ]
    comparisons.append(
        Comparison(
            what=f"page time with {enough} connections, one for each object, over {more}",
            unit="ratio",
            published=1.0,
            ours=Mean(seconds(enough) / seconds(more)),
            tolerance=_SAME,
            shape_tolerance=5 * _SAME,
            neutral=0.0,
        )
    )
    return judged(
        comparisons,
        remarks="The thesis has no figures of its plans; ours start with the four connections of existing"
        " browsers. The space segment carries only this page: the cost to other customers is not included.",
    )


def _ordered(what: str, ours: float) -> Comparison:
    """Return the comparison of a ratio that must exceed one."""
    return Comparison(
        what=what, unit="ratio", published=_MORE, ours=Mean(ours), tolerance=0.0, shape_tolerance=0.0
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    rows = [
        {"connections": str(count), "page, s": results.value(_plan_label(count), "page_s"), "of": _PLAN_PAGE}
        for count in (*_PLANS, *_BEYOND)
    ]
    drawn = bars(rows, category="connections", value="page, s", group="of")
    return {"Section 4.7: page time by the connections of a service plan": drawn}


#: Section 4.1.
ADAPTIVE_CONNECTIONS: Final = Experiment(
    claim="B16", studies=frozenset({"initial_window"}), runs=_by_page, judge=_judge_pages
)
#: Section 4.7.
SERVICE_PLANS: Final = Experiment(claim="B17", runs=_by_plan, judge=_judge_plans, charts=_charts)

"""B3: the number of connections, and pages of one large object (section 4.4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.pages import sized
from reference_sim.papers.bhalekar_2003.scenarios import Access, page_time, repeated, retrieved
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.stacks import stack
from reference_sim.strategy import Discovery, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import altair as alt

    from reference_sim.scenario import Scenario

__all__ = ["CONNECTIONS", "with_connections"]

#: Objects of the swept page, including its base document; and the numbers of connections, up to and beyond
#: that.
_OBJECTS: Final = 51
_SWEEP: Final = (1, 2, 4, 8, 13, 17, 26, 34, 42, 51, 60, 80)
_QUICK_SWEEP: Final = (1, 4, 17, 51, 60)
_PAGES: Final = ("espn", "fifty-small")
#: "One extremely large object": OPNET's large object has 50 kB; also ten times and forty times that size.
_LARGE: Final = (50_000, 500_000, 2_000_000)
_FOUR: Final = ("http10-serial", "http11-pipelined", "maxconn", "exactconn")
#: No slow start end to end: RWBP on the whole path, because OPNET has one transport per host.
_NO_SLOW_START: Final = "RWBP from end to end"
# A figure does not show that more connections are slower by this much: a bit error, one packet's time.
_STEP: Final = 0.02
_STEP_SHAPE: Final = 0.10
# "Identical results": two indistinguishable lines of a figure.
_SAME: Final = 0.02
_SAME_SHAPE: Final = 0.25
# Minimum ratio: with the pages' 51 objects, one connection takes at least 50 round trips.
_FALL: Final = (10.0, inf)
_SHARE: Final = 0.9
_SHARE_REASON: Final = "the size of the one large object and the transport of the hosts are not printed"


def with_connections(count: int) -> Strategy:
    """Return HTTP/1.0 on this many connections with all objects known in advance, as in MaxConn."""
    return Strategy(name=f"http10-of-{count}", about="", connections=count, discovery=Discovery.KNOWN)


def _swept(count: int, page: str, access: Access) -> str:
    return f"{count} connections, {page}, {access}"


def _alone(strategy: str, size: int, transport: str) -> str:
    return f"{strategy}, one object of {size} B, {transport}"


def _runs(effort: Effort) -> Iterable[Run]:
    for access in Access:
        for page in _PAGES[:1] if effort.quick else _PAGES:
            for count in _QUICK_SWEEP if effort.quick else _SWEEP:
                scenario = retrieved(with_connections(count), page, access=access)
                yield from repeated(effort, _swept(count, page, access), scenario, page_time)
    for size in _LARGE:
        for strategy in _FOUR:
            for access in Access:
                scenario = retrieved(strategy, sized(f"one-of-{size}", size), access=access)
                yield from repeated(effort, _alone(strategy, size, access), scenario, page_time)
            yield from repeated(
                effort, _alone(strategy, size, _NO_SLOW_START), _without_slow_start(scenario), page_time
            )


def _without_slow_start(scenario: Scenario) -> Scenario:
    """Return the same page directly from the server, with RWBP at both ends."""
    space = stack("rwbp")
    servers = (replace(scenario.servers[0], stack=space),)
    return replace(
        scenario, servers=servers, browsers=(replace(scenario.browsers[0], origin="server"),), proxies=()
    )


def _sweep(results: Results, page: str, access: Access) -> dict[int, float]:
    """Return page time by the number of connections."""
    labels = {count: _swept(count, page, access) for count in _SWEEP}
    return {count: results.value(label, "page_s") for count, label in labels.items() if label in results.measured}


def _worst(ratios: Iterable[float]) -> float:
    """Return the ratio that is furthest from one."""
    return max(ratios, key=lambda ratio: abs(ratio - 1))


def _falls(results: Results, page: str, access: Access) -> Iterator[Comparison]:
    times = _sweep(results, page, access)
    until = [count for count in times if count <= _OBJECTS]
    where = f"{page}, {access}"
    yield Comparison(
        what=f"minimum ratio of page times, fewer over more connections by one step: {where}",
        unit="ratio",
        published=(1.0, inf),
        ours=Mean(min(times[fewer] / times[more] for fewer, more in pairwise(until))),
        tolerance=_STEP,
        shape_tolerance=_STEP_SHAPE,
    )
    yield Comparison(
        what=f"page time, 1 over {_OBJECTS} connections: {where}",
        unit="ratio",
        published=_FALL,
        ours=Mean(times[1] / times[_OBJECTS]),
        tolerance=0.0,
        shape_tolerance=0.5,
        neutral=1.0,
    )
    yield Comparison(
        what=f"page time, more than {_OBJECTS} over {_OBJECTS} connections, furthest from 1: {where}",
        unit="ratio",
        published=1.0,
        ours=Mean(_worst(time / times[_OBJECTS] for count, time in times.items() if count > _OBJECTS)),
        tolerance=_SAME,
        shape_tolerance=_SAME_SHAPE,
    )


def _coincide(results: Results, transport: str) -> Iterator[Comparison]:
    for size in _LARGE:
        times = {name: results.value(_alone(name, size, transport), "page_s") for name in _FOUR}
        serial = times["http10-serial"]
        for what, group in (
            ("HTTP/1.1 and MaxConn", ("http11-pipelined", "maxconn")),
            ("ExactConn", ("exactconn",)),
        ):
            yield Comparison(
                what=f"one object of {size // 1000} kB, {what} over HTTP/1.0, {transport}",
                unit="ratio",
                published=1.0,
                ours=Mean(_worst(times[name] / serial for name in group)),
                tolerance=_SAME,
                shape_tolerance=_SAME_SHAPE,
            )


def _judge(results: Results) -> Judgement:
    comparisons = [
        comparison
        for access in Access
        for page in _PAGES
        if _swept(1, page, access) in results.measured
        for comparison in _falls(results, page, access)
    ]
    transports = (*Access, _NO_SLOW_START)
    comparisons += [comparison for transport in transports for comparison in _coincide(results, transport)]
    return judged(comparisons, share=_SHARE, share_reason=_SHARE_REASON, remarks=_REMARKS)


_REMARKS: Final = (
    "The size of the one extremely large object is not printed: 50 kB (OPNET's large), 500 kB and 2 MB are"
    " simulated. HTTP/1.0, HTTP/1.1 and MaxConn are equal for every size. ExactConn starts with four segments,"
    " and saves flights and a delayed ACK wherever there is slow start. For 50 kB it saves 1.4 of 4.4 s end to"
    " end. Behind a hub that splits the connection, it saves the 0.2 s of the delayed ACK on the ground. It"
    " equals the others if no part of the path has slow start. The equality of all four in the paper fits a"
    " model with RWBP as the hosts' transport (4.2.1), not one with Reno on the ground."
)


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    import altair as alt
    import polars as pl

    rows = [
        {"connections": count, "page time, s": time, "page": page, "access": str(access)}
        for access in Access
        for page in _PAGES
        for count, time in _sweep(results, page, access).items()
    ]
    chart = alt.Chart(pl.DataFrame(rows)).mark_line(point=True)
    drawn = chart.encode(
        x="connections:Q", y=alt.Y("page time, s:Q").scale(type="log"), color="page:N", strokeDash="access:N"
    )
    return {"Section 4.4: page time by the number of connections": drawn}


#: Section 4.4.
CONNECTIONS: Final = Experiment(claim="B3", runs=_runs, judge=_judge, charts=_charts)

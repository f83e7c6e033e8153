"""Figure 7: a first GET in two packets, and its effect on the other connections' requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.papers.kruse_2001.satellite import FOUR, Way, retrieved, round_trips
from reference_sim.papers.kruse_2001.splits import PAGES
from reference_sim.papers.kruse_2001.waterfall import elements, lines
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run, mean
from reference_sim.reproduction.verdict import Comparison, Judgement, judged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.reproduction.verdict import Mean

__all__ = ["SPLIT_REQUEST", "label", "runs"]

_WHOLE: Final = replace(FOUR, title="HTTP/1.0, 4 connections, GET in one packet", splits_request=False)
_SPLIT: Final = "documented"
_QUICK_PHASES: Final = 2
# The server delays its ACK of the first packet by at most 200 ms of the 560 ms RTT, which delays the second;
# plus serialization.
_DELAYED_ACK_RTT: Final = 0.4
_SHAPE_RTT: Final = 0.5
#: GETs that Figure 7 shows on separate connections, counted from 0.
_OTHERS: Final = (1, 2, 3)
_MINIMAL_RTT: Final = 0.05


def label(name: str, way: Way) -> str:
    """Return the label of a page's runs."""
    return f"{name}, {way.title}, split request"


def runs(effort: Effort) -> Iterator[Run]:
    """Yield each page with its GET whole and split, for several phases of the server's heartbeat."""
    for number in range(_QUICK_PHASES if effort.quick else effort.seeds):
        for name in PAGES:
            for way in (_WHOLE, FOUR):
                scenario = retrieved(name, way, split=_SPLIT, number=number)
                yield Run(label=label(name, way), scenario=scenario, measure=elements)


def _behind(results: Results, name: str, way: Way) -> Mean:
    """Return RTTs from the base request to the last first request on another connection."""
    measured = results.measured[label(name, way)]
    return mean(
        round_trips(max(one[f"{number} requested"] for number in _OTHERS) - one["0 requested"]) for one in measured
    )


def _comparisons(results: Results) -> Iterator[Comparison]:
    for name in PAGES:
        for way, published, tolerance in ((_WHOLE, 2.0, _MINIMAL_RTT), (FOUR, 3.0, _DELAYED_ACK_RTT)):
            how = "split in two packets" if way.splits_request else "in one packet"
            yield Comparison(
                what=f"{name}: GETs 2 to 4 behind the first, {how}",
                unit="RTT",
                published=published,
                ours=_behind(results, name, way),
                tolerance=tolerance,
                shape_tolerance=_SHAPE_RTT,
                absolute=True,
            )


def _judge(results: Results) -> Judgement:
    return judged(
        list(_comparisons(results)),
        remarks="The paper gives no reason for the second packet's wait. Here Nagle's algorithm holds it until"
        " the ACK of the first, so that the server's delayed ACK (up to 200 ms) adds to the round trip.",
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    return {
        "Figure 7: HTTP/1.0, 4 connection page retrieval, oufr": lines(results, label("oufr", FOUR)),
        "Figure 7 with the GET in one packet": lines(results, label("oufr", _WHOLE)),
    }


SPLIT_REQUEST: Final = Experiment(claim="K6", runs=runs, judge=_judge, charts=_charts)

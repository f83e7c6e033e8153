"""B10: persistent connections on slow networks (section 2.3.2): a small gain below 200 kb/s."""

from __future__ import annotations

from math import inf
from statistics import median
from typing import TYPE_CHECKING, Final

from reference_sim.networks import path
from reference_sim.papers.bhalekar_2003.scenarios import RENO
from reference_sim.reproduction.drawing import bars
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.readings import durations
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.simulation import Simulation

__all__ = ["SLOW_NETWORKS"]

_MS: Final = 10**6
#: The section refers to the Internet of its reference [2] (Spero 1994), without a satellite. Assumed: a path
#: across a continent.
_RTT_NS: Final = 70 * _MS
#: "Approximately around 17 Kbps", "greater than 200 Kbps".
_MODEM: Final = 17_000
_BOUND: Final = 200_000
_FAST: Final = 2_000_000
_RATES: Final = (_MODEM, 56_000, _BOUND, _FAST)
_PAGES: Final = (
    "heidemann",
    "golden",
    "kruse-acts",
    "kruse-lerc",
    "kruse-oufr",
    "bhalekar-5-small",
    "bhalekar-5-medium",
    "bhalekar-10-small",
    "bhalekar-10-medium",
)
_SERIAL: Final = "http10-serial"
_PERSISTENT: Final = "http11"
_GAIN: Final = 0.11
_HALF: Final = 0.5
# Tolerance for other page sizes, and for a modem's delay outside the path: half or double.
_TOLERANCE: Final = 0.5
_SHAPE_TOLERANCE: Final = 1.0


def _label(strategy: str, page: str, rate: int) -> str:
    return f"{strategy}, {page}, {rate / 1000:g} kb/s"


def _page_s(simulation: Simulation) -> Mapping[str, float]:
    """Return the seconds of the page."""
    (seconds,) = durations(simulation.truth)
    return {"page_s": seconds}


def _runs(_: Effort) -> Iterator[Run]:
    for rate in _RATES:
        network = path(f"path of {rate} b/s", rate=rate, delay=_RTT_NS // 2)
        for page in _PAGES:
            for strategy in (_SERIAL, _PERSISTENT):
                made = retrieval(strategy=strategy, page=page, network=network, client_stack=RENO, record=Record())
                yield Run(label=_label(strategy, page, rate), scenario=made, measure=_page_s)


def _gains(results: Results, rate: int) -> list[float]:
    """Return the share of each page's latency that persistent connections save."""
    return [
        1
        - results.value(_label(_PERSISTENT, page, rate), "page_s")
        / results.value(_label(_SERIAL, page, rate), "page_s")
        for page in _PAGES
    ]


def _gain(results: Results, rate: int) -> Mean:
    """Return the value of the median page; the interval is that of the pages."""
    gains = _gains(results, rate)
    return Mean(median(gains), low=min(gains), high=max(gains))


def _judge(results: Results) -> Judgement:
    def within(rate: int, published: tuple[float, float]) -> Comparison:
        return Comparison(
            what=f"latency saved by persistent connections at {rate / 1000:g} kb/s, median of the pages",
            unit="share",
            published=published,
            ours=_gain(results, rate),
            tolerance=0.0,
            shape_tolerance=0.2,
            neutral=0.0,
        )

    return judged(
        [
            Comparison(
                what="latency saved by persistent connections at 17 kb/s, median of the pages",
                unit="share",
                published=_GAIN,
                ours=_gain(results, _MODEM),
                tolerance=_TOLERANCE,
                shape_tolerance=_SHAPE_TOLERANCE,
                neutral=0.0,
            ),
            within(_BOUND, (0.0, _HALF)),
            within(_FAST, (_HALF, inf)),
        ],
        remarks="The thesis cites the figures without a page or path. Ours are small pages of the papers over"
        " a round trip of 70 ms. Nagle's algorithm is off, as in B2. The interval spans the pages.",
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    rows = [
        {"rate": f"{rate / 1000:g} kb/s", "latency spared": gain, "page": page}
        for rate in _RATES
        for page, gain in zip(_PAGES, _gains(results, rate), strict=True)
    ]
    drawn = bars(rows, category="page", value="latency spared", group="rate")
    return {"Section 2.3.2: latency saved by persistent connections": drawn}


#: Section 2.3.2.
SLOW_NETWORKS: Final = Experiment(claim="B10", runs=_runs, judge=_judge, charts=_charts)

"""Figures 3, 4 and 6: one RTT of silence between two objects, and none with pipelining."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from reference_sim.papers.kruse_2001.satellite import PIPELINED, Way, retrieved, round_trips
from reference_sim.papers.kruse_2001.splits import PAGES
from reference_sim.papers.kruse_2001.waterfall import elements, lines
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.simulation import Simulation

__all__ = ["SILENCES", "label", "runs", "silences"]

_ONE_BY_ONE: Final = Way("HTTP/1.1 without pipelining", "http11", 1, 1)
_WAYS: Final = (_ONE_BY_ONE, PIPELINED)
_SPLIT: Final = "documented"
# Serialization of a request and a first segment (at most 1500 bytes), and the LANs: 20 ms of the RTT.
_SENDING_RTT: Final = 0.04
_SHAPE_RTT: Final = 0.5


def label(name: str, way: Way) -> str:
    """Return the label of a page's run."""
    return f"{name}, {way.title}, silences"


def silences(simulation: Simulation) -> Mapping[str, float]:
    """Return the times of the elements, and the silences between them, in RTTs.

    ``"late requests"`` counts requests after the end of the previous response. ``"for a request"`` is the
    longest silence in which the server waited for a request, except the first inline object's. A silence
    between two slow-start flights may also fall between objects.
    """
    times = elements(simulation)
    rows = simulation.truth.transactions.sort("fetch")
    between = [
        round_trips(times[f"{later} came"] - times[f"{earlier} received"])
        for earlier, later in pairwise(range(rows.height))
    ]
    asked_late = (rows["request_received"] > rows["response_last_received"].shift(1))[1:].to_list()
    behind_first = zip(between[1:], asked_late[1:], strict=True)
    return {
        **times,
        "late requests": float(sum(asked_late)),
        "shortest": min(between),
        "longest": max(between),
        "for a request": max((silence for silence, is_late in behind_first if is_late), default=0.0),
        "between flights": max(
            (silence for silence, is_late in zip(between, asked_late, strict=True) if not is_late), default=0.0
        ),
    }


def runs(effort: Effort) -> Iterator[Run]:
    """Yield single runs: the scenarios are deterministic."""
    del effort
    for way in _WAYS:
        for name in PAGES:
            scenario = retrieved(name, way, split=_SPLIT, number=0)
            yield Run(label=label(name, way), scenario=scenario, measure=silences)


def _comparison(what: str, published: float, ours: float) -> Comparison:
    return Comparison(
        what=what,
        unit="RTT",
        published=published,
        ours=Mean(ours),
        tolerance=_SENDING_RTT,
        shape_tolerance=_SHAPE_RTT,
        absolute=True,
    )


def _of_figure_6(results: Results) -> Comparison:
    """Compare the last GET: "all GET requests were issued while the first element was being received"."""
    (times,) = results.measured[label("oufr", PIPELINED)]
    requested = max(value for quantity, value in times.items() if quantity.endswith(" requested"))
    return Comparison(
        what="oufr: last GET over the end of the first element (Figure 6)",
        unit="times",
        published=(0.0, 1.0),
        ours=Mean(requested / times["0 received"]),
        tolerance=0.0,
        shape_tolerance=_SHAPE_RTT,
    )


def _comparisons(results: Results) -> Iterator[Comparison]:
    for name in PAGES:
        alone = label(name, _ONE_BY_ONE)
        for extreme in ("shortest", "longest"):
            yield _comparison(f"{name}: {extreme} silence without pipelining", 1.0, results.value(alone, extreme))
        pipelined = results.value(label(name, PIPELINED), "for a request")
        yield _comparison(f"{name}: longest silence for a request with pipelining", 0.0, pipelined)


def _judge(results: Results) -> Judgement:
    flights = ", ".join(f"{name} {results.value(label(name, PIPELINED), 'between flights'):.2f}" for name in PAGES)
    return judged(
        [*_comparisons(results), _of_figure_6(results)],
        remarks="After a document of one segment, its requests take a round trip in any case. With pipelining,"
        " the time after the first inline object is therefore compared. Silences between two flights of slow"
        " start are no lulls: the server has the requests and may not send. Where they fall between objects,"
        f" they last (RTT): {flights}.",
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    return {
        "Figure 3: HTTP/1.1 without pipelining, lerc": lines(results, label("lerc", _ONE_BY_ONE)),
        "Figure 4: HTTP/1.1 with pipelining, lerc": lines(results, label("lerc", PIPELINED)),
        "Figure 6: HTTP/1.1 with pipelining, oufr": lines(results, label("oufr", PIPELINED)),
    }


SILENCES: Final = Experiment(claim="K5", runs=runs, judge=_judge, charts=_charts)

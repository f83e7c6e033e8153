"""G5 and G9: Tables 4.9 and 4.10, initial windows of one, two and three segments."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from statistics import geometric_mean
from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998.agreement import rates_of
from reference_sim.papers.gurkan_1998.cells import CHOICES, Cell, known, published_rates, runs
from reference_sim.papers.gurkan_1998.charts import rates_by_ftp_clients
from reference_sim.papers.gurkan_1998.grid import RATE_TOLERANCE, SHARE, SHARE_REASON
from reference_sim.reproduction.experiment import Experiment
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.reproduction.experiment import Effort, Results, Run

__all__ = ["EXPERIMENTS"]

#: Figures 4.10 to 4.13, one strategy each; the upper plot has 8 web clients, the lower 16.
_FIGURES: Final = {
    "Figure 4.10": "http10-serial",
    "Figure 4.11": "http10-parallel",
    "Figure 4.12": "http11-pipelined",
    "Figure 4.13": "segment-filled",
}
_PLOTTED_WEBS: Final = (8, 16)
# "For highly utilized links, e.g. for 3 or 4 FTP clients" (section 4.8.1); the tables end at 3.
_HIGH_LOAD: Final = 3
#: A strategy's gain is the mean of a dozen cells: a random error of 3 % each gives 1 %.
_GAIN_TOLERANCE: Final = (0.02, 0.05)


def _runs(effort: Effort) -> Iterator[Run]:
    return runs(published_rates(), effort)


def _judge_rates(results: Results) -> Judgement:
    tolerance, shape = RATE_TOLERANCE
    comparisons = tuple(
        Comparison(
            what=f"retrieval rate, {cell}",
            unit="bytes/s",
            published=published_rates()[cell],
            ours=results.mean(cell.label, "rate"),
            tolerance=tolerance,
            shape_tolerance=shape,
        )
        for cell in known(published_rates(), results)
    )
    remarks = (
        f"{CHOICES} Single printed rates contradict their neighbours (serial, 8 web and 3 FTP clients: 4259 with "
        "a window of two, 2779 with three), as expected from single runs on a full link. "
        f"Of {_of_larger_windows(results)}."
    )
    return judged(comparisons, share=SHARE, share_reason=SHARE_REASON, remarks=remarks)


def _of_larger_windows(results: Results) -> str:
    """Describe the agreement of the 96 cells that no other table has."""
    larger = {cell: rate for cell, rate in published_rates().items() if cell.initial_window > 1}
    return f"the larger windows, {rates_of(larger, results)}"


def _judge_gains(results: Results) -> Judgement:
    strategies = _FIGURES.values()
    comparisons = [_second_gain(strategy, results) for strategy in strategies]
    comparisons += [_worst_third(strategy, results) for strategy in strategies if strategy not in _HTTP10]
    single = min(
        one / other
        for strategy in strategies
        for cell in _ratios(strategy, results, of=3, over=2)
        if strategy not in _HTTP10 and cell.ftps == _HIGH_LOAD
        for one, other in zip(_every_rate(cell, results), _every_rate(_with(cell, 2), results), strict=True)
    )
    remarks = (
        "The gain of a strategy is the geometric mean of the rate ratios over its cells. Three segments are"
        " compared with two by the means over the seeds. Of single seeds (the thesis has single runs), the"
        f" lowest rate with three is {single:.2f} of that with two."
    )
    return judged(comparisons, remarks=remarks)


_HTTP10: Final = ("http10-serial", "http10-parallel")


def _with(cell: Cell, initial_window: int) -> Cell:
    return replace(cell, initial_window=initial_window)


def _every_rate(cell: Cell, results: Results) -> tuple[float, ...]:
    return results.of(cell.label, "rate")


def _second_gain(strategy: str, results: Results) -> Comparison:
    """Return the gain of the second segment over that of the third."""
    second = geometric_mean(_ratios(strategy, results, of=2, over=1).values())
    third = geometric_mean(_ratios(strategy, results, of=3, over=2).values())
    return Comparison(
        what=f"gain from one segment to two, over that from two to three, {strategy}",
        unit="",
        published=(1.0, inf),
        ours=Mean(second / third),
        tolerance=_GAIN_TOLERANCE[0],
        shape_tolerance=_GAIN_TOLERANCE[1],
    )


def _worst_third(strategy: str, results: Results) -> Comparison:
    """Return the worst ratio of three segments to two, on the busiest link."""
    ratios = _ratios(strategy, results, of=3, over=2)
    return Comparison(
        what=f"lowest ratio of the rates with three and two segments, {_HIGH_LOAD} FTP clients, {strategy}",
        unit="",
        published=(0.0, 1.0),
        ours=Mean(min(ratio for cell, ratio in ratios.items() if cell.ftps == _HIGH_LOAD)),
        # "Can be worse": a single case suffices, and equality does not.
        tolerance=0.0,
        shape_tolerance=_GAIN_TOLERANCE[1],
    )


def _ratios(strategy: str, results: Results, *, of: int, over: int) -> Mapping[Cell, float]:
    """Return the rates with one initial window over the rates with another, keyed by the first cell."""
    return {
        cell: results.value(cell.label, "rate") / results.value(_with(cell, over).label, "rate")
        for cell in known(published_rates(), results)
        if cell.strategy == strategy and cell.initial_window == of
    }


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    return {
        f"{figure}: {strategy}, {webs} web clients; diamonds: published": rates_by_ftp_clients(
            {
                cell: published_rates()[cell]
                for cell in known(published_rates(), results)
                if cell.strategy == strategy and cell.webs == webs
            },
            results,
            series=lambda cell: f"initial window {cell.initial_window}",
        )
        for figure, strategy in _FIGURES.items()
        for webs in _PLOTTED_WEBS
    }


EXPERIMENTS: Final = (
    Experiment(claim="G5", studies=frozenset({"initial_window"}), runs=_runs, judge=_judge_rates, charts=_charts),
    Experiment(claim="G9", studies=frozenset({"initial_window"}), runs=_runs, judge=_judge_gains),
)

"""G6, G7, G8 and G10: the thesis's statements on the order of strategies."""

from __future__ import annotations

from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998.agreement import points, rates, rates_of
from reference_sim.papers.gurkan_1998.cells import CHOICES, Cell, figures_of, known, published, runs
from reference_sim.papers.gurkan_1998.charts import rates_by_ftp_clients
from reference_sim.reproduction.experiment import Experiment
from reference_sim.reproduction.report.words import percent
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import altair as alt

    from reference_sim.reproduction.experiment import Effort, Results, Run

__all__ = ["EXPERIMENTS"]

_SERIAL: Final = "http10-serial"
_PARALLEL: Final = "http10-parallel"
_PIPELINED: Final = "http11-pipelined"
_FILLED: Final = "segment-filled"
#: Numbers of web clients in Figures 4.8 and 4.9.
_PLOTTED_WEBS: Final = (16, 32)
#: "With 3 or 4 FTP clients" (section 4.7).
_HIGH_LOADS: Final = (3, 4)
#: Strategies that approach each other there.
_NEIGHBOURS: Final = ((_FILLED, _PIPELINED), (_PARALLEL, _SERIAL))
#: Share of the distance without FTP clients: less than half.
_APPROACHED: Final = 0.5
#: Tolerance for two rates of single runs, each about 3 % by chance; and the bound that still shows the sign.
_RATIO_TOLERANCE: Final = (0.05, 0.10)
#: Tolerance of "nearly" and "about" in the text.
_ABOUT: Final = (0.15, 0.30)


def _both_above(results: Results) -> Judgement:
    """Judge G6: Figures 4.8 and 4.9."""
    comparisons = [_above(cell, results) for cell in _cells(results) if cell.strategy in (_PIPELINED, _FILLED)]
    comparisons += [_shift(webs, results) for webs in _PLOTTED_WEBS]
    remarks = (
        "The tables contradict the text in one cell: with 16 web clients and no FTP client pipelined (14882)"
        ' is below parallel (15354). "By approximately 2 kbytes/sec" is read as the mean difference between'
        " pipelined and the mean of the HTTP/1.0 curves, in cells whose link an FTP client fills."
        f" {_whole_grid(results)}"
    )
    return judged(
        comparisons,
        share=0.9,
        share_reason="the thesis has single runs, and contradicts itself in one cell",
        remarks=remarks,
    )


def _whole_grid(results: Results) -> str:
    """Return all cells of Tables 4.2, 4.4, 4.6 and 4.8, and the pairs in another order."""
    printed = {cell: one.rate for cell, one in published().items()}
    near = rates_of(printed, results)
    others = "; ".join(
        f"{faster} ({_percent_above(printed[faster], printed[slower])} above {slower.strategy}; ours "
        f"{_percent_above(_value(faster, results), _value(slower, results))})"
        for faster, slower in near.disordered
    )
    text = f"Over the whole grid, {near}; {points(figures_of(published(), results))}."
    if chance := _own_orders(list(published()), results):
        text += f" Our single seeds have {min(chance)} to {max(chance)} pairs in the order of the others' mean."
    return f"{text} In another order: {others}." if others else text


def _own_orders(cells: Sequence[Cell], results: Results) -> list[int]:
    """Return, per seed, the number of pairs in the order of the other seeds' mean."""
    simulated = known(cells, results)
    by_cell = {cell: results.of(cell.label, "rate") for cell in simulated}
    seeds = min(map(len, by_cell.values()))
    if seeds == 1:
        return []
    return [
        rates(
            {cell: values[seed] for cell, values in by_cell.items()},
            {cell: fmean(values[:seed] + values[seed + 1 :]) for cell, values in by_cell.items()},
        ).ordered
        for seed in range(seeds)
    ]


def _percent_above(one: float, other: float) -> str:
    return percent(one / other - 1, signed=True)


def _value(cell: Cell, results: Results) -> float:
    return results.value(cell.label, "rate")


def _above(cell: Cell, results: Results) -> Comparison:
    best = max(_rate(results, strategy, cell.webs, cell.ftps) for strategy in (_SERIAL, _PARALLEL))
    return Comparison(
        what=f"rate over the better of HTTP/1.0's, {cell}",
        unit="",
        published=(1.0, inf),
        ours=Mean(results.value(cell.label, "rate") / best),
        tolerance=_RATIO_TOLERANCE[0],
        shape_tolerance=_RATIO_TOLERANCE[1],
    )


def _shift(webs: int, results: Results) -> Comparison:
    shifts = [
        _rate(results, _PIPELINED, webs, cell.ftps)
        - fmean(_rate(results, strategy, webs, cell.ftps) for strategy in (_SERIAL, _PARALLEL))
        for cell in _cells(results)
        if (cell.strategy, cell.webs) == (_PIPELINED, webs) and cell.ftps > 0
    ]
    return Comparison(
        what=f"pipelined above HTTP/1.0, {webs} web clients",
        unit="bytes/s",
        published=2000.0,
        ours=Mean(fmean(shifts)),
        tolerance=0.3,
        shape_tolerance=0.5,
    )


def _parallel_beside_serial(results: Results) -> Judgement:
    """Judge G7: section 4.4.1."""
    most = max(cell.ftps for cell in known(published(), results))
    comparisons = [
        _ratio("8 web clients, no FTP client", results, webs=8, ftps=0, published=1.5),
        _ratio(f"64 web clients, {most} FTP clients", results, webs=64, ftps=most, published=0.75),
    ]
    return judged(comparisons, remarks=CHOICES)


def _ratio(what: str, results: Results, *, webs: int, ftps: int, published: float) -> Comparison:
    return Comparison(
        what=f"rate of parallel over that of serial, {what}",
        unit="",
        published=published,
        ours=Mean(_rate(results, _PARALLEL, webs, ftps) / _rate(results, _SERIAL, webs, ftps)),
        tolerance=_ABOUT[0],
        shape_tolerance=_ABOUT[1],
        neutral=1.0,
    )


def _bounded(results: Results) -> Judgement:
    """Judge G8: section 4.3.1."""
    alone = [cell for cell in known(published(), results) if (cell.strategy, cell.ftps) == (_SERIAL, 0)]
    comparisons = [
        Comparison(
            what=f"retrieval rate, {cell}",
            unit="bytes/s",
            published=10_000.0,
            ours=results.mean(cell.label, "rate"),
            tolerance=_ABOUT[0],
            shape_tolerance=_ABOUT[1],
        )
        for cell in alone
    ]
    comparisons += [
        Comparison(
            what=f"utilisation, {cell}",
            unit="%",
            published=10.0,
            ours=results.mean(cell.label, "utilisation"),
            tolerance=2.0,
            shape_tolerance=4.0,
            absolute=True,
        )
        for cell in alone
        if cell.webs == min(one.webs for one in alone)
    ]
    return judged(
        comparisons, remarks='"About" allows 15 % of a rate, and two points of the 10 %: the table has 8.8.'
    )


def _approaching(results: Results) -> Judgement:
    """Judge G10: section 4.7."""
    comparisons = [
        _approach(first, second, cell, results)
        for first, second in _NEIGHBOURS
        for cell in _cells(results)
        if cell.strategy == first and cell.ftps in _HIGH_LOADS
    ]
    remarks = (
        '"Approach each other": the rates differ by less than half of their difference without FTP clients. In'
        f" the tables this holds in {_printed_approaches()} of the {len(_printed_pairs())} pairs. In ours one"
        " more may deviate, by the chance of single runs."
    )
    share = (_printed_approaches() - 1) / len(_printed_pairs())
    return judged(comparisons, share=share, share_reason="one less than the tables' own", remarks=remarks)


def _printed_pairs() -> list[tuple[str, str, Cell]]:
    return [
        (first, second, cell)
        for first, second in _NEIGHBOURS
        for cell in published()
        if cell.strategy == first and cell.webs in _PLOTTED_WEBS and cell.ftps in _HIGH_LOADS
    ]


def _printed_approaches() -> int:
    """Return the number of cells in which the tables' own rates approach each other."""

    def apart(first: str, second: str, webs: int, ftps: int) -> float:
        one, other = (published()[Cell(strategy, webs, ftps)].rate for strategy in (first, second))
        return abs(one - other)

    return sum(
        apart(first, second, cell.webs, cell.ftps) <= _APPROACHED * apart(first, second, cell.webs, 0)
        for first, second, cell in _printed_pairs()
    )


def _approach(first: str, second: str, cell: Cell, results: Results) -> Comparison:
    def apart(ftps: int) -> float:
        return abs(_rate(results, first, cell.webs, ftps) - _rate(results, second, cell.webs, ftps))

    return Comparison(
        what=f"{first} apart from {second}, over the same without FTP clients, {cell.webs} web, {cell.ftps} FTP",
        unit="",
        published=(0.0, _APPROACHED),
        ours=Mean(apart(cell.ftps) / apart(0)),
        tolerance=0.1,
        shape_tolerance=0.5,
        absolute=True,
    )


def _rate(results: Results, strategy: str, webs: int, ftps: int) -> float:
    return results.value(Cell(strategy, webs, ftps).label, "rate")


def _cells(results: Results) -> list[Cell]:
    return [cell for cell in known(published(), results) if cell.webs in _PLOTTED_WEBS]


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    return {
        f"{figure}: {webs} web clients; diamonds: published": rates_by_ftp_clients(
            {cell: published()[cell].rate for cell in _cells(results) if cell.webs == webs},
            results,
            series=lambda cell: cell.strategy,
        )
        for figure, webs in zip(("Figure 4.8", "Figure 4.9"), _PLOTTED_WEBS, strict=True)
    }


def _only(wanted: Callable[[Cell], bool]) -> Callable[[Effort], Iterator[Run]]:
    return lambda effort: runs((cell for cell in published() if wanted(cell)), effort)


EXPERIMENTS: Final = (
    Experiment(
        claim="G6",
        # All pairs: other claims need the same runs.
        runs=_only(lambda cell: cell in published()),
        judge=_both_above,
        charts=_charts,
    ),
    Experiment(
        claim="G7",
        runs=_only(lambda cell: cell.strategy in (_SERIAL, _PARALLEL) and cell.webs in (8, 64)),
        judge=_parallel_beside_serial,
    ),
    Experiment(
        claim="G8",
        runs=_only(lambda cell: cell.strategy == _SERIAL and cell.ftps == 0),
        judge=_bounded,
    ),
    Experiment(
        claim="G10",
        runs=_only(lambda cell: cell.webs in _PLOTTED_WEBS),
        judge=_approaching,
    ),
)

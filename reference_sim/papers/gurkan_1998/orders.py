"""G6, G7, G8 and G10: what the thesis says of the strategies beside each other."""

from __future__ import annotations

from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998.cells import CHOICES, Cell, known, published, runs
from reference_sim.papers.gurkan_1998.charts import rates_by_ftp_clients
from reference_sim.reproduction.experiment import Experiment
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import altair as alt

    from reference_sim.reproduction.experiment import Effort, Results, Run

__all__ = ["EXPERIMENTS"]

_SERIAL: Final = "http10-serial"
_PARALLEL: Final = "http10-parallel"
_PIPELINED: Final = "http11-pipelined"
_FILLED: Final = "segment-filled"
#: The web clients of Figures 4.8 and 4.9.
_PLOTTED_WEBS: Final = (16, 32)
#: Of two rates of single runs, each about 3 % by chance; and what still shows the sign.
_RATIO_TOLERANCE: Final = (0.05, 0.10)
#: Of "nearly" and "about" in the text.
_ABOUT: Final = (0.15, 0.30)


def _both_above(results: Results) -> Judgement:
    """G6: Figures 4.8 and 4.9."""
    comparisons = [_above(cell, results) for cell in _cells(results) if cell.strategy in (_PIPELINED, _FILLED)]
    comparisons += [_shift(webs, results) for webs in _PLOTTED_WEBS]
    remarks = (
        "The tables contradict the text in one cell: with 16 web clients and no FTP client pipelined (14882) is "
        'below parallel (15354). "By approximately 2 kbytes/sec" is taken as the mean shift of pipelined over '
        "the mean of the HTTP/1.0 curves, where an FTP client fills the link."
    )
    return judged(comparisons, share=0.9, remarks=remarks)


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
    """G7: section 4.4.1."""
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
    )


def _bounded(results: Results) -> Judgement:
    """G8: section 4.3.1."""
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
    return judged(comparisons, remarks='"About" is 15 % of a rate, and two points of 10 %: the table has 8.8.')


def _approaching(results: Results) -> Judgement:
    """G10: section 4.7."""
    comparisons = [
        _approach(first, second, cell, results)
        for first, second in ((_FILLED, _PIPELINED), (_PARALLEL, _SERIAL))
        for cell in _cells(results)
        if cell.strategy == first and cell.ftps in _HIGH_LOADS
    ]
    remarks = (
        '"Approach each other": the rates are less than half as far apart as without FTP clients. In the tables '
        "this holds in seven of the eight pairs, in ours of one run each by chance in as many."
    )
    return judged(comparisons, share=0.75, remarks=remarks)


_HIGH_LOADS: Final = (3, 4)


def _approach(first: str, second: str, cell: Cell, results: Results) -> Comparison:
    def apart(ftps: int) -> float:
        return abs(_rate(results, first, cell.webs, ftps) - _rate(results, second, cell.webs, ftps))

    return Comparison(
        what=f"{first} apart from {second}, over the same without FTP clients, {cell.webs} web, {cell.ftps} FTP",
        unit="",
        published=(0.0, 0.5),
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
        f"{figure}: {webs} web clients": rates_by_ftp_clients(
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
        runs=_only(lambda cell: cell.webs in _PLOTTED_WEBS),
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

"""G1 to G4: Tables 4.2, 4.4, 4.6 and 4.8, three figures per cell."""

from __future__ import annotations

from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998.agreement import points, rates_of
from reference_sim.papers.gurkan_1998.cells import CHOICES, Cell, Figures, figures_of, known, published, runs
from reference_sim.papers.gurkan_1998.charts import rates_by_ftp_clients
from reference_sim.reproduction.experiment import Experiment
from reference_sim.reproduction.verdict import Comparison, Judgement, judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import altair as alt

    from reference_sim.reproduction.experiment import Effort, Results, Run

__all__ = ["EXPERIMENTS", "comparisons"]

#: The tables' strategies by claim.
TABLES: Final = {
    "G1": "http10-serial",
    "G2": "http10-parallel",
    "G3": "http11-pipelined",
    "G4": "segment-filled",
}
# An independent reproduction in ns-2.35 is within 15 % of 77 of the 80 printed rates: the spread of the same
# TCP under the thesis's open choices. Within twice that, neighbouring cells keep their order.
RATE_TOLERANCE: Final = (0.15, 0.30)
# Percentage points. Utilization is printed in whole percent; ns-2 is 2.9 points from it on average.
UTILISATION_TOLERANCE: Final = (3.0, 6.0)
# Percentage points; ns-2 is 0.6 from it on average.
DROPS_TOLERANCE: Final = (0.7, 1.5)
_TOLERANCES: Final = {
    "rate": RATE_TOLERANCE,
    "utilisation": UTILISATION_TOLERANCE,
    "drops": DROPS_TOLERANCE,
}
#: Required share of a table's figures.
SHARE: Final = 0.9
#: Reason why that is enough.
SHARE_REASON: Final = "the thesis has single runs of 300 s, and choices that it does not print"
_PERSISTENT: Final = (
    " ns-2.35 gives the same as ours, 94 to 99.9 % for the persistent strategies: their FTP clients always"
    " have a file, and the link is idle only after losses. The thesis does not say how it measured"
    " utilisation. For 16 web clients and one FTP client its serial table has 92 %, and its pipelined table 85"
    " % despite fewer pauses. Clients with stuck agents explain part of the difference for 64 clients, but not"
    " for 16."
)
#: Results of an independent ns-2.35 run with the same choices (tests/simulator/ns2), table by table.
_IN_NS2: Final = {
    "http10-serial": "",
    "http10-parallel": " ns-2.35's drop rates of parallel connections are also 0.75 points above the table's.",
    "http11-pipelined": _PERSISTENT,
    "segment-filled": _PERSISTENT,
}


def comparisons(cells: Iterable[Cell], results: Results) -> Iterator[Comparison]:
    """Yield rate, utilization and drop rate of each simulated cell, beside the printed figures."""
    for cell in known(cells, results):
        printed = published()[cell]
        tolerance, shape = RATE_TOLERANCE
        yield Comparison(
            what=f"retrieval rate, {cell}",
            unit="bytes/s",
            published=printed.rate,
            ours=results.mean(cell.label, "rate"),
            tolerance=tolerance,
            shape_tolerance=shape,
        )
        yield _in_points("utilisation", cell, printed, results)
        yield _in_points("drops", cell, printed, results)


def _in_points(quantity: str, cell: Cell, printed: Figures, results: Results) -> Comparison:
    tolerance, shape = _TOLERANCES[quantity]
    return Comparison(
        what=f"{quantity}, {cell}",
        unit="%",
        published=getattr(printed, quantity),
        ours=results.mean(cell.label, quantity),
        tolerance=tolerance,
        shape_tolerance=shape,
        absolute=True,
    )


def _cells(strategy: str) -> list[Cell]:
    return [cell for cell in published() if cell.strategy == strategy]


def _runs(effort: Effort, *, strategy: str) -> Iterator[Run]:
    return runs(_cells(strategy), effort)


def _judge(results: Results, *, strategy: str) -> Judgement:
    return judged(
        tuple(comparisons(_cells(strategy), results)),
        share=SHARE,
        share_reason=SHARE_REASON,
        remarks=f"{CHOICES} {_differences(strategy, results)}",
    )


def _differences(strategy: str, results: Results) -> str:
    """Describe the table's agreement, and the causes of its differences."""
    ours = figures_of(_cells(strategy), results)
    near = rates_of({cell: printed.rate for cell, printed in published().items() if cell in ours}, results)
    text = f"Of {near}; {points(ours)}. {_of_chance(list(ours), results)}".rstrip()
    shared = [cell for cell in ours if cell.ftps]
    low, high = UTILISATION_TOLERANCE
    beyond = {cell for cell in shared if abs(ours[cell].utilisation - published()[cell].utilisation) > low}
    if not beyond:
        return text
    above = [cell for cell in beyond if ours[cell].utilisation > published()[cell].utilisation]
    far = sum(abs(ours[cell].utilisation - published()[cell].utilisation) > high for cell in beyond)
    return (
        f"{text} Beside FTP clients the table prints utilisations of"
        f" {_range(published()[cell].utilisation for cell in shared)} %, ours are"
        f" {_range(ours[cell].utilisation for cell in shared)} %: {len(beyond)} of {len(shared)} are more than"
        f" {low:g} points apart ({len(above)} of them above the printed), {far} more than {high:g}."
        f"{_IN_NS2[strategy]}"
    )


def _of_chance(cells: Sequence[Cell], results: Results) -> str:
    """Describe how many of our own figures a single run would miss; empty for one seed."""
    missed = [
        abs(one - fmean(others)) > tolerance * (fmean(others) if quantity == "rate" else 1)
        for cell in cells
        for quantity, (tolerance, _) in _TOLERANCES.items()
        for one, others in _each_beside_the_others(results.of(cell.label, quantity))
    ]
    if not missed:
        return ""
    return (
        "In our runs, a single seed's figures differ from the mean of the others by more than the first"
        f" tolerance in {fmean(missed):.1%}."
    )


def _each_beside_the_others(values: Sequence[float]) -> Iterator[tuple[float, Sequence[float]]]:
    for number, value in enumerate(values):
        if others := [*values[:number], *values[number + 1 :]]:
            yield value, others


def _range(values: Iterable[float]) -> str:
    found = list(values)
    return f"{min(found):.1f} to {max(found):.1f}"


def _charts(results: Results, *, strategy: str) -> Mapping[str, alt.TopLevelMixin]:
    cells = known(_cells(strategy), results)
    printed = {cell: published()[cell].rate for cell in cells}
    title = f"Retrieval rate, {strategy}: one line per number of web clients; diamonds: published"
    return {title: rates_by_ftp_clients(printed, results, series=lambda cell: f"{cell.webs} web clients")}


EXPERIMENTS: Final = tuple(
    Experiment(
        claim=claim,
        runs=partial(_runs, strategy=strategy),
        judge=partial(_judge, strategy=strategy),
        charts=partial(_charts, strategy=strategy),
    )
    for claim, strategy in TABLES.items()
)

"""G1 to G4: Tables 4.2, 4.4, 4.6 and 4.8, three figures a cell."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998.cells import CHOICES, Cell, Figures, known, published, runs
from reference_sim.papers.gurkan_1998.charts import rates_by_ftp_clients
from reference_sim.reproduction.experiment import Experiment
from reference_sim.reproduction.verdict import Comparison, Judgement, judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
# An independent reproduction in ns-2.35 is within 15 % of 77 of the 80 printed rates: what the same TCP gives
# where the thesis leaves choices open. Twice that, the order of a cell's neighbours is still the same.
RATE_TOLERANCE: Final = (0.15, 0.30)
# Points. Utilisation is printed in whole percent; ns-2 is 2.9 points from it on average.
UTILISATION_TOLERANCE: Final = (3.0, 6.0)
# Points; ns-2 is 0.6 from it on average.
DROPS_TOLERANCE: Final = (0.7, 1.5)
#: Of a table's figures: one in ten is what a single run of 300 s is off by chance.
SHARE: Final = 0.9
#: Why some are not.
_REASONS: Final = (
    "Not reproduced are above all utilisations: for the persistent strategies the thesis prints 83 to 96 % where "
    "ours, as ns-2.35's, is 94 to 99.9 % (16 web clients and one FTP client, pipelined: 85 %, though that FTP "
    "client fills 89 % beside serial clients); its serial table has none of this. ns-2's clients get stuck with "
    "their agents in both, which explains some of it at 64 clients, not at 16. Drop rates of parallel "
    "connections are up to 2 points above the printed in ns-2.35, too."
)


def comparisons(cells: Iterable[Cell], results: Results) -> Iterator[Comparison]:
    """Rate, utilisation and drop rate of each cell that was simulated, beside the printed."""
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
        yield _in_points("utilisation", cell, printed, results, UTILISATION_TOLERANCE)
        yield _in_points("drops", cell, printed, results, DROPS_TOLERANCE)


def _in_points(
    quantity: str, cell: Cell, printed: Figures, results: Results, tolerances: tuple[float, float]
) -> Comparison:
    return Comparison(
        what=f"{quantity}, {cell}",
        unit="%",
        published=getattr(printed, quantity),
        ours=results.mean(cell.label, quantity),
        tolerance=tolerances[0],
        shape_tolerance=tolerances[1],
        absolute=True,
    )


def _cells(strategy: str) -> list[Cell]:
    return [cell for cell in published() if cell.strategy == strategy]


def _runs(effort: Effort, *, strategy: str) -> Iterator[Run]:
    return runs(_cells(strategy), effort)


def _judge(results: Results, *, strategy: str) -> Judgement:
    return judged(tuple(comparisons(_cells(strategy), results)), share=SHARE, remarks=f"{CHOICES} {_REASONS}")


def _charts(results: Results, *, strategy: str) -> Mapping[str, alt.TopLevelMixin]:
    cells = known(_cells(strategy), results)
    printed = {cell: published()[cell].rate for cell in cells}
    title = f"Retrieval rate, {strategy}: a line for each number of web clients"
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

"""Thesis's grid by our simulator, by ns-2 and in print, side by side.

``python -m tests.simulator.grid [--seeds N]`` prints a Markdown table: retrieval rate (bytes per second),
utilization and drop rate (percent) for 4 strategies, 8 to 64 web clients and 0 to 4 FTP clients, 300
simulated seconds, initial window 1. The table also gives the distance of ours from ns-2's, relative to the
spread of seeds.

ns-2's values are in ``ns2/grid.csv``: ns-2.35 with BayFullTcp agents, two seeds per cell. A cell is within
the spread if the means differ by at most ``SPREAD`` combined standard errors. Their standard deviation comes
from our seeds in the cell, because two ns-2 seeds give no estimate. A difference up to the floor (the printed
or counted resolution) is also within the spread.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998.agreement import points, rates
from reference_sim.papers.gurkan_1998.cells import Cell, Figures, measured, published, scenario_of
from reference_sim.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NS2: Final = Path(__file__).parent / "ns2" / "grid.csv"
#: Strategy names of ``grid.csv`` by the thesis's names.
STRATEGIES: Final = {
    "serial": "http10-serial",
    "parallel": "http10-parallel",
    "pipe": "http11-pipelined",
    "seg": "segment-filled",
}
METRICS: Final = ("rate", "utilisation", "drops")
SPREAD: Final = 3.0
#: Relative for the rate, percentage points for the others.
FLOORS: Final = {"rate": 0.02, "utilisation": 0.5, "drops": 0.2}
SEEDS: Final = 10


@dataclass(frozen=True, slots=True)
class Comparison:
    cell: Cell
    metric: str
    ours: float
    theirs: float
    standard_error: float

    @property
    def difference(self) -> float:
        """Return the distance of the means: relative for the rate, in points for the others."""
        return abs(self.ours - self.theirs) / (self.theirs if self.metric == "rate" else 1)

    @property
    def is_within(self) -> bool:
        scale = self.theirs if self.metric == "rate" else 1
        return self.difference <= max(SPREAD * self.standard_error / scale, FLOORS[self.metric])


def of_ns2() -> Mapping[Cell, list[Figures]]:
    """Return ns-2's runs of each cell."""
    runs = defaultdict(list)
    with NS2.open(newline="") as file:
        for row in csv.DictReader(file):
            cell = Cell(STRATEGIES[row["strategy"]], int(row["webs"]), int(row["ftps"]))
            figures = Figures(
                rate=float(row["rate_Bps"]),
                utilisation=100 * float(row["util"]),
                drops=100 * float(row["drop"]),
            )
            runs[cell].append(figures)
    return runs


def run(cell: Cell, seed: int) -> Figures:
    """Run a cell in our simulator."""
    return Figures(**measured(simulate(scenario_of(cell, seed=seed))))


def compare(cells: Iterable[Cell], *, seeds: int) -> list[Comparison]:
    """Return means of our seeds against means of ns-2's."""
    theirs = of_ns2()
    return [
        _compared(cell, metric, ours, theirs[cell])
        for cell in cells
        for ours in [[run(cell, seed) for seed in range(1, seeds + 1)]]
        for metric in METRICS
    ]


def _compared(cell: Cell, metric: str, ours: Sequence[Figures], theirs: Sequence[Figures]) -> Comparison:
    mine = [getattr(one, metric) for one in ours]
    golden = [getattr(one, metric) for one in theirs]
    return Comparison(
        cell=cell,
        metric=metric,
        ours=statistics.mean(mine),
        theirs=statistics.mean(golden),
        standard_error=statistics.stdev(mine) * sqrt(1 / len(mine) + 1 / len(golden)),
    )


def shares(comparisons: Iterable[Comparison]) -> Mapping[str, float]:
    """Return the share of cells within the spread, by metric."""
    within = defaultdict(list)
    for one in comparisons:
        within[one.metric].append(one.is_within)
    return {metric: statistics.mean(values) for metric, values in within.items()}


def agreements(comparisons: Iterable[Comparison]) -> Mapping[str, str]:
    """Describe the distances of ours and of ns-2's from the thesis."""
    ours: dict[Cell, dict[str, float]] = defaultdict(dict)
    theirs: dict[Cell, dict[str, float]] = defaultdict(dict)
    for one in comparisons:
        ours[one.cell][one.metric] = one.ours
        theirs[one.cell][one.metric] = one.theirs
    return {
        name: _near({cell: Figures(**figures) for cell, figures in grid.items()})
        for name, grid in (("ours", ours), ("ns-2", theirs))
    }


def _near(grid: Mapping[Cell, Figures]) -> str:
    in_thesis = {cell: figures.rate for cell, figures in published().items()}
    return f"{rates({cell: figures.rate for cell, figures in grid.items()}, in_thesis)}; {points(grid)}"


def report(comparisons: Sequence[Comparison]) -> str:
    """Return a Markdown table of all cells, the shares, and the distances of both from the thesis."""
    cells: dict[Cell, dict[str, Comparison]] = defaultdict(dict)
    for one in comparisons:
        cells[one.cell][one.metric] = one
    lines = ["| strategy | web | FTP | rate | ns-2 | thesis | use % | ns-2 | thesis | drops % | ns-2 | thesis |"]
    lines.append("|---" * 12 + "|")
    for cell, row in cells.items():
        words = [cell.strategy, str(cell.webs), str(cell.ftps)]
        for metric in METRICS:
            one = row[metric]
            mark = "" if one.is_within else " *"
            words += [f"{one.ours:.5g}{mark}", f"{one.theirs:.5g}", f"{getattr(published()[cell], metric):.5g}"]
        lines.append("| " + " | ".join(words) + " |")
    lines += ["", "Within the spread (others have a *):", ""]
    for metric, share in shares(comparisons).items():
        errors = [one.difference for one in comparisons if one.metric == metric]
        mean = f"{statistics.mean(errors):.2%}" if metric == "rate" else f"{statistics.mean(errors):.2f} points"
        lines.append(f"- {metric}: {share:.0%} of {len(errors)} cells; mean difference {mean}")
    lines += ["", "Beside the thesis:", ""]
    lines += [f"- {name}: {near}" for name, near in agreements(comparisons).items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs of each cell (default: %(default)s)")
    print(report(compare(of_ns2(), seeds=parser.parse_args().seeds)))


if __name__ == "__main__":
    main()

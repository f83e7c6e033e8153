"""The thesis's grid by our simulator, by ns-2 and as the thesis prints it, side by side.

``python -m tests.simulator.grid [--seeds N]`` prints a Markdown table: retrieval rate (bytes a second),
utilisation and drop rate (percent) for 4 strategies, 8 to 64 web clients and 0 to 4 FTP clients, 300
simulated seconds, initial window 1; and how far ours is from ns-2's in the spread of seeds.

ns-2's values are ``ns2/grid.csv``: ns-2.35 with BayFullTcp agents, two seeds a cell. A cell is within the
spread if the means differ by no more than ``SPREAD`` combined standard errors, of which the standard
deviation is that of our seeds in the cell (two of ns-2 say little of theirs), or by no more than the
floor: what is printed or counted no finer.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from dataclasses import dataclass
from importlib.resources import files
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reference_sim.simulation import simulate
from reference_sim.workloads import thesis

from .ns2.dumbbell import retrieval_rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NS2: Final = Path(__file__).parent / "ns2" / "grid.csv"
#: Our strategies' names by those of ``grid.csv``.
STRATEGIES: Final = {
    "serial": "http10-serial",
    "parallel": "http10-parallel",
    "pipe": "thesis-pipelined",
    "seg": "segment-filled",
}
#: The thesis calls the third "pipelined".
_PAPER_NAMES: Final = {**STRATEGIES, "pipe": "http11-pipelined"}
METRICS: Final = ("rate", "utilisation", "drops")
SPREAD: Final = 3.0
#: Relative for the rate, absolute for the others.
FLOORS: Final = {"rate": 0.02, "utilisation": 0.005, "drops": 0.002}
SEEDS: Final = 5
_BOTTLENECK: Final = "gateway-s-gateway-c"


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    strategy: str
    webs: int
    ftps: int


@dataclass(frozen=True, slots=True)
class Run:
    rate: float
    utilisation: float
    drops: float


@dataclass(frozen=True, slots=True)
class Comparison:
    cell: Cell
    metric: str
    ours: float
    theirs: float
    standard_error: float

    @property
    def difference(self) -> float:
        """How far apart the means are: relative for the rate, absolute for the others."""
        return abs(self.ours - self.theirs) / (self.theirs if self.metric == "rate" else 1)

    @property
    def is_within(self) -> bool:
        scale = self.theirs if self.metric == "rate" else 1
        return self.difference <= max(SPREAD * self.standard_error / scale, FLOORS[self.metric])


def of_ns2() -> Mapping[Cell, list[Run]]:
    """ns-2's runs of each cell."""
    runs = defaultdict(list)
    with NS2.open(newline="") as file:
        for row in csv.DictReader(file):
            cell = Cell(row["strategy"], int(row["webs"]), int(row["ftps"]))
            runs[cell].append(Run(float(row["rate_Bps"]), float(row["util"]), float(row["drop"])))
    return runs


def run(cell: Cell, seed: int) -> Run:
    """One run of a cell by our simulator."""
    scenario = thesis(strategy=STRATEGIES[cell.strategy], web_clients=cell.webs, ftp_clients=cell.ftps, seed=seed)
    simulation = simulate(scenario)
    number = [link.title for link in scenario.network.links].index(_BOTTLENECK)
    (link,) = simulation.truth.links.filter(link=number).to_dicts()
    return Run(
        rate=retrieval_rate(simulation.truth.retrievals),
        utilisation=link["busy"].total_seconds() * 1e9 / simulation.end_ns,
        drops=link["drops"] / link["packets"],
    )


def compare(cells: Iterable[Cell], *, seeds: int) -> list[Comparison]:
    """Means of our seeds against means of ns-2's."""
    theirs = of_ns2()
    return [
        _compared(cell, metric, ours, theirs[cell])
        for cell in cells
        for ours in [[run(cell, seed) for seed in range(1, seeds + 1)]]
        for metric in METRICS
    ]


def _compared(cell: Cell, metric: str, ours: Sequence[Run], theirs: Sequence[Run]) -> Comparison:
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
    """The share of cells within the spread, by metric."""
    within = defaultdict(list)
    for one in comparisons:
        within[one.metric].append(one.is_within)
    return {metric: statistics.mean(values) for metric, values in within.items()}


def report(comparisons: Sequence[Comparison]) -> str:
    """A Markdown table of all cells, and the shares."""
    published = of_thesis()
    cells: dict[Cell, dict[str, Comparison]] = defaultdict(dict)
    for one in comparisons:
        cells[one.cell][one.metric] = one
    lines = ["| strategy | web | FTP | rate | ns-2 | thesis | use % | ns-2 | thesis | drops % | ns-2 | thesis |"]
    lines.append("|---" * 12 + "|")
    for cell, row in cells.items():
        words = [cell.strategy, str(cell.webs), str(cell.ftps)]
        for metric, scale in (("rate", 1), ("utilisation", 100), ("drops", 100)):
            one = row[metric]
            mark = "" if one.is_within else " *"
            printed = getattr(published[cell], metric)
            words += [f"{one.ours * scale:.5g}{mark}", f"{one.theirs * scale:.5g}", f"{printed * scale:.5g}"]
        lines.append("| " + " | ".join(words) + " |")
    lines += ["", "Within the spread (others have a *):", ""]
    for metric, share in shares(comparisons).items():
        of_metric = [one for one in comparisons if one.metric == metric]
        errors = [one.difference for one in of_metric]
        away = [
            abs(one.ours - getattr(published[one.cell], metric))
            / (getattr(published[one.cell], metric) if metric == "rate" else 1)
            for one in of_metric
        ]
        lines.append(
            f"- {metric}: {share:.0%} of {len(of_metric)} cells; mean difference {statistics.mean(errors):.2%} "
            f"from ns-2, {statistics.mean(away):.2%} from the thesis"
        )
    return "\n".join(lines)


def of_thesis() -> Mapping[Cell, Run]:
    """What Tables 4.2, 4.4, 4.6 and 4.8 print (Gürkan 1998)."""
    ours = {name: strategy for strategy, name in _PAPER_NAMES.items()}
    with files("reference_sim.papers").joinpath("gurkan_1998_results.csv").open(newline="") as file:
        return {
            Cell(ours[row["strategy"]], int(row["web_clients"]), int(row["ftp_clients"])): Run(
                rate=float(row["retrieval_rate_bytes_per_s"]),
                utilisation=float(row["link_utilization_pct"]) / 100,
                drops=float(row["drop_rate_pct"]) / 100,
            )
            for row in csv.DictReader(file)
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs of each cell (default: %(default)s)")
    print(report(compare(of_ns2(), seeds=parser.parse_args().seeds)))


if __name__ == "__main__":
    main()

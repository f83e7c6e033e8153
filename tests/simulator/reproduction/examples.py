"""Experiments of a few milliseconds, and measures that fail, die or interrupt, importable by workers."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reference_sim.papers.heidemann_1996.table_1 import retrieval_times
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.runner import reproduce
from reference_sim.reproduction.store import Store
from reference_sim.reproduction.verdict import Comparison, judged
from reference_sim.workloads import heidemann

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reference_sim.simulation import Simulation

STRATEGY = "p-http-both-fixes"
#: Measurements in this process.
CALLS: list[str] = []
#: Number of the measurement that interrupts.
INTERRUPTED_AT = 4


def counted(simulation: Simulation) -> Mapping[str, float]:
    CALLS.append("counted")
    return retrieval_times(simulation)


def raises(simulation: Simulation) -> Mapping[str, float]:
    raise ValueError("no such figure")


def dies(simulation: Simulation) -> Mapping[str, float]:
    os._exit(3)


def interrupts_here(simulation: Simulation) -> Mapping[str, float]:
    """Interrupt (Ctrl-C) at this process's fourth measurement."""
    CALLS.append("interrupts_here")
    if len(CALLS) == INTERRUPTED_AT:
        signal.raise_signal(signal.SIGINT)
    return retrieval_times(simulation)


def interrupts_all(simulation: Simulation) -> Mapping[str, float]:
    """Interrupt the process group, as a terminal's Ctrl-C does; results must not depend on the order."""
    folder = Path(os.environ["EXAMPLES_FOLDER"])
    (folder / f"{os.getpid()}.pid").touch()
    if (folder / ".results" / "results.jsonl").read_bytes().count(b"\n") >= INTERRUPTED_AT:
        os.killpg(0, signal.SIGINT)
    return retrieval_times(simulation)


def experiment(
    claim: str, measure: Callable[[Simulation], Mapping[str, float]] = retrieval_times, *, count: int = 8
) -> Experiment:
    """Return an experiment with ``count`` runs, half as many labels, and one figure."""

    def runs(effort: Effort) -> Iterator[Run]:
        for number in range(count):
            scenario = heidemann(strategy=STRATEGY, retrievals=1, seed=number + 1)
            yield Run(label=f"run {number // 2}", scenario=scenario, measure=measure)

    return Experiment(claim=claim, runs=runs, judge=judge)


def judge(results: Results):
    figure = Comparison(
        what="mean", unit="ms", published=26, ours=results.mean("run 0", "mean_ms"), tolerance=1, shape_tolerance=1
    )
    return judged([figure])


def main() -> None:
    """Run in a separate process until interrupted."""
    with Store(Path(sys.argv[1]) / ".results") as store:
        reproduce([experiment("H1", interrupts_all, count=200)], store=store, jobs=2)

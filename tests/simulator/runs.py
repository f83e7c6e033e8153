"""One random scenario, simulated, analysed and compared."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import tcptrace_http
from reference_sim.simulation import simulate
from reference_sim.true_waits import true_transactions

from .comparison import Comparison, Run, compared, told_of
from .random_scenarios import random_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.scenario import Scenario

    from .random_scenarios import RandomScenario

__all__ = ["compared_run", "run_of", "shown_run"]


def compared_run(seed: int, number: int, *, at: str) -> tuple[str, Comparison]:
    """Description of a scenario, and the comparison of its analysis with its truth."""
    made = random_scenario(seed, number)
    return made.words, compared(run_of(made.scenario, at=at))


def run_of(scenario: Scenario, *, at: str) -> Run:
    """Simulate the scenario, and analyse its capture at one end."""
    document = scenario.document()
    simulation = simulate(document)
    capture = simulation.pcap(at=simulation.taps[0 if at == "client" else 1])
    analysis = tcptrace_http.analyze(capture, tables=("packets",), jobs=1)
    told = told_of(analysis, document["epoch_ns"])
    return Run(vars(simulation.truth), document, told, at)


def shown_run(made: RandomScenario, *, at: str) -> Iterator[str]:
    """Yield both sides of each transaction of a scenario, in words: the analysis's cause where it differs."""
    run = run_of(made.scenario, at=at)
    keys = run.keys()
    yield made.words
    for true in true_transactions(run.tables, run.document, at=at):
        if true.connection not in keys:
            continue
        key = (*keys[true.connection], true.index)
        yield f"{key}: {', '.join(f'{it.name} {it.lost_ns / 1e6:.1f} ms' for it in true.stalls)}"
        ours = [(wait.cause, wait.start, wait.end) for wait in true.waits]
        theirs = run.told.waits.get(key, [])
        bounds = sorted({bound for _, *both in (*ours, *theirs) for bound in both})
        for start, end in itertools.pairwise(bounds):
            here, there = (_cause_at(waits, start) for waits in (ours, theirs))
            yield f"  {start / 1e6:12.3f} {(end - start) / 1e6:10.3f}  {here:32} {'' if here == there else there}"
    comparison = compared(run)
    for key, what in comparison.unequal.items():
        yield f"{key}: {'; '.join(what)}"
    yield from map(str, comparison.verdicts)


def _cause_at(waits: list[tuple[str, int, int]], time: int) -> str:
    return next((cause for cause, start, end in waits if start <= time < end), "-")

"""Simulates what experiments need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.reproduction.experiment import Effort, Results
from reference_sim.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_sim.reproduction.experiment import Experiment, Run
    from reference_sim.reproduction.verdict import Judgement

__all__ = ["measured", "results_here"]


def measured(run: Run) -> Mapping[str, float]:
    """Simulate one run, and measure it."""
    return run.measure(simulate(run.scenario))


def results_here(experiment: Experiment, effort: Effort | None = None) -> Results:
    """All runs of an experiment, one after the other in this process."""
    found: dict[str, list[Mapping[str, float]]] = {}
    for run in experiment.runs(Effort() if effort is None else effort):
        found.setdefault(run.label, []).append(measured(run))
    return Results(found)


def judgement_here(experiment: Experiment, effort: Effort | None = None) -> Judgement:
    """The verdict of an experiment whose runs are simulated in this process."""
    return experiment.judge(results_here(experiment, effort))

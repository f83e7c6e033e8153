"""Simulates what experiments need, and has them judge it.

What is in the store is not simulated, and what several claims need is simulated once. A run that fails
is named, and the rest goes on: its claim then is not reproduced, for it could not be shown.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_sim.reproduction.claim import claims
from reference_sim.reproduction.experiment import Effort, Results
from reference_sim.reproduction.identity import identity, measure_name
from reference_sim.reproduction.store import Measured
from reference_sim.reproduction.verdict import Judgement, Verdict
from reference_sim.reproduction.work import Failure, Queue, Task, work
from reference_sim.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from reference_sim.reproduction.claim import Claim
    from reference_sim.reproduction.experiment import Experiment
    from reference_sim.reproduction.store import Store

__all__ = ["Outcome", "Progress", "judgement_here", "reproduce", "results_here"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of a claim."""

    claim: Claim
    experiment: Experiment
    results: Results
    judgement: Judgement
    #: Runs that could not be simulated, and what else kept it from being judged.
    failures: Sequence[Failure] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far the simulating is."""

    done: int
    #: Runs to simulate: without those whose figures were kept.
    total: int
    elapsed_seconds: float
    #: None where nothing is known yet.
    seconds_left: float | None


def reproduce(
    experiments: Iterable[Experiment],
    *,
    store: Store,
    effort: Effort | None = None,
    jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> list[Outcome]:
    """Simulate what the store does not have, and judge every experiment."""
    plans = [_planned(experiment, Effort() if effort is None else effort) for experiment in experiments]
    missing = {task.identity: task for plan in plans for task in plan.tasks if task.identity not in store}
    failed = _simulated(Queue(missing.values()), store, jobs, progress)
    return [_outcome(plan, store, failed) for plan in plans]


@dataclass(frozen=True, slots=True)
class _Plan:
    experiment: Experiment
    tasks: Sequence[Task]
    failure: Failure | None = None


def _planned(experiment: Experiment, effort: Effort) -> _Plan:
    tasks: list[Task] = []
    try:
        for run in experiment.runs(effort):
            document = run.scenario.document()
            group = f"{experiment.claim} {measure_name(run.measure)}"
            tasks.append(Task(identity(document, run.measure), group, run.label, document, run.measure))
    except Exception as error:  # noqa: BLE001 -- whatever is wrong with one claim, the others go on
        return _Plan(experiment, tasks, Failure("its scenarios", f"{type(error).__name__}: {error}"))
    return _Plan(experiment, tasks)


def _simulated(
    queue: Queue, store: Store, jobs: int, progress: Callable[[Progress], None] | None
) -> Mapping[str, Failure]:
    """Fill the store; what failed, by the run's identity."""
    failed: dict[str, Failure] = {}
    start, total = time.monotonic(), len(queue)
    for done, (task, found) in enumerate(work(queue, jobs=min(jobs, total)), start=1):
        if isinstance(found, Measured):
            store.add(task.identity, found)
        else:
            failed[task.identity] = found
        if progress is not None:
            left = queue.seconds_left
            progress(
                Progress(
                    done=done,
                    total=total,
                    elapsed_seconds=time.monotonic() - start,
                    seconds_left=None if left is None else left / jobs,
                )
            )
    return failed


def _outcome(plan: _Plan, store: Store, failed: Mapping[str, Failure]) -> Outcome:
    found: dict[str, list[Mapping[str, float]]] = {}
    for task in plan.tasks:
        if task.identity in store:
            found.setdefault(task.label, []).append(store[task.identity].figures)
    results = Results(found)
    failures = [failed[task.identity] for task in plan.tasks if task.identity in failed]
    if plan.failure is not None:
        failures.append(plan.failure)
    judgement = None
    if not failures:
        try:
            judgement = plan.experiment.judge(results)
        except Exception as error:  # noqa: BLE001 -- whatever is wrong with one claim, the others go on
            failures.append(Failure("its judgement", f"{type(error).__name__}: {error}"))
    return Outcome(
        claim=claims()[plan.experiment.claim],
        experiment=plan.experiment,
        results=results,
        judgement=judgement or _could_not_run(failures),
        failures=failures,
    )


def _could_not_run(failures: Sequence[Failure]) -> Judgement:
    first = failures[0]
    others = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
    return Judgement(
        verdict=Verdict.NOT_REPRODUCED,
        comparisons=(),
        rule="could not run",
        remarks=f"Could not run {first.label}: {first.error}{others}.",
    )


def results_here(experiment: Experiment, effort: Effort | None = None) -> Results:
    """All runs of an experiment, one after the other in this process, with nothing kept.

    :raises Exception: whatever a run raises.
    """
    found: dict[str, list[Mapping[str, float]]] = {}
    for run in experiment.runs(Effort() if effort is None else effort):
        found.setdefault(run.label, []).append(run.measure(simulate(run.scenario)))
    return Results(found)


def judgement_here(experiment: Experiment, effort: Effort | None = None) -> Judgement:
    """The verdict of an experiment whose runs are simulated in this process."""
    return experiment.judge(results_here(experiment, effort))

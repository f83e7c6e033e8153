"""Runner of experiments: simulates their runs and has them judge the results.

Stored runs are not simulated again, and runs shared by several claims are simulated once. A failed run is
named, and the others continue. Its claim is then not reproduced, because it could not be shown.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reference_sim.reproduction.claim import claims
from reference_sim.reproduction.experiment import Effort, Results
from reference_sim.reproduction.identity import canonical, identity, measure_name
from reference_sim.reproduction.store import Measured
from reference_sim.reproduction.verdict import Judgement, Verdict
from reference_sim.reproduction.work import Failure, Queue, Task, work
from reference_sim.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from reference_sim.reproduction.claim import Claim
    from reference_sim.reproduction.experiment import Experiment, Run
    from reference_sim.reproduction.store import Store
    from reference_sim.reproduction.substitution import Substitution

__all__ = ["Outcome", "Progress", "judgement_here", "measurements", "outcome_of", "reproduce", "results_here"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Outcome of a claim."""

    claim: Claim
    experiment: Experiment
    results: Results
    judgement: Judgement
    #: Verdicts of single seeds; empty if the claim is deterministic.
    of_seeds: Mapping[Verdict, int] = field(default_factory=dict)
    #: Failed runs, and other obstacles to the judgement.
    failures: Sequence[Failure] = ()

    @property
    def is_uncertain(self) -> bool:
        """Return whether single seeds, or one figure more or less, change the verdict."""
        return self.judgement.is_on_edge or bool(self.of_seeds.keys() - {self.judgement.verdict})

    @property
    def seeds(self) -> int:
        """Number of seeds that were judged alone."""
        return sum(self.of_seeds.values())

    @property
    def agreeing(self) -> int:
        """Number of seeds that agree with the joint verdict."""
        return self.of_seeds.get(self.judgement.verdict, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Progress of the simulation."""

    done: int
    #: Runs to simulate, without stored runs.
    total: int
    elapsed_seconds: float
    #: None while unknown.
    seconds_left: float | None


def reproduce(
    experiments: Iterable[Experiment],
    *,
    store: Store,
    effort: Effort | None = None,
    jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
    substitution: Substitution | None = None,
) -> list[Outcome]:
    """Simulate the runs missing from the store, and judge every experiment.

    A ``substitution`` replaces the papers' stacks or network.
    """
    effort = Effort() if effort is None else effort
    wanted = {experiment.claim: experiment for experiment in experiments}
    runs = {
        claim: experiment.runs if substitution is None else substitution.runs(experiment)
        for claim, experiment in wanted.items()
    }
    measured = measurements(runs, store=store, effort=effort, jobs=jobs, progress=progress)
    return [outcome_of(experiment, *measured[claim], seeds=effort.seeds) for claim, experiment in wanted.items()]


def measurements(
    runs: Mapping[str, Callable[[Effort], Iterable[Run]]],
    *,
    store: Store,
    effort: Effort | None = None,
    jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Mapping[str, tuple[Results, list[Failure]]]:
    """Simulate the runs missing from the store; return the measurements and failures by name."""
    plans = {name: _planned(name, of, Effort() if effort is None else effort) for name, of in runs.items()}
    tasks = [task for plan in plans.values() for task in plan.tasks]
    missing = {task.identity: task for task in tasks if task.identity not in store}
    failed = _simulated(Queue(missing.values()), store, jobs, progress)
    return {name: _measured(plan, store, failed) for name, plan in plans.items()}


@dataclass(frozen=True, slots=True)
class _Plan:
    tasks: Sequence[Task]
    failure: Failure | None = None


def _planned(name: str, runs: Callable[[Effort], Iterable[Run]], effort: Effort) -> _Plan:
    tasks: list[Task] = []
    try:
        for run in runs(effort):
            text = canonical(run.scenario.document())
            group = f"{name} {measure_name(run.measure)}"
            tasks.append(Task(identity(text, run.measure), group, run.label, text, run.measure))
    except Exception as error:  # noqa: BLE001 -- whatever is wrong with one claim, the others go on
        return _Plan(tasks, Failure("its scenarios", f"{type(error).__name__}: {error}"))
    return _Plan(tasks)


def _simulated(
    queue: Queue, store: Store, jobs: int, progress: Callable[[Progress], None] | None
) -> Mapping[str, Failure]:
    """Fill the store; return the failures by the run's identity."""
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


def _measured(plan: _Plan, store: Store, failed: Mapping[str, Failure]) -> tuple[Results, list[Failure]]:
    found: dict[str, list[Mapping[str, float]]] = {}
    for task in plan.tasks:
        if task.identity in store:
            found.setdefault(task.label, []).append(store[task.identity].figures)
    failures = [failed[task.identity] for task in plan.tasks if task.identity in failed]
    if plan.failure is not None:
        failures.append(plan.failure)
    return Results(found), failures


def outcome_of(
    experiment: Experiment, results: Results, failures: Sequence[Failure] = (), *, seeds: int
) -> Outcome:
    """Judge the results of all seeds together, and of each seed alone."""
    failures = list(failures)
    judgement = None
    if not failures:
        try:
            judgement = experiment.judge(results)
        except Exception as error:  # noqa: BLE001 -- whatever is wrong with one claim, the others go on
            failures.append(Failure("its judgement", f"{type(error).__name__}: {error}"))
    return Outcome(
        claim=claims()[experiment.claim],
        experiment=experiment,
        results=results,
        judgement=judgement or _could_not_run(failures),
        of_seeds={} if judgement is None else _verdicts_of_seeds(experiment, results, seeds),
        failures=failures,
    )


def _verdicts_of_seeds(experiment: Experiment, results: Results, seeds: int) -> Mapping[Verdict, int]:
    """Judge each seed alone. Equal repetitions carry no information: they are not random."""
    is_random = any(one != values[0] for values in results.measured.values() for one in values)
    if seeds == 1 or not is_random or not experiment.judges_single_seeds:
        return {}
    return Counter(experiment.judge(results.of_seed(number, seeds)).verdict for number in range(seeds))


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
    """Return all runs of an experiment, made serially in this process, without the store.

    :raises Exception: a run's own error.
    """
    found: dict[str, list[Mapping[str, float]]] = {}
    for run in experiment.runs(Effort() if effort is None else effort):
        found.setdefault(run.label, []).append(run.measure(simulate(run.scenario)))
    return Results(found)


def judgement_here(experiment: Experiment, effort: Effort | None = None) -> Judgement:
    """Return the verdict of an experiment whose runs are simulated in this process."""
    return experiment.judge(results_here(experiment, effort))

"""Simulates what experiments need, and has them judge it.

What is in the store is not simulated, and what several claims need is simulated once. A run that fails
is named, and the rest goes on: its claim then is not reproduced, for it could not be shown.
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
    """What became of a claim."""

    claim: Claim
    experiment: Experiment
    results: Results
    judgement: Judgement
    #: What single seeds make of the claim; nothing where nothing in it is random.
    of_seeds: Mapping[Verdict, int] = field(default_factory=dict)
    #: Runs that could not be simulated, and what else kept it from being judged.
    failures: Sequence[Failure] = ()

    @property
    def is_uncertain(self) -> bool:
        """Whether single seeds, or one figure more or less, turn the verdict over."""
        return self.judgement.is_on_edge or bool(self.of_seeds.keys() - {self.judgement.verdict})

    @property
    def seeds(self) -> int:
        """How many seeds were judged alone."""
        return sum(self.of_seeds.values())

    @property
    def agreeing(self) -> int:
        """How many of them give the verdict of all together."""
        return self.of_seeds.get(self.judgement.verdict, 0)


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
    substitution: Substitution | None = None,
) -> list[Outcome]:
    """Simulate what the store does not have, and judge every experiment.

    With a ``substitution`` another stack or network stands in place of the papers'.
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
    """Simulate what the store does not have; by name what was measured, and what could not be."""
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
    """Judge the results of all seeds together, and of each alone."""
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
    """Judge each seed alone. Repetitions that came out alike tell nothing: nothing of them is random."""
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

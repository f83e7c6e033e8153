"""Runner: runs are simulated once, failures are named, and interrupted work continues."""

import os
import select
import subprocess
import sys
from dataclasses import replace

import pytest

from reference_sim.reproduction.experiment import Effort, Results
from reference_sim.reproduction.registry import experiments
from reference_sim.reproduction.runner import outcome_of, reproduce, results_here
from reference_sim.reproduction.store import Store
from reference_sim.reproduction.verdict import Comparison, Verdict, judged
from reference_sim.reproduction.work import Queue, Task

from . import examples
from .examples import counted, dies, experiment, interrupts_here, raises


@pytest.fixture(autouse=True)
def _nothing_measured_before():
    examples.CALLS.clear()


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / ".results") as opened:
        yield opened


def test_identical_runs_of_several_claims_are_simulated_once_and_never_again(store):
    wanted = [experiment("H1", counted), experiment("H6", counted)]
    outcomes = reproduce(wanted, store=store)
    assert len(examples.CALLS) == 8
    assert [one.claim.id for one in outcomes] == ["H1", "H6"]
    assert reproduce(wanted, store=store)[0].judgement == outcomes[0].judgement
    assert len(examples.CALLS) == 8


def test_a_larger_effort_simulates_only_new_runs(store):
    reproduce([experiment("H1", counted, count=3)], store=store)
    reproduce([experiment("H1", counted, count=8)], store=store)
    assert len(examples.CALLS) == 8


@pytest.mark.slow
def test_several_processes_measure_the_same_as_one(tmp_path):
    wanted = [one for claim, one in experiments().items() if claim.startswith("H")]
    found = []
    for jobs in (1, 2):
        with Store(tmp_path / str(jobs)) as store:
            found.append([one.results for one in reproduce(wanted, store=store, jobs=jobs)])
    assert found[0] == found[1] == [results_here(one) for one in wanted]


def by_seeds(seconds, *, published, seeds):
    """Return an experiment of one label whose seeds measure these seconds."""
    figure = {"what": "x", "unit": "s", "published": published, "tolerance": 0.1, "shape_tolerance": 0.5}
    results = Results({"x": [{"s": value} for value in seconds]})
    made = replace(
        experiment("H1"),
        judge=lambda of: judged([Comparison(ours=of.mean("x", "s"), **figure)], remarks="a reason"),
    )
    return outcome_of(made, results, seeds=seeds)


def test_a_verdict_that_single_seeds_turn_over_is_uncertain_with_their_share():
    edge = by_seeds([0.95, 1.05, 1.2, 0.8], published=1.0, seeds=4)
    assert edge.judgement.verdict is Verdict.REPRODUCED
    assert (edge.is_uncertain, edge.agreeing, edge.seeds) == (True, 2, 4)
    sure = by_seeds([0.95, 1.05, 1.0, 1.01], published=1.0, seeds=4)
    assert (sure.is_uncertain, sure.agreeing, sure.seeds) == (False, 4, 4)


def test_several_repetitions_for_each_seed_are_judged_together():
    edge = by_seeds([0.8, 1.2, 1.2, 0.8], published=1.0, seeds=2)
    assert (edge.is_uncertain, edge.agreeing, edge.seeds) == (False, 2, 2)


def test_deterministic_claims_have_no_disagreeing_seeds():
    assert by_seeds([1.2] * 4, published=1.0, seeds=4).seeds == 0
    assert by_seeds([1.2], published=1.0, seeds=1).seeds == 0


def test_a_run_that_fails_is_named_and_the_other_claims_continue(store):
    broken, fine = reproduce([experiment("H1", raises), experiment("H6")], store=store)
    assert broken.judgement.verdict is Verdict.NOT_REPRODUCED
    assert broken.judgement.remarks == "Could not run run 0: ValueError: no such figure, and 7 more."
    assert len(broken.failures) == 8
    assert fine.judgement.verdict is Verdict.REPRODUCED
    assert len(store) == 8


def test_scenarios_and_judgements_that_fail_are_named_too(store):
    def no_runs(effort):
        raise KeyError("no such page")

    def no_judge(results):
        return results.mean("run 0", "no such quantity")

    fine = experiment("H1")
    unplanned = type(fine)(claim="H2", runs=no_runs, judge=fine.judge)
    unjudged = type(fine)(claim="H3", runs=fine.runs, judge=no_judge)
    first, second, third = reproduce([unplanned, unjudged, fine], store=store)
    assert "its scenarios: KeyError" in first.judgement.remarks
    assert "its judgement: KeyError" in second.judgement.remarks
    assert third.judgement.verdict is Verdict.REPRODUCED


@pytest.mark.slow
def test_a_process_that_dies_takes_only_its_own_runs_with_it(store):
    broken, _ = reproduce([experiment("H1", dies, count=2), experiment("H6", count=40)], store=store, jobs=2)
    assert "a simulating process died" in broken.judgement.remarks
    again = reproduce([experiment("H6", count=40)], store=store, jobs=2)[0]
    assert again.judgement.verdict is Verdict.REPRODUCED
    assert not again.failures


@pytest.mark.usefixtures("_interrupts")
def test_an_interrupted_run_continues_at_its_stop(tmp_path):
    with Store(tmp_path) as store, pytest.raises(KeyboardInterrupt):
        reproduce([experiment("H1", interrupts_here)], store=store)
    kept = examples.INTERRUPTED_AT - 1
    with Store(tmp_path) as store:
        assert len(store) == kept
        assert store.dropped == 0
        (outcome,) = reproduce([experiment("H1", interrupts_here)], store=store)
    assert not outcome.failures
    assert len(examples.CALLS) == examples.INTERRUPTED_AT + 8 - kept


@pytest.mark.slow
@pytest.mark.usefixtures("_interrupts")
def test_an_interrupt_ends_all_processes_and_keeps_measurements(tmp_path):
    program = (
        "import os\n"
        "from tests.simulator.reproduction.examples import main\n"
        "try:\n    main()\nexcept KeyboardInterrupt:\n    pass\n"
        "os._exit(130)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        check=False,
        env=os.environ | {"EXAMPLES_FOLDER": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
    )
    assert finished.returncode == 130
    assert finished.stderr == ""
    for path in tmp_path.glob("*.pid"):
        assert_ends(int(path.stem))
    with Store(tmp_path / ".results") as store:
        assert examples.INTERRUPTED_AT <= len(store) < 200
        assert store.dropped == 0


def assert_ends(process):
    try:
        ending = os.pidfd_open(process)
    except ProcessLookupError:
        return
    watched = select.poll()
    watched.register(ending, select.POLLIN)
    assert watched.poll(10_000), "a process goes on without the one that asked"
    os.close(ending)


def task(group, number):
    return Task(str(number), group, "label", "{}", counted)


def test_every_group_is_sampled_then_the_costliest_comes_first_in_small_batches():
    queue = Queue([*(task("cheap", n) for n in range(1000)), *(task("dear", 1000 + n) for n in range(10))])
    samples = [queue.take(), queue.take()]
    assert [[one.group for one in batch] for batch in samples] == [["cheap"], ["dear"]]
    assert queue.seconds_left is None
    from reference_sim.reproduction.store import Measured

    queue.finish(samples[0][0], Measured({}, 0.005))
    queue.finish(samples[1][0], Measured({}, 2.0))
    assert queue.seconds_left == pytest.approx(999 * 0.005 + 9 * 2.0)
    assert [len(queue.take()) for _ in range(9)] == [1] * 9
    assert {one.group for one in queue.take()} == {"cheap"}
    assert len(queue) == 1000 - 1 - 100


def test_progress_counts_every_run(store):
    seen = []
    reproduce([experiment("H1")], store=store, progress=seen.append)
    assert [one.done for one in seen] == list(range(1, 9))
    assert {one.total for one in seen} == {8}
    assert seen[-1].seconds_left == 0


def test_effort_is_handed_to_the_experiment(store):
    requested = []
    example = experiment("H1")

    def runs(effort):
        requested.append(effort)
        return example.runs(effort)

    reproduce(
        [type(example)(claim="H1", runs=runs, judge=example.judge)],
        store=store,
        effort=Effort(seeds=3, quick=True),
    )
    assert requested == [Effort(seeds=3, quick=True)]

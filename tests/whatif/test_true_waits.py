"""Waits of a simulated retrieval: a partition of its time, equal to the analyser's where names correspond."""

from dataclasses import replace

import pytest

import tcptrace_http
from reference_sim.page import Page, objects_of
from reference_sim.scenario import NodeTap
from reference_sim.simulation import simulate
from reference_sim.strategies import STRATEGIES
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError
from tcptrace_http.schema import CAUSES
from tcptrace_http.what_if.outcome import elapsed_of, outcome_of
from tcptrace_http.what_if.strategies import under, unmodified
from tcptrace_http.what_if.true_waits import TRANSFER
from tests.steps import TWICE, steps
from tests.whatif.retrievals import RETRIEVALS


def candidates():
    for name, scenario in RETRIEVALS.items():
        yield pytest.param(unmodified(scenario), id=name)
    for strategy in STRATEGIES.values():
        for name, marks in (("apache", ()), ("lossy", pytest.mark.slow)):
            try:
                yield pytest.param(under(RETRIEVALS[name], strategy), id=f"{name} by {strategy.name}", marks=marks)
            except ScenarioError:
                continue


@pytest.mark.parametrize("candidate", list(candidates()))
def test_waits_sum_to_the_time_exactly_and_have_names_that_are_explained(candidate):
    outcome = outcome_of(candidate)
    assert sum(outcome.causes.values()) == outcome.elapsed_ns == elapsed_of(candidate)
    assert all(time > 0 for time in outcome.causes.values())
    assert set(outcome.causes) <= {*CAUSES, TRANSFER}


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("apache", "stall."),
        ("apache", "setup."),
        ("twice", "stall."),
        ("flushed", "setup."),
        ("small", "setup."),
        ("nodelay", "network."),
    ],
)
def test_waits_are_those_that_the_analyser_finds_in_the_capture(name, group, tmp_path):
    scenario = replace(RETRIEVALS[name], taps=(NodeTap(name="client"),))
    simulate(scenario).write_pcap(tmp_path / "page.pcap")
    path = tcptrace_http.analyze(tmp_path / "page.pcap").critical_path
    found = sum(
        (row["end"] - row["start"]).total_seconds() for row in path.to_dicts() if row["cause"].startswith(group)
    )
    outcome = outcome_of(unmodified(scenario))
    ours = sum(time for cause, time in outcome.causes.items() if cause.startswith(group)) / 1e9
    assert ours == pytest.approx(found, abs=0.1 * outcome.elapsed_ns / 1e9)


def test_stalls_of_the_paper_are_nearly_all_of_its_time():
    """Check Heidemann 1996, sections 2.2 and 2.3: two stalls of up to 200 ms in a page of three documents."""
    outcome = outcome_of(unmodified(RETRIEVALS["apache"]))
    assert outcome.causes["stall.nagle_delayed_ack"] > 0.9 * outcome.elapsed_ns


def test_retrieval_that_does_not_come_to_its_end_is_reported():
    scenario = retrieval(strategy="http11", page="heidemann", network="modem")
    cut = replace(scenario, duration=1_000_000_000)
    with pytest.raises(ScenarioError, match="does not end"):
        elapsed_of(unmodified(cut))


@pytest.mark.parametrize("strategy", ["http10-serial", "http10-parallel-4", "http11", "http11-pipelined"])
def test_twice_the_objects_are_twice_the_work(strategy):
    few, many = (
        unmodified(
            retrieval(
                strategy=strategy,
                page=Page(name="page", objects=objects_of(*[3000] * count)),
                network="wan",
                client_stack="linux-6",
            )
        )
        for count in (40, 80)
    )
    assert steps(lambda: outcome_of(many), of="what_if") < TWICE * steps(lambda: outcome_of(few), of="what_if")

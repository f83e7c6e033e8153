"""Substituted stack or network in a claim's scenarios: the claim's subject stays, all else is the user's."""

from dataclasses import replace
from math import isfinite

import pytest

from reference_sim.networks import network
from reference_sim.reproduction.conclusion import Holding, conclusion
from reference_sim.reproduction.experiment import Effort, Experiment
from reference_sim.reproduction.registry import experiments
from reference_sim.reproduction.runner import reproduce
from reference_sim.reproduction.store import Store
from reference_sim.reproduction.substitution import Substitution
from reference_sim.reproduction.verdict import Comparison, Mean
from reference_sim.stack import Congestion, Nagle, Segments, Sharing
from reference_sim.stacks import stack
from tcptrace_http.errors import ScenarioError

QUICK = Effort(seeds=1, quick=True)
LINUX = Substitution(stack=stack("linux-6"))


def scenarios(claim: str, substitution: Substitution):
    return {run.label: run.scenario for run in substitution.runs(experiments()[claim])(QUICK)}


def knobs(one):
    return replace(one, name="")


def test_a_substituted_stack_keeps_only_the_strategys_knobs():
    of = scenarios("H1", LINUX)
    plain, fixed = (of[name].servers[0].stack for name in ("p-http-apache-1.1b4", "p-http-both-fixes"))
    assert knobs(plain) == knobs(stack("linux-6"))
    assert knobs(fixed) == replace(stack("linux-6"), name="", nagle=Nagle.OFF)


def test_a_claims_subject_stays():
    windows = {scenario.servers[0].stack.initial_window for scenario in scenarios("G5", LINUX).values()}
    assert windows == {Segments(segments=count) for count in (1, 2, 3)}


def test_shared_state_and_a_hub_without_slow_start_stay():
    shared = {scenario.servers[0].stack.sharing for scenario in scenarios("E4", LINUX).values()}
    assert len(shared) == 5
    assert Sharing.NONE in shared
    hubs = [proxy.stack for one in scenarios("B4", LINUX).values() for proxy in one.proxies]
    assert {hub.congestion for hub in hubs} == {Congestion.FIXED_WINDOW}


def test_connections_that_share_state_keep_their_congestion_control_beside_bbr():
    bbr = Substitution(stack=stack("linux-6-bbr"))
    servers = [scenario.servers[0].stack for scenario in scenarios("E4", bbr).values()]
    assert {one.congestion for one in servers if one.sharing is not Sharing.NONE} == {Congestion.RENO}
    assert {one.congestion for one in servers if one.sharing is Sharing.NONE} == {Congestion.BBR}


def test_clients_and_servers_stand_on_the_users_network():
    (scenario, *_) = scenarios("G1", Substitution(network=network("wan"))).values()
    assert {browser.node for browser in scenario.browsers} == {"client"}
    assert {server.node for server in scenario.servers} == {"server"}
    scenario.document()


def test_a_network_without_a_place_for_a_hub_is_refused_by_name():
    with pytest.raises(ScenarioError, match="'wan' has no host 'hub'"):
        list(Substitution(network=network("wan")).runs(experiments()["B4"])(QUICK))


def test_a_claim_that_a_network_has_no_place_for_is_reported_and_the_others_continue(tmp_path):
    wanted = [experiments()["B4"], experiments()["B1"]]
    with Store(tmp_path) as store:
        refused, fine = reproduce(
            wanted, store=store, effort=QUICK, substitution=Substitution(network=network("wan"))
        )
    assert "no host 'hub'" in refused.failures[0].error
    assert not fine.failures


def test_a_request_that_another_stack_never_sends_is_infinitely_late(tmp_path):
    with Store(tmp_path) as store:
        (outcome,) = reproduce([experiments()["G11"]], store=store, effort=QUICK, substitution=LINUX)
    assert not outcome.failures
    ours = {one.what: one.ours.value for one in outcome.judgement.comparisons}
    assert ours["lines of Figure 4.2: connections, http10-serial"] == 15
    assert ours["pause between requests 15 and 16, http10-serial"] == float("-inf")
    assert all(isfinite(of) for what, of in ours.items() if "15 and 16, http10-serial" not in what)


def figure(published, ours, *, unit="ms", neutral=None):
    return Comparison(
        what="x",
        unit=unit,
        published=published,
        ours=Mean(ours),
        tolerance=0.0,
        shape_tolerance=0.0,
        neutral=neutral,
    )


@pytest.mark.parametrize(
    ("comparisons", "kept", "requested", "holding"),
    [
        ([figure(0.3, 0.1, neutral=0.0), figure(14.0, 1.5, neutral=1.0)], 2, 2, Holding.HOLDS),
        ([figure(0.3, 0.0, neutral=0.0), figure(14.0, 1.5, neutral=1.0)], 1, 2, Holding.IN_PART),
        ([figure((1.0, float("inf")), 0.9)], 0, 1, Holding.NOT),
        ([figure(43.0, 6.0), figure(605.0, 7.0), figure(26.0, 5.0)], 3, 3, Holding.HOLDS),
        ([figure(43.0, 7.0), figure(605.0, 6.0), figure(26.0, 5.0)], 2, 3, Holding.IN_PART),
        # Nearly equal figures, other units, or a range: no order.
        ([figure(43.0, 7.0), figure(45.0, 6.0), figure(605.0, 1.0, unit="bytes")], 0, 0, Holding.NOT_ASKED),
        ([figure((1.0, 2.0), 7.0)], 0, 0, Holding.NOT_ASKED),
    ],
)
def test_a_conclusion_is_the_signs_of_effects_and_the_order_of_figures(comparisons, kept, requested, holding):
    found = conclusion(comparisons)
    assert (found.kept, found.requested, found.holding) == (kept, requested, holding)


def test_every_claim_of_stacks_names_knobs_that_there_are():
    known = set(stack("reno").__dataclass_fields__)
    assert all(one.studies <= known for one in experiments().values() if isinstance(one, Experiment))

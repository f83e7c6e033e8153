"""Scenarios: the engine's documents, and rejected scenarios."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from reference_sim.networks import network
from reference_sim.page import Page, objects_of
from reference_sim.plan import Complete, Fetch, Plan, Visit
from reference_sim.quantities import nanoseconds
from reference_sim.scenario import Browser, NodeTap, Scenario, Server
from reference_sim.simulation import simulate
from reference_sim.stacks import PRESETS, stack
from reference_sim.topology import Link, Network, node
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError

PAGE = Page(name="page", objects=objects_of(3000, 200))
PLAN = Plan(fetches=(Fetch(objects=(0,)), Fetch(objects=(1,), after=Complete(fetch=0))))


def scenario(**changes):
    parts = {
        "network": network("wan"),
        "servers": (Server(node="server", stack=stack("reno")),),
        "browsers": (Browser(node="client", stack=stack("reno"), visits=(Visit(page=PAGE, plan=PLAN),)),),
        "taps": (NodeTap(name="client"),),
    }
    return Scenario(**{**parts, **changes})


def browser(**changes):
    return replace(scenario().browsers[0], **changes)


def test_names_become_indices():
    document = scenario().document()
    assert [link["from"] for link in document["links"]] == [0, 1]
    assert document["browsers"][0]["origin"] == {"kind": "server", "index": 0}
    assert document["taps"] == [{"kind": "node", "index": 0}]


def test_shared_parts_appear_once():
    document = scenario(browsers=(browser(), browser(start=5))).document()
    assert len(document["stacks"]) == len(document["pages"]) == len(document["plans"]) == 1


def test_a_timedelta_is_the_same_as_its_nanoseconds():
    one = scenario(browsers=(browser(parse=timedelta(microseconds=30)),))
    assert one.document() == scenario(browsers=(browser(parse=30_000),)).document()


def test_the_document_is_json_and_the_engine_runs_it():
    document = json.loads(json.dumps(scenario().document()))
    assert simulate(document).truth.transactions["response_last_received"].null_count() == 0


def test_the_seed_is_all_that_a_seed_changes():
    one, other = scenario(seed=1).document(), scenario(seed=2).document()
    assert {key for key in one if one[key] != other[key]} == {"seed"}


@pytest.mark.parametrize("name", PRESETS)
def test_every_stack_retrieves_a_page(name):
    made = simulate(retrieval(strategy="http11", page="heidemann", network="wan", client_stack=name))
    assert made.truth.transactions["response_last_received"].null_count() == 0


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_knob_that_a_stack_turns_has_a_source(preset):
    assert preset.source["*"]
    assert all(preset.source.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"browsers": (browser(node="clint"),)}, "browsers[0].node: no node 'clint'; did you mean 'client'?"),
        ({"browsers": (browser(origin="sever"),)}, "browsers[0].origin: no server or proxy 'sever'"),
        ({"browsers": (browser(visits=()),)}, "browsers[0].visits: has no visit"),
        ({"browsers": ()}, "browsers: the scenario has no traffic"),
        ({"browsers": (browser(forever=True),)}, "duration: a client never ends"),
        ({"browsers": (browser(parse=-1),)}, "browsers[0]: -1: a duration is"),
        ({"taps": (NodeTap(name="nowhere"),)}, "taps[0]: no node 'nowhere'"),
        ({"seed": -1}, "seed: -1 is not an unsigned 64-bit integer"),
    ],
)
def test_invalid_values_are_named_by_their_field(changes, message):
    with pytest.raises(ScenarioError) as raised:
        scenario(**changes)
    assert str(raised.value).startswith(message)


def test_a_link_to_nowhere_is_named():
    with pytest.raises(ScenarioError, match=r"^links\[0\]\.end: no node 'b'"):
        Network(nodes=(node("a", "10.0.0.1"),), links=(Link(start="a", end="b", delay=0),), clients=(), servers=())


def test_a_plan_that_waits_for_a_later_fetch_is_refused():
    with pytest.raises(ScenarioError, match=r"^fetches\[0\]\.after: fetch 1 is not earlier"):
        Plan(fetches=(Fetch(objects=(0,), after=Complete(fetch=1)), Fetch(objects=(1,))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("30 ms", 30_000_000), ("1.5 s", 1_500_000_000), ("2us", 2000), ("0 s", 0), ("3 min", 180_000_000_000)],
)
def test_a_duration_is_read_exactly(text, expected):
    assert nanoseconds(text) == expected


@pytest.mark.parametrize("text", ["30", "ms", "-1 s", "1.5 ns", "1e3 s", "1 parsec"])
def test_an_invalid_duration_is_refused(text):
    with pytest.raises(ScenarioError):
        nanoseconds(text)

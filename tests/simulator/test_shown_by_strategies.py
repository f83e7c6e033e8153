"""Strategies by name: each shows its paper's effect, and a choice that hides the effect causes a warning."""

import pytest

from reference_sim.contradictions import contradictions
from reference_sim.scenario import Scenario
from reference_sim.strategies import STRATEGIES, named_strategy
from reference_sim.strategy import Strategy
from reference_sim.workloads import published_scenario
from tcptrace_http.errors import ScenarioError
from tests.simulator.shown_by_strategies import ROWS, shown


def test_every_strategy_has_a_row():
    assert {row.strategy for row in ROWS} == set(STRATEGIES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.strategy)
def test_a_strategy_shows_its_papers_effect(row):
    failed = [figure.text(shown(row.strategy)) for figure in row.figures if not figure.holds(shown(row.strategy))]
    assert not failed, row.says


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_as_published_contradicts_no_paper(name):
    assert list(contradictions(named_strategy(name), published_scenario(name))) == []


@pytest.mark.parametrize(
    ("name", "choices", "warning"),
    [
        ("http10-etcp-fair", {"client_stack": "reno"}, "delays ACKs"),
        ("p-http-restart-reset", {"think": 10**9}, "no window restarts"),
        ("p-http-apache-1.1b4", {"client_stack": "linux-6"}, "acknowledges the first segments at once"),
        ("p-http-headers-fix", {"server_stack": "tahoe-ns"}, "Nagle's algorithm off"),
        ("p-http-headers-fix", {"client_stack": "reno-ns", "server_stack": "reno"}, "every segment at once"),
        ("exactconn", {"client_stack": "rwbp"}, "no slow start"),
        ("http10-parallel", {"page": "one-large"}, "is one object"),
        ("http10-keep-alive-x4-split", {"client_stack": "rwbp"}, "does not wait"),
        ("compression", {"page": "empty"}, "no text"),
    ],
)
def test_a_choice_that_hides_the_papers_effect_causes_a_warning(name, choices, warning):
    said = "\n".join(contradictions(named_strategy(name), published_scenario(name, **choices)))
    assert warning in said


def test_named_arguments_replace_only_their_choice():
    by_name = published_scenario("p-http-apache-1.1b4")
    elsewhere = published_scenario("p-http-apache-1.1b4", network="wan")
    assert elsewhere.network.name == "wan"
    assert (elsewhere.browsers, elsewhere.servers) == (by_name.browsers, by_name.servers)
    other_ends = published_scenario("p-http-apache-1.1b4", client_stack="bsd-4.4")
    assert {other_ends.browsers[0].stack.name, other_ends.servers[0].stack.name} == {"bsd-4.4"}
    assert other_ends.servers[0].min_head_bytes == by_name.servers[0].min_head_bytes


def test_a_strategy_of_ones_own_needs_a_page_and_a_network():
    own = Strategy(name="own", about="")
    with pytest.raises(ScenarioError, match="page"):
        published_scenario(own, network="lan")
    with pytest.raises(ScenarioError, match="network"):
        published_scenario(own, page="heidemann")
    assert isinstance(published_scenario(own, page="heidemann", network="lan"), Scenario)

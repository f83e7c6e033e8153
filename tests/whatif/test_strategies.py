"""Captured retrieval under other strategies: constants, changes, and impossible cases."""

from dataclasses import replace

import pytest

from reference_sim.page import Constant
from reference_sim.scenario import Writes
from reference_sim.strategies import STRATEGIES
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError
from tcptrace_http.what_if.outcome import elapsed_of
from tcptrace_http.what_if.strategies import under, unmodified
from tests.whatif.retrievals import RETRIEVALS

#: Strategies of one visit with the origin: the row itself reproduces its retrieval.
PLAIN = ("http10-serial", "http10-parallel-4", "http10-keep-alive-x4", "http11", "http11-pipelined")


@pytest.mark.parametrize("name", PLAIN)
def test_own_strategy_changes_nothing(name):
    scenario = retrieval(strategy=name, page="eggert-text", network="wan", client_stack="reno", parse=1_000_000)
    assert elapsed_of(under(scenario, STRATEGIES[name])) == elapsed_of(unmodified(scenario))


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=lambda strategy: strategy.name)
def test_every_row_ends_or_says_why_it_cannot_be(strategy):
    if strategy.name in {"prefetch", "optimized-browser"}:
        with pytest.raises(ScenarioError, match=r"not in the capture|needs a network with a hub"):
            under(RETRIEVALS["apache"], strategy)
    else:
        assert elapsed_of(under(RETRIEVALS["apache"], strategy)) > 0


def test_server_keeps_its_writes_unless_the_strategy_sets_them():
    apache = RETRIEVALS["apache"].servers[0].writes
    assert apache != Writes()
    assert under(RETRIEVALS["apache"], STRATEGIES["http11"]).scenario.servers[0].writes == apache
    fixed = under(RETRIEVALS["apache"], STRATEGIES["p-http-headers-fix"]).scenario.servers[0].writes
    assert fixed == STRATEGIES["p-http-headers-fix"].writes


def test_hosts_path_and_pages_stay():
    scenario = replace(RETRIEVALS["netscape"])
    candidate = under(scenario, STRATEGIES["http11-pipelined"]).scenario
    assert candidate.network == scenario.network
    assert candidate.browsers[0].stack == scenario.browsers[0].stack
    assert candidate.servers[0].stack == scenario.servers[0].stack
    assert candidate.servers[0].processing == scenario.servers[0].processing
    assert candidate.browsers[0].visits[0].page == scenario.browsers[0].visits[0].page


def test_second_access_counts_for_strategies_on_second_accesses():
    """Check a conditional GET, which requests the page again: the second time less the first."""
    scenario = RETRIEVALS["netscape"]
    candidate = under(scenario, STRATEGIES["conditional-get"])
    assert (candidate.visits_of_page, candidate.retrievals) == (2, 1)
    assert elapsed_of(candidate) < elapsed_of(under(scenario, STRATEGIES["http11-pipelined"]))


@pytest.mark.parametrize("name", ["http11-pipelined", "conditional-get", "ftp"])
def test_several_visits_are_all_fetched_otherwise(name):
    once = retrieval(strategy="http11", page="heidemann", network="lan", client_stack="reno")
    (browser,) = once.browsers
    thinks = Constant(value=2_000_000_000)
    several = replace(once, browsers=(replace(browser, visits=browser.visits * 3, think=thinks),))
    candidate = under(several, STRATEGIES[name])
    objects = len(browser.visits[0].page.objects)
    assert candidate.retrievals == (3 * objects if name == "ftp" else 3)
    assert elapsed_of(candidate) > 2 * elapsed_of(under(once, STRATEGIES[name]))

"""Hosts that share path state, distinguished from hosts that do not."""

from dataclasses import replace

import pytest

from reference_sim.simulation import simulate
from reference_sim.stack import Sharing
from tcptrace_http.inference.strategy import STRATEGIES_SHARED
from tests.inference.shared import random_session
from tests.inference.validation import inference_of

#: One session of each kind, by its seed.
SESSIONS = {"http10-ttcp": 4, "http10-s-tcb-ensemble": 5, "http10-etcp-ticket-decay": 13}


@pytest.mark.parametrize(("strategy", "seed"), SESSIONS.items())
def test_shared_state_is_distinguished_from_two_visits(strategy, seed):
    scenario, true = random_session(seed)
    found = inference_of(simulate(scenario), "client", session=True)
    assert true == strategy
    assert found.figure("browser.strategy").value == strategy
    assert found.scenario.servers[0].stack.sharing is scenario.servers[0].stack.sharing


@pytest.mark.parametrize("end", ["client", "server"])
def test_windows_that_later_connections_begin_with_are_not_the_stacks_initial_window(end):
    scenario, _ = random_session(502)
    found = inference_of(simulate(scenario), end, session=True)
    assert found.figure("browser.strategy").value == "http10-s-tcb-temporal"
    assert found.figure("server.initial_window").value == 1


def test_hosts_that_share_nothing_are_reported_to_share_nothing():
    scenario, _ = random_session(5)
    (server,), (browser,) = scenario.servers, scenario.browsers
    plain = replace(
        scenario,
        servers=(replace(server, stack=replace(server.stack, sharing=Sharing.NONE)),),
        browsers=(replace(browser, stack=replace(browser.stack, sharing=Sharing.NONE)),),
    )
    figure = inference_of(simulate(plain), "client", session=True).figure("browser.strategy")
    assert not {figure.value, *figure.alternatives} & set(STRATEGIES_SHARED)

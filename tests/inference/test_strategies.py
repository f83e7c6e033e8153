"""Inferred strategies where a host's knob or clock determined the request times."""

import pytest

from reference_sim.simulation import simulate
from tests.inference.scenarios import random_case
from tests.inference.validation import inference_of

ENDS = ("client", "server")


@pytest.mark.parametrize("at", ENDS)
def test_a_nagle_hold_is_not_taken_for_another_strategy(at):
    # The server is Linux with BSD's Nagle rule. The document's end waits for all earlier ACKs, and the next
    # request comes later than under Linux's own rule.
    case = random_case(1304)
    found = inference_of(simulate(case.scenario), at)
    assert found.figure("browser.strategy").value == case.strategy
    assert found.figure("server.nagle").value == str(case.scenario.servers[0].stack.nagle)


@pytest.mark.parametrize("at", ENDS)
def test_a_bound_on_connections_that_the_hosts_clocks_leave_no_need_of_is_not_reported(at):
    # The client's ACKs follow a heartbeat. Without its phase, a run with fewer connections was closer.
    case = random_case(1260)
    assert inference_of(simulate(case.scenario), at).figure("browser.strategy").value == case.strategy

"""Zero windows of simulated clients: the truth names each, and the analysis finds those that held data."""

from dataclasses import replace

import pytest

from reference_sim.scenario import NodeTap, Record, SlowReading
from reference_sim.workloads import retrieval
from tests.simulator.comparison import compared
from tests.simulator.runs import run_of


def pipelined_to_slow_reader():
    """Return pipelined responses to a client that empties its small buffer at intervals."""
    made = retrieval(strategy="http11-pipelined", page="kruse-acts", network="thesis", client_stack="tahoe-ns")
    (browser,) = made.browsers
    slow = replace(
        browser,
        stack=replace(browser.stack, receive_buffer=8192),
        reading=SlowReading(after_bytes=4096, pause=2 * 10**9),
    )
    ends = tuple(NodeTap(name=name) for name in (made.network.clients[0], made.network.servers[0]))
    return replace(made, browsers=(slow,), taps=ends, record=Record.everything())


@pytest.mark.parametrize("at", ["client", "server"])
def test_a_window_that_its_reader_closed_is_found_in_each_response_that_it_held_up(at):
    comparison = compared(run_of(pipelined_to_slow_reader(), at=at))
    assert comparison.right["zero-window"] > 0
    assert [it for it in comparison.verdicts if it.detector == "zero-window"] == []

"""True stalls of requests that Nagle's algorithm held at the client."""

import pytest

from reference_sim.true_waits import true_transactions
from tests.simulator.hand_written import scenario, tables, transaction

# The client writes head and body separately; the body waits for the ACK of the head.
SPLIT = """
    C 0>25 SYN ack 0 new
    S 25>50 SYN ack 1 new
    S 0 application
    C 0 application
    C 50>75 1+0 ack 1 ack
    C 50>75 1+100 ack 1 new
    C 50 nagle
    S {ack}>{heard} 1+0 ack 101 {reason}
    C {heard}>{came} 101+200 ack 1 new
    C {heard} application
    S {came}>{answered} 1+1000 ack 301 new
"""


def stalls(reason, ack_ms, at):
    heard, came, answered = (ack_ms + ways * 25 for ways in (1, 2, 3))
    lines = SPLIT.format(ack=ack_ms, heard=heard, came=came, answered=answered, reason=reason)
    own = transaction(0, request=(1, 300), response=(1, 1000), received_ms=came, written_ms=came)
    (found,) = true_transactions(tables(lines, [own]), scenario(one_way_ms=25.0), at=at)
    return [(it.name, it.cause, it.lost_ns / 1e6) for it in found.stalls]


@pytest.mark.parametrize("at", ["client", "server"])
def test_a_request_that_waited_for_a_delayed_ack_is_a_stall_by_both_algorithms(at):
    assert stalls("delayed_ack", 275, at) == [("nagle-delayed-ack", "stall.nagle_delayed_ack", 250.0)]


@pytest.mark.parametrize("at", ["client", "server"])
def test_a_request_that_waited_an_ordinary_rtt_is_a_hold(at):
    assert stalls("ack", 75, at) == [("nagle-hold", "stall.nagle_hold", 50.0)]


def test_a_later_write_of_a_client_is_no_stall():
    lines = SPLIT.replace("C 50 nagle", "").format(ack=75, heard=100, came=125, answered=150, reason="ack")
    own = transaction(0, request=(1, 300), response=(1, 1000), received_ms=125, written_ms=125)
    (found,) = true_transactions(tables(lines, [own]), scenario(one_way_ms=25.0))
    assert found.stalls == []

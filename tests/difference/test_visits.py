"""Two captured visits against a strategy's two visits, and against another capture's visits."""

import pytest

import tcptrace_http
from difference.laws import assert_split_is_exact
from reference_sim import retrieval, simulate
from reference_sim.page import Constant

PAUSE = Constant(value=2_000_000_000)


def captured_twice(path, strategy):
    """Return a page and its second visit two seconds later, captured at its client."""
    scenario = retrieval(strategy=strategy, page="heidemann", network="modem", think=PAUSE)
    simulate(scenario).write_pcap(path, at="client")
    return path


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return captured_twice(tmp_path_factory.mktemp("visits") / "s-tcb.pcap", "http10-s-tcb-temporal")


@pytest.fixture(scope="module")
def accelerated(tmp_path_factory):
    return captured_twice(tmp_path_factory.mktemp("visits") / "t-tcp.pcap", "http10-ttcp")


def pairs(difference):
    return difference.retrievals.select("left_retrieval", "right_retrieval").rows()


def test_two_visits_are_aligned_with_two_visits(shared, accelerated):
    difference = tcptrace_http.diff(shared, accelerated)
    assert_split_is_exact(difference)
    assert pairs(difference) == [(0, 0), (1, 1)]


def test_two_captured_visits_are_aligned_with_those_of_a_strategy(shared, accelerated):
    difference = tcptrace_http.diff(shared, "http10-ttcp")
    assert_split_is_exact(difference)
    assert pairs(difference) == [(0, 0), (1, 1)]
    # The model of both visits is exact, and so is the strategy on it.
    assert difference.right.inferred_ns == pytest.approx(difference.left_ns, rel=0.001)
    truth = tcptrace_http.diff(shared, accelerated)
    assert difference.right_ns == pytest.approx(truth.right_ns, rel=0.02)


def test_the_strategy_with_two_visits_may_be_the_left_side(shared):
    there, back = tcptrace_http.diff(shared, "http10-ttcp"), tcptrace_http.diff("http10-ttcp", shared)
    assert there.difference_ns == -back.difference_ns


def test_a_visit_that_is_asked_for_is_compared_alone(shared):
    assert pairs(tcptrace_http.diff(shared, "http10-ttcp", retrieval=(1, 0))) == [(1, 0)]

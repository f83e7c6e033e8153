"""A side that is a strategy's name: on what was inferred from the other side."""

import pytest

import tcptrace_http
from difference.laws import assert_split_is_exact, nanoseconds
from reference_sim import retrieval

STALL = "stall.nagle_delayed_ack"


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """A page over the modem by one connection an object, as a capture of its client."""
    path = tmp_path_factory.mktemp("modelled") / "page.pcap"
    import reference_sim

    scenario = retrieval(strategy="http10-serial", page="heidemann", network="modem", client_stack="reno")
    reference_sim.simulate(scenario).write_pcap(path, at="client")
    return path


def test_inferred_scenario_takes_what_was_captured(captured):
    difference = tcptrace_http.diff(captured, "inferred")
    assert_split_is_exact(difference)
    assert difference.left_ns == pytest.approx(difference.right_ns, rel=0.001)
    assert difference.right.inferred_ns == difference.right_ns
    assert difference.divergences == ()


@pytest.mark.parametrize("strategy", ["http11-pipelined", "http10-parallel", "http10-serial"])
def test_strategy_on_the_inferred_path_takes_what_it_does_on_the_true_one(captured, strategy):
    difference = tcptrace_http.diff(captured, strategy)
    truth = tcptrace_http.diff(
        captured, retrieval(strategy=strategy, page="heidemann", network="modem", client_stack="reno")
    )
    assert_split_is_exact(difference)
    assert difference.right_ns == pytest.approx(truth.right_ns, rel=0.02)


def test_strategy_may_be_the_left_side(captured):
    there, back = tcptrace_http.diff(captured, "http11"), tcptrace_http.diff("http11", captured)
    assert there.difference_ns == -back.difference_ns
    assert back.left.name == "http11"
    assert not back.right.is_simulated


def test_retrieval_that_was_inferred_from_is_the_one_that_is_compared(sample_traces):
    path = sample_traces / "bsd_phttp_orig.pcap"
    difference = tcptrace_http.diff(path, "inferred", retrieval=4)
    assert difference.retrievals.select("left_retrieval", "right_retrieval").rows() == [(4, 0)]
    # What the model of the broken server has are its stalls.
    for side in ("left", "right"):
        stalls = nanoseconds(difference.causes.filter(cause=STALL)[side])
        assert stalls == pytest.approx(589e6, rel=0.02)


def test_of_a_strategy_with_two_visits_the_second_is_compared(captured):
    """What was not modified is asked for again: its second visit has no bodies."""
    difference = tcptrace_http.diff(captured, "conditional-get")
    visits = difference.right.analysis.retrievals
    assert visits.height == 2
    assert difference.retrievals["right_retrieval"].to_list() == [1]
    assert set(difference.transactions["right_body_bytes"]) == {0}

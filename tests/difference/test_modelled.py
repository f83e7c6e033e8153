"""Modelled side: a strategy's name, simulated on the inferred conditions of the other side."""

import pytest

import tcptrace_http
from difference.laws import assert_split_is_exact, nanoseconds
from reference_sim import retrieval

STALL = "stall.nagle_delayed_ack"


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Return a page over the modem with one connection per object, captured at its client."""
    path = tmp_path_factory.mktemp("modelled") / "page.pcap"
    import reference_sim

    scenario = retrieval(strategy="http10-serial", page="heidemann", network="modem", client_stack="reno")
    reference_sim.simulate(scenario).write_pcap(path, at="client")
    return path


def test_inferred_scenario_takes_the_captured_time(captured):
    difference = tcptrace_http.diff(captured, "inferred")
    assert_split_is_exact(difference)
    assert difference.left_ns == pytest.approx(difference.right_ns, rel=0.001)
    assert difference.right.inferred_ns == difference.right_ns
    assert difference.divergences == ()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["http11-pipelined", "http10-parallel", "http10-serial"])
def test_strategy_takes_the_same_time_on_the_inferred_and_the_true_path(captured, strategy):
    difference = tcptrace_http.diff(captured, strategy)
    truth = tcptrace_http.diff(
        captured, retrieval(strategy=strategy, page="heidemann", network="modem", client_stack="reno")
    )
    assert_split_is_exact(difference)
    assert difference.right_ns == pytest.approx(truth.right_ns, rel=0.02)


@pytest.mark.slow
def test_strategy_may_be_the_left_side(captured):
    there, back = tcptrace_http.diff(captured, "http11"), tcptrace_http.diff("http11", captured)
    assert there.difference_ns == -back.difference_ns
    assert back.left.name == "http11"
    assert not back.right.is_simulated


def test_retrieval_that_was_inferred_from_is_the_one_that_is_compared(sample_traces):
    path = sample_traces / "bsd_phttp_orig.pcap"
    difference = tcptrace_http.diff(path, "inferred", retrieval=4)
    assert difference.retrievals.select("left_retrieval", "right_retrieval").rows() == [(4, 0)]
    # The model of the broken server contains its stalls.
    for side in ("left", "right"):
        stalls = nanoseconds(difference.causes.filter(cause=STALL)[side])
        assert stalls == pytest.approx(589e6, rel=0.02)


@pytest.mark.slow
def test_of_a_strategy_with_two_visits_the_second_is_compared(captured):
    """Check conditional requests: the second visit of an unchanged page has no bodies."""
    difference = tcptrace_http.diff(captured, "conditional-get")
    visits = difference.right.analysis.retrievals
    assert visits.height == 2
    assert difference.retrievals["right_retrieval"].to_list() == [1]
    assert set(difference.transactions["right_body_bytes"]) == {0}


def test_fix_saves_the_stalls_that_it_is_for(sample_traces):
    path = sample_traces / "lan_hdrsep_small.pcap"
    difference = tcptrace_http.diff(path, "no-nagle", retrieval=1)
    assert_split_is_exact(difference)
    assert difference.causes["cause"][0] == STALL
    assert nanoseconds(difference.causes.filter(cause=STALL)["right"]) == 0
    # As measured on the same server with TCP_NODELAY.
    measured = tcptrace_http.diff(path, sample_traces / "lan_hdrsep_small_nodelay.pcap", retrieval=1)
    assert difference.difference_ns == pytest.approx(measured.difference_ns, rel=0.05)


@pytest.mark.slow
def test_several_parts_are_applied_one_after_the_other(sample_traces):
    path = sample_traces / "bsd_phttp_orig.pcap"
    fixed = tcptrace_http.diff(path, "+no-nagle")
    both = tcptrace_http.diff(path, "http10-parallel+head-with-body+no-nagle")
    assert fixed.right_ns == tcptrace_http.diff(path, "no-nagle").right_ns
    assert both.right.analysis.flows.height == 3
    assert nanoseconds(both.causes.filter(cause=STALL)["right"]) == 0


def test_fix_that_changes_nothing_says_so(sample_traces):
    difference = tcptrace_http.diff(sample_traces / "bsd_phttp_orig.pcap", "keep-alive")
    assert "keep-alive changes nothing:" in difference.text()
    assert difference.right_ns == difference.right.inferred_ns


@pytest.mark.slow
def test_a_plus_precedes_a_fix(sample_traces):
    """Check compression as a strategy, which also pipelines, and as a fix, which keeps the requests."""
    path = sample_traces / "bsd_phttp_orig.pcap"
    assert tcptrace_http.diff(path, "compression").right.analysis.transactions["pipelined"].any()
    assert not tcptrace_http.diff(path, "+compression").right.analysis.transactions["pipelined"].any()


def test_no_name_has_a_plus_in_it():
    from reference_sim import STRATEGIES
    from tcptrace_http.what_if import FIXES

    assert not [name for name in (*STRATEGIES, *FIXES) if "+" in name]


@pytest.mark.slow
def test_model_that_does_not_retell_its_capture_says_so(sample_traces):
    """Check shell commands: no browser would have sent these requests at these times."""
    words = "the model's own error"
    assert words in " ".join(
        tcptrace_http.diff(sample_traces / "objects_nginx_curl.pcap", "http11").text().split()
    )
    assert words not in tcptrace_http.diff(sample_traces / "bsd_phttp_orig.pcap", "no-nagle").text()


@pytest.mark.slow
def test_losses_of_a_capture_are_in_its_model(tmp_path):
    import reference_sim

    path = tmp_path / "lossy.pcap"
    page = {"strategy": "http11", "page": "bhalekar-1-large", "client_stack": "reno"}
    reference_sim.simulate(retrieval(network="wan-loss", seed=7, **page)).write_pcap(path, at="client")
    difference = tcptrace_http.diff(path, "inferred")
    assert not difference.left.analysis.recoveries.is_empty()
    assert not difference.right.analysis.recoveries.is_empty()
    assert abs(difference.difference_ns) < 0.02 * difference.left_ns

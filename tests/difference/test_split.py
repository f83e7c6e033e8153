"""Difference of elapsed times by cause: exact for any two captures or scenarios."""

from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcptrace_http
from difference.laws import assert_everything_is_there_once, assert_split_is_exact, nanoseconds
from reference_sim import retrieval, thesis

STRATEGIES = ("http10-serial", "http10-parallel-4", "http11-pipelined", "p-http-apache-1.1b4", "p-http-both-fixes")
NETWORKS = ("lan", "wan", "modem")
PAGES = ("heidemann", "eggert-text")


@cache
def analysed(strategy, network, page):
    """Return one side; a cached simulation serves many pairs."""
    from tcptrace_http.difference.side import side_of

    return side_of(retrieval(strategy=strategy, page=page, network=network, client_stack="sunos-4.1.3")).analysis


SIDES = st.tuples(st.sampled_from(STRATEGIES), st.sampled_from(NETWORKS), st.sampled_from(PAGES))


@given(left=SIDES, right=SIDES)
@settings(max_examples=10)
def test_split_of_any_two_simulated_retrievals_is_exact(left, right):
    difference = tcptrace_http.diff(analysed(*left), analysed(*right))
    assert_split_is_exact(difference)
    assert_everything_is_there_once(difference)
    assert difference.aligned_retrievals.height == 1
    if left == right:
        assert difference.difference_ns == 0
        assert not difference.divergences


@given(left=SIDES, right=SIDES)
@settings(max_examples=6)
def test_sides_exchanged_negate_the_difference(left, right):
    one, other = analysed(*left), analysed(*right)
    there, back = tcptrace_http.diff(one, other), tcptrace_http.diff(other, one)
    assert there.difference_ns == -back.difference_ns
    signed = dict(there.causes.select("cause", pl.col("difference").to_physical()).rows())
    assert {cause: -value for cause, value in signed.items()} == dict(
        back.causes.select("cause", pl.col("difference").to_physical()).rows()
    )


def test_capture_against_itself_differs_in_nothing(sample_traces):
    path = sample_traces / "rtt20_hdrsep.pcap"
    difference = tcptrace_http.diff(path, path)
    assert_split_is_exact(difference)
    assert set(difference.transactions["how"]) == {"same"}
    assert difference.difference_ns == 0
    assert not any(difference.causes["difference"].to_physical())
    assert difference.divergences == ()


def test_time_of_transactions_of_one_side_is_a_line_of_its_own():
    """Check a page without its second image: its time is no cause of a slower remainder."""
    from reference_sim import PAGES as KNOWN

    whole = KNOWN["heidemann"]
    part = whole.with_objects(whole.objects[:2])
    choices = {"strategy": "http10-serial", "network": "wan", "client_stack": "sunos-4.1.3"}
    difference = tcptrace_http.diff(retrieval(page=whole, **choices), retrieval(page=part, **choices))
    assert_split_is_exact(difference)
    assert dict(difference.transactions["how"].value_counts().rows()) == {"same": 2, "only_left": 1}
    by_cause = {row["cause"]: row for row in difference.causes.iter_rows(named=True)}
    assert by_cause["unaligned"]["right"].total_seconds() == 0
    # The whole difference: the rest of the page took the same time.
    assert nanoseconds(difference.causes.filter(cause="unaligned")["left"]) == difference.difference_ns


def test_chosen_pair_of_retrievals_is_compared_alone(sample_traces):
    path = sample_traces / "bsd_phttp_orig.pcap"
    difference = tcptrace_http.diff(path, path, retrieval=(1, 4))
    assert_split_is_exact(difference)
    assert difference.retrievals.select("left_retrieval", "right_retrieval").rows() == [(1, 4)]
    assert difference.transactions.select("left_flow", "right_flow").unique().rows() == [(1, 4)]
    assert difference.left_ns == nanoseconds(difference.left.analysis.retrievals["elapsed"].slice(1, 1))


@pytest.mark.parametrize("choice", [{"retrieval": 99}, {"retrieval": (0, 99)}, {"flow": 99}, {"flow": (0, 99)}])
def test_missing_parts_are_reported(sample_traces, choice):
    path = sample_traces / "lan_hdrsep_small.pcap"
    with pytest.raises(tcptrace_http.UnknownName, match="99 is no"):
        tcptrace_http.diff(path, path, **choice)


@pytest.mark.slow
@pytest.mark.parametrize("other", ["http10-serial", "http10-parallel", "thesis-pipelined"])
def test_split_of_busy_servers_with_losses_is_exact(other):
    """Check many clients, many retrievals, and losses."""
    one = thesis(strategy="segment-filled", web_clients=4, ftp_clients=1, seed=3)
    difference = tcptrace_http.diff(one, thesis(strategy=other, web_clients=4, ftp_clients=1, seed=3))
    assert_split_is_exact(difference)
    assert_everything_is_there_once(difference)
    assert difference.aligned_retrievals.height > 0

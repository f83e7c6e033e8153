"""Heidemann's Table 1 as a difference: the loss of P-HTTP to its two stalls, against the fixed server."""

import json
from dataclasses import replace

import pytest

import tcptrace_http
from difference.laws import assert_split_is_exact, nanoseconds
from reference_sim import heidemann, retrieval

STALL = "stall.nagle_delayed_ack"
RETRIEVALS = 6


def fixed_server():
    """Return the paper's page from a server with both fixes, with as many retrievals as the captures."""
    once = retrieval(strategy="p-http-both-fixes", page="heidemann", network="lan", client_stack="sunos-4.1.3")
    (browser,) = once.browsers
    return replace(once, browsers=(replace(browser, visits=browser.visits * RETRIEVALS),))


def share_of_stalls(difference):
    return nanoseconds(difference.causes.filter(cause=STALL)["difference"]) / difference.difference_ns


def found(difference):
    return {row["detector"]: (row["left_count"], row["right_count"]) for row in difference.stalls.to_dicts()}


@pytest.fixture(scope="module")
def measured_against_modelled(sample_traces):
    return tcptrace_http.diff(sample_traces / "bsd_phttp_orig.pcap", fixed_server())


def test_measured_p_http_is_slower_than_the_modelled_fixed_server_by_its_two_stalls(measured_against_modelled):
    difference = measured_against_modelled
    assert_split_is_exact(difference)
    assert difference.aligned_retrievals.height == RETRIEVALS
    # 601 ms per retrieval, against 605 ms in Table 1; the modelled server takes 12 ms.
    assert difference.left_ns / RETRIEVALS == pytest.approx(601e6, rel=0.01)
    assert difference.difference_ns / RETRIEVALS == pytest.approx(589e6, rel=0.01)
    assert share_of_stalls(difference) == pytest.approx(0.996, abs=0.003)
    # The paper: the first and the third document begin short, the first ends oddly.
    assert found(difference) == {"short-initial-segment": (12, 0), "odd-short-final-segment": (6, 0)}


def test_transactions_under_other_names_are_aligned_by_their_sizes(measured_against_modelled):
    names = measured_against_modelled.transactions.select("how", "left_target", "right_target").unique().rows()
    assert sorted(names) == [
        ("renamed", "/d/1866", "/images/2.gif"),
        ("renamed", "/d/3883", "/images/1.gif"),
        ("renamed", "/d/6651", "/"),
    ]


def test_flows_part_ways_at_the_header_that_went_alone_and_then_at_the_hold(measured_against_modelled):
    shape, hold = measured_against_modelled.divergences
    # Frame 4 of the capture has the header's 226 bytes; the fixed server sends a full segment.
    assert (shape.kind, shape.left_transaction, shape.left_frame) == ("size", 0, 4)
    assert "226 bytes" in shape.words
    assert "1460 bytes" in shape.words
    assert (hold.kind, hold.cause, hold.left_frame) == ("hold", STALL, 7)
    assert hold.left_wait_ns == pytest.approx(199e6, rel=0.01)
    assert hold.right_wait_ns < 2e6


def test_headline_says_how_much_the_stalls_are(measured_against_modelled):
    text = " ".join(measured_against_modelled.text().split())
    times = measured_against_modelled.left_ns / 1e9, measured_against_modelled.right_ns / 1e6
    assert f"6 aligned retrievals took {times[0]:.2f} s on the left, {times[1]:.1f} ms on the right" in text
    assert f"3.52 s of the 3.53 s are {STALL} (12 short-initial-segment, 6 odd-short-final-segment)." in text


def test_simulated_p_http_differs_from_the_simulated_fixed_server_by_the_stalls():
    """Check Table 1: 605 ms against 26 ms, from the modelled 1996 hosts."""
    sides = [heidemann(strategy=name, retrievals=3) for name in ("p-http-apache-1.1b4", "p-http-both-fixes")]
    difference = tcptrace_http.diff(*sides)
    assert_split_is_exact(difference)
    assert difference.difference_ns / 3 == pytest.approx(579e6, rel=0.05)
    assert share_of_stalls(difference) > 0.98


def test_measured_broken_and_fixed_servers_differ_by_the_gaps_that_were_measured(captures):
    """Check the kernel captures: each stall's length is in the capture's sidecar."""
    folder = captures / "kernel"
    difference = tcptrace_http.diff(folder / "bsd_phttp_orig.pcap", folder / "bsd_phttp_fix2.pcap")
    assert_split_is_exact(difference)
    gaps = json.loads((folder / "bsd_phttp_orig.json").read_text())["observed"]["gaps"]
    assert gaps["delack-stall"]["count"] == 18
    held = 1e6 * gaps["delack-stall"]["total_ms"]
    stalls = nanoseconds(difference.causes.filter(cause=STALL)["left"])
    assert stalls == pytest.approx(held, rel=0.01)
    assert share_of_stalls(difference) == pytest.approx(1, abs=0.005)
    assert found(difference) == {
        "short-initial-segment": (12, 0),
        "odd-short-final-segment": (6, 0),
        # The window of two segments, visible only on the right: the held head hides it on the left.
        "initial-window": (0, 1),
    }


@pytest.mark.parametrize(
    ("broken", "fixed", "cause", "least"),
    [
        ("lan_hdrsep_small", "lan_hdrsep_small_nodelay", STALL, 0.95),
        ("lan_4k_chunks", "lan_4k_chunks_nodelay", STALL, 0.9),
        ("bsd_phttp_fix1", "bsd_phttp_fix2", STALL, 0.95),
        ("ssr_cubic_on", "ssr_cubic_off", "stall.slow_start_restart", 0.9),
    ],
)
def test_a_fix_changes_the_cause_that_it_fixes(captures, broken, fixed, cause, least):
    folder = captures / "kernel"
    difference = tcptrace_http.diff(folder / f"{broken}.pcap", folder / f"{fixed}.pcap")
    assert_split_is_exact(difference)
    assert difference.causes["cause"][0] == cause
    saved = nanoseconds(difference.causes.filter(cause=cause)["difference"])
    assert least < saved / difference.difference_ns < 1.2

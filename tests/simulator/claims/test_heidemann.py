"""Claims H1 to H6 of Heidemann, "Performance Interactions Between P-HTTP and TCP Implementations" (1996).

The experiments of ``reference_sim.papers.heidemann_1996`` show the claims; these tests check their
preconditions. Two effects are not modelled: the spread of single retrievals (HTTP by 94 %), and the shared
medium of 1996's Ethernet.
"""

from dataclasses import replace
from functools import cache
from statistics import mean

import pytest

import tcptrace_http
from reference_sim.pages import sized
from reference_sim.papers import heidemann_1996
from reference_sim.papers.heidemann_1996.figures import (
    figure_2,
    figure_4,
    last_retrieval,
    printed,
    simulated,
    stall_ms,
)
from reference_sim.papers.heidemann_1996.restarts import POLICIES
from reference_sim.papers.heidemann_1996.socket_buffers import link_rate
from reference_sim.papers.heidemann_1996.table_1 import APACHE, BOTH_FIXES, HTTP
from reference_sim.reproduction.readings import durations
from reference_sim.reproduction.runner import results_here
from reference_sim.reproduction.verdict import Verdict
from reference_sim.simulation import simulate
from reference_sim.stacks import stack
from reference_sim.workloads import heidemann, retrieval

MS = 10**6
EXPERIMENTS = {experiment.claim: experiment for experiment in heidemann_1996.EXPERIMENTS}
TABLE_1 = EXPERIMENTS["H1"]
RESTARTS = EXPERIMENTS["H4"]


@cache
def results(claim):
    return results_here(EXPERIMENTS[claim])


def test_h1_to_h6_are_reproduced():
    for claim, experiment in EXPERIMENTS.items():
        judgement = experiment.judge(results(claim))
        assert judgement.verdict is Verdict.REPRODUCED, claim
        if claim not in {"H2", "H3"}:
            assert {one.verdict for one in judgement.comparisons} == {Verdict.REPRODUCED}, claim


@pytest.mark.parametrize("claim", ["H2", "H3"])
def test_h2_h3_the_stall_is_the_printed_one_for_any_heartbeat_phase(claim):
    """Return six consecutive retrievals: earlier stalls determine the heartbeat phase of the last one's stall."""
    (stalls,) = {tuple(one["stall_ms"] for one in repeated) for repeated in results(claim).measured.values()}
    assert len(stalls) == 5
    published = {"H2": 190.647 - 4.911, "H3": 189.479 - 22.103}[claim]
    assert list(stalls) == pytest.approx([published] * 5, rel=0.02)


@cache
def retrieval_ms(strategy):
    assert results("H1").value(strategy, "retrievals") == 100
    return results("H1").value(strategy, "mean_ms")


def test_h1_the_means_are_closer_than_asked():
    judgement = TABLE_1.judge(results("H1"))
    assert [one.ratio for one in judgement.comparisons] == [pytest.approx(1, rel=0.05)] * 4


def test_h1_retrievals_are_synchronized_with_the_clients_heartbeat():
    """Check synchronized retrievals: each begins at the end of a stall; single ones are up to 200 ms faster."""
    alone = [
        durations(simulate(heidemann(strategy=APACHE, retrievals=1, phase=phase)).truth)[0]
        for phase in range(0, 200 * MS, 20 * MS)
    ]
    assert 0.4 < min(alone) < 0.45
    assert 1000 * mean(alone) == pytest.approx(retrieval_ms(APACHE) - 100, abs=25)


def test_h1_the_connection_cost_is_the_difference_of_two_table_rows():
    """Check the connection cost: without it, HTTP would be as fast as P-HTTP with both fixes."""
    free = 1000 * mean(durations(simulate(heidemann(strategy=HTTP, connection_cost=0)).truth))
    assert 0 < free - retrieval_ms(BOTH_FIXES) < 1
    assert retrieval_ms(HTTP) - retrieval_ms(BOTH_FIXES) == pytest.approx(43 - 26, rel=0.05)


def test_h6_the_abstract_has_20_and_the_table_23():
    assert retrieval_ms(APACHE) / retrieval_ms(BOTH_FIXES) == pytest.approx(605 / 26, rel=0.05)


def test_h2_the_packets_of_figure_2_in_their_order():
    expected = [line.what for line in printed(2)]
    truth = simulate(figure_2(seed=1)).truth
    made = simulated(truth, last_retrieval(truth, document=0), from_start=True)
    assert [line.what for line in made[: len(expected)]] == expected


def test_h2_h3_the_stall_is_the_printed_silence():
    assert stall_ms(printed(2), (226, 1460)) == pytest.approx(190.647 - 4.911)
    assert stall_ms(printed(4), (1460, 1460, 1176)) == pytest.approx(189.479 - 22.103)


def test_h3_two_segments_are_acknowledged_at_once_and_the_third_not():
    """Check the ACK time: the medium is not shared, so the client does not queue the ACK."""
    truth = simulate(figure_4(seed=1)).truth
    made = simulated(truth, last_retrieval(truth, document=1), from_start=False)[:8]
    sent = [line.described for line in made]
    assert [line for line in sent if line.startswith("segment")] == [
        f"segment of {size} bytes" for size in (1460, 1460, 1176, 13)
    ]
    assert [line.acked for line in made if line.sender == "client" and line.payload == 0] == [2920, 4096]
    # In print, the first of these two follows the third segment, which occupied the Ethernet.
    assert sent.index("ACK of 2920 bytes") + 1 == sent.index("segment of 1176 bytes")


@pytest.mark.parametrize(
    ("scenario", "detector", "low_ms", "high_ms"),
    [(figure_2, "short-initial-segment", 170, 190), (figure_4, "odd-short-final-segment", 160, 190)],
    ids=["h2", "h3"],
)
def test_h2_h3_the_analysis_names_the_stall_as_the_paper_does(tmp_path, scenario, detector, low_ms, high_ms):
    simulate(scenario(seed=1)).write_pcap(tmp_path / "x.pcap")
    findings = tcptrace_http.analyze(tmp_path / "x.pcap").findings.filter(detector=detector)
    lost = [row["lost"].total_seconds() * 1000 for row in findings.iter_rows(named=True)]
    assert any(low_ms <= ms <= high_ms for ms in lost), findings
    assert set(findings["cause"]) == {"stall.nagle_delayed_ack"}


def test_h4_a_pause_is_on_one_connection():
    assert all(results("H4").value(f"{policy} 3 s", "connections") == 1 for policy in POLICIES)


def test_h4_a_kept_window_leaves_in_a_burst_of_many_packets():
    assert results("H4").value("keep 3 s", "burst") >= 10
    assert results("H4").value("pace 3 s", "flight") >= 10


def test_h4_a_reset_costs_several_rtts_and_pacing_none():
    seconds = {policy: results("H4").value(f"{policy} 3 s", "seconds") for policy in POLICIES}
    # Slow start takes several RTTs of 90 ms, and a delayed ACK for its first segment.
    assert seconds["reset"] > seconds["keep"] + 3 * 0.09
    assert seconds["pace"] == pytest.approx(seconds["keep"], abs=0.09)


def test_h4_after_10_s_a_decayed_window_is_a_reset_one():
    assert results("H4").value("decay 10 s", "flight") == 1


def test_h5_no_buffer_loses_anything():
    assert all(results("H5").value(label, "retransmissions") == 0 for label in results("H5").measured)


def test_h5_large_segments_and_delayed_acks_take_more_of_a_small_buffer():
    """Check a 4 kB buffer: two segments of 1460 bytes per RTT, and a Nagle hold for the rest."""
    rtt = 0.090 + 1500 * 8 / 1e6
    large = rate_mbps(4 * 1024, ack_every=1)
    assert large == pytest.approx(2 * 1500 * 8 / rtt / 1e6, rel=0.03)
    assert rate_mbps(4 * 1024, ack_every=2) < large


def rate_mbps(send_buffer, *, ack_every):
    """Return the link rate with segments of 1460 bytes."""
    reno = stack("reno")
    scenario = retrieval(
        strategy=HTTP,
        page=sized("bulk", 500_000),
        network="wan",
        client_stack=replace(reno, acks=replace(reno.acks, every=ack_every)),
        server_stack=replace(reno, send_buffer=send_buffer),
    )
    return link_rate(simulate(scenario))["mbps"]

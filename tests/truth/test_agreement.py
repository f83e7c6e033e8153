"""Comparison of both ends: detected differences and permitted differences."""

from pathlib import Path

import pytest

from truth.agreement import compared
from truth.kernel_truth import Capture
from truth.partition import Part, Shares, parts_of

SAMPLES = Path(__file__).parents[2] / "sample_traces"
KEY = (40000, 0, 0)


def pair(client, server, drops=()):
    sidecar = {"emulator": {"drops": list(drops)}}
    capture = Capture("made", SAMPLES, sidecar, False)
    ends = [
        Shares(SAMPLES, {KEY: [Part(cause, ms, 1, 2) for cause, ms in end.items()]}) for end in (client, server)
    ]
    return compared(capture, *ends)


def causes(compared_pair):
    return {d.cause for d in compared_pair.disagreements}


def test_the_same_time_by_cause_is_agreement():
    assert not causes(pair({"server.think": 40.0, "stall.nagle_hold": 1.0}, {"server.think": 41.9}))


def test_time_that_moved_to_another_cause_disagrees_in_both():
    moved = pair({"server.think": 40.0}, {"stall.tail_loss": 40.0})
    assert causes(moved) == {"server.think", "stall.tail_loss"}


def test_queue_at_one_end_is_the_links_pace_at_the_other():
    assert not causes(pair({"send_limited.bottleneck": 30.0}, {"network.queueing": 30.0}))


def test_unobserved_time_at_one_end_matches_any_cause():
    assert not causes(pair({"unobserved": 30.0}, {"server.think": 30.0}))
    assert causes(pair({"unobserved": 30.0}, {"server.think": 33.0}))


def test_packets_lost_before_the_server_are_skipped_and_counted():
    drop = {"dir": "up", "sport": KEY[0], "dport": 8080, "payload": 0, "t": 0.0, "seq_raw": 0, "why": "list"}
    lost = pair({"stall.tail_loss": 200.0}, {"server.think": 1.0}, [drop])
    assert (lost.passed_over, lost.disagreements) == (1, [])


def test_transaction_of_one_end_alone_is_reported():
    capture = Capture("made", SAMPLES, {}, False)
    one = compared(capture, Shares(SAMPLES, {KEY: []}), Shares(SAMPLES, {}))
    assert one.not_at_both == [KEY]


@pytest.mark.parametrize("name", ["lan_4k_chunks", "lan_hdrsep_small"])
def test_both_ends_of_a_sample_have_the_same_transactions_and_elapsed_time(name):
    client, server = (parts_of(SAMPLES / f"{name}{end}.pcap") for end in ("", ".srv"))
    assert client.parts.keys() == server.parts.keys()
    for key, parts in client.parts.items():
        elapsed = [sum(part.ms for part in each) for each in (parts, server.parts[key])]
        assert elapsed[0] == pytest.approx(elapsed[1], abs=1.0), key

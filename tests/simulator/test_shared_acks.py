"""Connections with a shared window, simulated: the releasing ACK matches the truth."""

from __future__ import annotations

from .runs import compared_run

CWND = "send_limited.cwnd"
DELAYED = "stall.delayed_ack_first_segment"
NAGLE = "stall.nagle_delayed_ack"


def test_each_delayed_ack_of_a_heartbeat_releases_the_data_that_it_makes_room_for() -> None:
    # The released data queues in the order of the ACKs, each mostly of another connection.
    _, comparison = compared_run(77, 471, at="client")
    told_as_it_was = comparison.confusion[CWND, CWND]
    assert told_as_it_was > 20 * comparison.confusion[CWND, DELAYED]


def test_an_ack_that_another_connections_handshake_delayed_is_looked_for_a_quickest_path_before() -> None:
    # Each handshake waits in the queue of ten connections: its RTT says little about the path. The first
    # segments leave room for a SYN's options, and are full.
    _, comparison = compared_run(5, 297, at="client")
    name = "delayed-ack-first-segment"
    assert comparison.right[name] >= 13
    assert not [it for it in comparison.verdicts if it.detector == name]


def test_nagles_algorithm_did_not_hold_data_released_by_another_connections_ack() -> None:
    _, comparison = compared_run(1, 822, at="client")
    assert not comparison.confusion[CWND, NAGLE]


def test_a_window_that_another_connections_ack_opened_behind_a_queue_is_no_slow_server() -> None:
    # The released data queued at the bottleneck, so the releasing ACK is not the nearest ACK.
    _, comparison = compared_run(77, 798, at="client")
    told_as_it_was = comparison.confusion[CWND, CWND]
    assert told_as_it_was > 50 * comparison.confusion[CWND, "server.think"]

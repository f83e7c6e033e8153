"""Nagle holds in simulated scenarios: the analysis matches the truth."""

from __future__ import annotations

from .runs import compared_run


def test_the_ack_of_a_short_initial_segment_is_found_behind_a_queue_of_other_connections() -> None:
    # Ten connections at 1.5 Mb/s: a heartbeat sends all delayed ACKs at once, and the released data queues at
    # the link.
    _, comparison = compared_run(1, 1222, at="client")
    name = "short-initial-segment"
    assert comparison.right[name] >= 20
    assert not [it for it in comparison.verdicts if it.detector == name and it.is_missed]


def test_a_response_whose_start_was_held_is_no_slow_server() -> None:
    _, comparison = compared_run(1, 296, at="client")
    held = comparison.confusion["stall.nagle_delayed_ack", "stall.nagle_delayed_ack"]
    taken_for_work = comparison.confusion["stall.nagle_delayed_ack", "server.think"]
    assert held > 4 * taken_for_work


def test_the_next_flight_did_not_wait_for_the_delayed_ack_of_the_last_one() -> None:
    _, comparison = compared_run(1, 458, at="client")
    assert not comparison.confusion["send_limited.slow_start", "stall.delayed_ack_first_segment"]


def test_time_of_a_short_segment_on_a_slow_link_was_not_lost() -> None:
    # Its headers alone take 6 ms at 56 kb/s.
    _, comparison = compared_run(5, 716, at="client")
    name = "short-initial-segment"
    assert comparison.right[name] >= 5
    wrong = [it for it in comparison.verdicts if it.detector == name and not it.is_missed]
    assert not [it for it in wrong if it.lost_ns < 10_000_000]


def test_where_no_mss_was_offered_a_larger_segment_shows_that_the_first_one_was_short() -> None:
    _, comparison = compared_run(1, 1920, at="client")
    name = "short-initial-segment"
    assert comparison.right[name] >= 2
    assert not [it for it in comparison.verdicts if it.detector == name]


def test_a_window_that_acks_have_opened_since_did_not_hold_a_short_segment() -> None:
    # A larger flight never occurred, because the server had no more data.
    _, comparison = compared_run(1, 1572, at="client")
    assert not comparison.confusion["stall.nagle_hold", "unexplained"]
    assert comparison.right["nagle-hold"] + comparison.right["odd-short-final-segment"] >= 4


def test_acks_that_came_while_data_stood_behind_others_have_not_opened_the_window_before_it_left() -> None:
    _, comparison = compared_run(1, 552, at="client")
    assert not comparison.confusion["stall.delayed_ack_first_segment", "stall.nagle_delayed_ack"]


def test_data_that_the_receivers_window_had_no_room_for_was_not_held_by_nagles_algorithm() -> None:
    _, comparison = compared_run(1, 1827, at="client")
    assert not comparison.confusion["send_limited.receive_window", "stall.nagle_hold"]


def test_first_segments_that_are_late_in_proportion_to_their_bytes_show_a_slow_link() -> None:
    # One response of two segments at 0.8 Mb/s: its head follows the request at once, and a delayed ACK
    # releases its body.
    _, comparison = compared_run(1, 277, at="client")
    assert comparison.right["short-initial-segment"] >= 1
    assert not comparison.confusion["stall.nagle_delayed_ack", "server.data_unavailable"]


def test_an_ack_that_rides_on_a_request_takes_its_time_on_a_slow_link() -> None:
    # A pipelined client sends 600 bytes of the next request with the ACK of the head, at 56 kb/s.
    _, comparison = compared_run(1, 1130, at="client")
    assert comparison.right["short-initial-segment"] == 2


def test_of_two_acks_the_one_that_data_follows_just_on_time_let_it_go() -> None:
    # The ACK of the short segment came 1 ms before the ACK of the following full segment, for which BSD also
    # waits.
    _, comparison = compared_run(1, 1113, at="client")
    assert comparison.right["nagle-hold"] == 2
    assert not [it for it in comparison.verdicts if it.detector in {"nagle-hold", "odd-short-final-segment"}]


def test_a_short_first_segment_is_reported_if_only_later_data_shows_the_link() -> None:
    _, comparison = compared_run(1, 1669, at="client")
    name = "short-initial-segment"
    assert comparison.right[name]
    assert not [it for it in comparison.verdicts if it.detector == name]


def test_writes_of_one_response_far_apart_show_no_restart() -> None:
    # 2 KB at a time on 56 kb/s: Nagle's algorithm stops the sender after each.
    _, comparison = compared_run(1, 790, at="client")
    told = {it.key[1] for it in comparison.verdicts if it.detector == "slow-start-restart"}
    assert not told & {49155, 49161, 49165, 49171}


def test_data_held_by_nagles_algorithm_and_then_lost_is_a_hold() -> None:
    _, comparison = compared_run(1, 885, at="client")
    assert comparison.confusion["stall.nagle_hold", "stall.nagle_hold"] > 1_000_000_000
    assert not [it for it in comparison.verdicts if it.detector == "nagle-hold" and not it.is_missed]

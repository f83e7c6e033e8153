"""How stalls that detectors judge are carved out of the core's partition."""

import itertools

import polars as pl
import pytest

from tcptrace_http.schema import TABLES, polars_schema
from tcptrace_http.waits import that_cost_time, with_stalls

#: A partition of [0, 300] as the core makes it: the wait that frame 5 ended has its pace before it.
PARTITION = [
    ("network.propagation", 0, 100, 1, 2),
    ("send_limited.bottleneck", 100, 110, 2, 5),
    ("server.data_unavailable", 110, 200, 2, 5),
    ("send_limited.slow_start", 200, 250, 5, 7),
    ("send_limited.slow_start", 250, 300, 7, 9),
]


def waits(rows):
    made = [(0, 0, *row, 0.8, None, None) for row in rows]
    return pl.DataFrame(made, schema=polars_schema(TABLES["waits"]), orient="row")


def stalls(*rows):
    """Findings from frame 5 on."""
    columns = ("flow", "transaction", "cause", "start", "lost", "last_frame", "first_frame", "confidence")
    declared = polars_schema(TABLES["findings"])
    return pl.DataFrame(
        [(0, 0, *row, 5, 0.9) for row in rows], schema={name: declared[name] for name in columns}, orient="row"
    )


def shown(frame):
    borders = frame.select("cause", pl.col("start").to_physical(), pl.col("end").to_physical())
    return borders.rows()


def test_without_stalls_the_partition_stays_as_it_is():
    assert with_stalls(waits(PARTITION), stalls()).equals(waits(PARTITION))


def test_a_stall_takes_the_end_of_the_wait_that_its_last_frame_ended():
    carved = with_stalls(waits(PARTITION), stalls(("stall.nagle_hold", 120, 80, 5)))
    assert shown(carved)[1:4] == [
        ("send_limited.bottleneck", 100, 110),
        ("send_limited.bottleneck", 110, 120),
        ("stall.nagle_hold", 120, 200),
    ]


def test_a_stall_takes_no_more_than_there_was_to_wait():
    carved = with_stalls(waits(PARTITION), stalls(("stall.nagle_hold", 50, 150, 5)))
    assert shown(carved)[2] == ("stall.nagle_hold", 110, 200)


def test_a_wait_that_goes_on_beyond_the_last_frame_of_a_stall_was_not_ended_by_it_at_the_client():
    stall = stalls(("stall.nagle_hold", 50, 130, 5))
    assert with_stalls(waits(PARTITION), stall, at_client={0}).equals(waits(PARTITION))
    assert shown(with_stalls(waits(PARTITION), stall))[2] == ("stall.nagle_hold", 110, 200)


def test_of_two_waits_that_name_the_last_frame_of_a_stall_it_takes_the_one_that_it_ended():
    split = [("unexplained", 0, 100, 1, 5), ("send_limited.bottleneck", 100, 300, 5, 5)]
    carved = with_stalls(waits(split), stalls(("stall.nagle_hold", 20, 80, 5)), at_client={0})
    assert shown(carved)[1:] == [("stall.nagle_hold", 20, 100), ("send_limited.bottleneck", 100, 300)]


def test_a_stall_takes_none_of_a_longer_wait_before_it_for_what_was_not_there_yet():
    split = [("server.data_unavailable", 0, 200, 1, 5), ("unexplained", 200, 300, 1, 5)]
    carved = with_stalls(waits(split), stalls(("stall.nagle_delayed_ack", 200, 100, 5)), at_client={0})
    assert shown(carved) == [("server.data_unavailable", 0, 200), ("stall.nagle_delayed_ack", 200, 300)]


def test_of_two_waits_that_one_frame_ended_a_stall_takes_the_one_that_it_has_more_of():
    split = [("send_limited.send_buffer", 0, 210, 1, 5), ("unexplained", 210, 300, 1, 5)]
    carved = with_stalls(waits(split), stalls(("stall.nagle_hold", 200, 100, 5)), at_client={0})
    assert shown(carved) == [("send_limited.send_buffer", 0, 210), ("stall.nagle_hold", 210, 300)]


def test_a_stall_takes_none_of_what_begins_with_its_last_frame_near_the_server():
    split = [
        ("unexplained", 0, 90, 1, 5),
        ("send_limited.bottleneck", 90, 200, 5, 5),
        ("server.data_unavailable", 200, 300, 5, 6),
    ]
    carved = with_stalls(waits(split), stalls(("stall.nagle_delayed_ack", 10, 80, 5)))
    assert shown(carved)[1:3] == [("stall.nagle_delayed_ack", 10, 90), ("send_limited.bottleneck", 90, 200)]


def test_a_hold_that_took_nothing_of_the_waits_cost_no_time():
    lost = stalls(("stall.nagle_hold", 50, 130, 5), ("stall.nagle_hold", 260, 40, 9), ("stall.tail_loss", 0, 9, 2))
    finished = with_stalls(waits(PARTITION), lost, at_client={0})
    assert sorted(that_cost_time(lost, finished)["last_frame"]) == [2, 9]
    of_no_transaction = lost.with_columns(transaction=pl.lit(None, dtype=pl.UInt32))
    assert that_cost_time(of_no_transaction, finished).height == len(lost)


@pytest.mark.parametrize("window", ["send_limited.slow_start", "send_limited.cwnd", "stall.slow_start_restart"])
def test_a_stall_takes_the_round_trip_of_a_window_of_one_segment_and_its_delayed_ack(window):
    split = [(window, 0, 100, 1, 4), ("stall.delayed_ack_first_segment", 100, 140, 4, 5)]
    carved = with_stalls(waits(split), stalls(("stall.nagle_delayed_ack", 10, 130, 5)))
    held = "stall.nagle_delayed_ack"
    assert shown(carved) == [(window, 0, 10), (held, 10, 100), (held, 100, 140)]


def test_a_send_buffer_is_known_of_the_flights_before_it_showed():
    found = stalls(("send_limited.send_buffer", 0, 50, 7)).with_columns(
        first_frame=pl.lit(4, dtype=pl.UInt64), cause=pl.col("cause")
    )
    causes = [cause for cause, _, _ in shown(with_stalls(waits(PARTITION), found))]
    assert causes[3:] == ["send_limited.send_buffer", "send_limited.slow_start"]


def test_a_restart_takes_the_waits_for_the_window_in_its_frames_until_it_is_used_up():
    carved = with_stalls(waits(PARTITION), stalls(("stall.slow_start_restart", 100, 70, 9)))
    assert shown(carved)[3:] == [
        ("stall.slow_start_restart", 200, 250),
        ("stall.slow_start_restart", 250, 270),
        ("send_limited.slow_start", 270, 300),
    ]


def test_a_restart_takes_nothing_behind_its_last_frame():
    carved = with_stalls(waits(PARTITION), stalls(("stall.slow_start_restart", 100, 70, 7)))
    assert shown(carved)[3:] == [("stall.slow_start_restart", 200, 250), ("send_limited.slow_start", 250, 300)]


@pytest.mark.parametrize("cause", ["stall.nagle_hold", "stall.slow_start_restart"])
@pytest.mark.parametrize("lost", [1, 80, 150, 1000])
@pytest.mark.parametrize("frame", [2, 5, 7, 9, 400])
def test_whatever_is_carved_the_waits_follow_each_other_without_a_gap(cause, lost, frame):
    carved = shown(with_stalls(waits(PARTITION), stalls((cause, 0, lost, frame))))
    assert carved[0][1] == 0
    assert carved[-1][2] == 300
    assert all(before[2] == after[1] for before, after in itertools.pairwise(carved))

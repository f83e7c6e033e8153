"""True causes of waits, from handwritten truth tables: the exchanges of ``tests/waits/cases``."""

import re
from typing import Any

import pytest

from reference_sim.true_waits import true_transactions, true_waits
from reference_sim.true_waits._holds import Holds
from reference_sim.true_waits._records import CLIENT, SERVER, Connection, Limits, Packet, Window
from tests.simulator.hand_written import OPENED, scenario, stalls, tables, transaction, waits, waits_of

#: The client has room for one segment, and advertises this from its SYN on.
OPENED_BY_A_SEGMENT = re.sub(r"(C .* ack \d)", r"\1 win 1460", OPENED)


def test_a_requests_last_segment_stands_behind_its_first_in_the_pace_of_the_link_and_in_no_queue():
    lines = """
        S 75>107 1+1000 ack 101 new
        C 200>235 101+1460 ack 1001 new
        C 200>236 1561+100 ack 1001 new
        S 236>268 1001+1000 ack 1661 new
    """
    first = transaction(0, request=(1, 100), response=(1, 1000), received_ms=75, written_ms=75)
    second = transaction(1, request=(101, 1560), response=(1001, 1000), received_ms=236, written_ms=236)
    # 150 bytes per millisecond: segments of 1500, 140 and 1040 bytes, and the minimum of 40.
    assert waits(lines, first, second, rate_bps=1_200_000, up_bps=1_200_000)[-2:] == [
        "1 network.queueing 0.133334",
        "1 send_limited.bottleneck 17.3333",
    ]


@pytest.mark.parametrize("at", ["client", "server"])
def test_the_path_and_the_servers_work_take_the_same_time_at_both_ends(at):
    own = transaction(0, request=(1, 100), response=(1, 1000), received_ms=75, written_ms=105)
    found = waits("S 105>130 1+1000 ack 101 new\nC 130>155 101+0 ack 1001 ack", own, at=at)
    middle = ["0 network.propagation 50", "0 server.think 30"]
    assert found == ["0 setup.handshake 50", *(middle if at == "client" else reversed(middle))]


@pytest.mark.parametrize("at", ["client", "server"])
def test_the_time_ends_at_the_last_byte_and_not_at_its_delayed_ack(at):
    own = transaction(0, request=(1, 100), response=(1, 1000), received_ms=75, written_ms=75)
    lines = "S 75>100 1+1000 ack 101 new\nC 140>165 101+0 ack 1001 delayed_ack"
    (true,) = true_transactions(tables(OPENED + lines, [own]), scenario(one_way_ms=25), at=at)
    assert true.waits[-1].end == true.times.end
    assert true.times.last_ack - true.times.end == 40_000_000


def test_flights_of_slow_start_wait_for_acks_after_the_pace_of_the_link():
    lines = """
        S 75 slow_start
        S 75>101 1+1460 ack 101 new
        S 75>102 1461+1460 ack 101 new
        C 102>127 101+0 ack 2921 ack
        S 127>153 2921+1460 ack 101 new
        S 127>154 4381+1460 ack 101 new
        S 127 application
        C 154>179 101+0 ack 5841 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 5840), received_ms=75, written_ms=75)
    # 1500 bytes per millisecond.
    assert waits(lines, own, rate_bps=12_000_000)[2:] == [
        "0 send_limited.bottleneck 2.97333",
        "0 send_limited.slow_start 50",
        "0 send_limited.bottleneck 1",
    ]


@pytest.mark.parametrize(
    ("sharing", "let_go_at", "ended_elsewhere"),
    [("ensemble", 200, True), ("ensemble", 127, False), ("none", 200, False), ("temporal", 200, False)],
)
def test_an_ack_of_another_connection_ends_a_wait_only_with_a_shared_window(sharing, let_go_at, ended_elsewhere):
    lines = f"""
        S 75 slow_start
        S 75>101 1+1460 ack 101 new
        C 101>127 101+0 ack 1461 ack
        S {let_go_at}>{let_go_at + 26} 1461+1460 ack 101 new
        S {let_go_at} application
        C {let_go_at + 26}>999 101+0 ack 2921 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    document = scenario(one_way_ms=25.0, sharing=sharing)
    (found,) = true_transactions(tables(OPENED + lines, [own]), document)
    (wait,) = (wait for wait in found.waits if wait.cause == "send_limited.slow_start")
    assert wait.ended_elsewhere == ended_elsewhere


@pytest.mark.parametrize(("acked", "cause"), [(120, "send_limited.slow_start"), (119, "send_limited.bottleneck")])
def test_a_pacer_holds_until_its_clock_lets_go_and_a_window_until_an_ack_does(acked, cause):
    lines = f"""
        S 75 pacing
        S 75>100 1+1460 ack 101 new
        C {acked - 25}>{acked} 101+0 ack 1461 ack
        S 120>145 1461+1460 ack 101 new
        S 120 application
        C 145>170 101+0 ack 2921 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    document = scenario(one_way_ms=25.0, sharing="ensemble")
    found = waits_of(true_waits(tables(OPENED + lines, [own]), document))
    assert found[-1] == f"0 {cause} 45"


@pytest.mark.parametrize(
    ("later", "found"),
    [
        ("slow_start", ["0 send_limited.slow_start 45"]),
        ("fast_recovery", ["0 send_limited.bottleneck 20", "0 send_limited.cwnd 25"]),
    ],
)
def test_unreleased_paced_data_waited_for_the_window_unless_a_loss_reduced_it(later, found):
    lines = f"""
        S 75 pacing
        S 75>100 1+1460 ack 101 new
        S 95 {later}
        C 95>120 101+0 ack 1461 ack
        S 120>145 1461+1460 ack 101 new
        S 120 application
        C 145>170 101+0 ack 2921 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    document = scenario(one_way_ms=25.0, sharing="ensemble")
    assert waits_of(true_waits(tables(OPENED + lines, [own]), document))[2:] == found


def test_a_delayed_ack_that_ends_a_pacers_hold_accounts_for_all_of_it():
    lines = """
        S 75 pacing
        S 75>100 1+1200 ack 101 new
        S 150 slow_start
        C 200>225 101+0 ack 1201 delayed_ack
        S 225>250 1201+1460 ack 101 new
        S 225 application
        C 250>275 101+0 ack 2661 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 2660), received_ms=75, written_ms=75)
    document = scenario(one_way_ms=25.0, sharing="ensemble")
    found = waits_of(true_waits(tables(OPENED + lines, [own]), document))
    assert found[-1] == "0 stall.nagle_delayed_ack 150"


NAGLE = """
    S 75>100 1+200 ack 101 new
    S 75 nagle
    C {ack}>{heard} 101+0 ack 201 {reason}
    S {heard}>{came} 201+500 ack 101 new
    S {heard} application
    C {came}>999 101+0 ack 701 ack
"""


def test_a_hold_that_a_delayed_ack_ended_is_a_stall_of_both_algorithms():
    own = transaction(0, request=(1, 100), response=(1, 700), received_ms=75, written_ms=75)
    lines = NAGLE.format(ack=140, heard=165, came=190, reason="delayed_ack")
    assert waits(lines, own)[2:] == ["0 stall.nagle_delayed_ack 90"]
    assert stalls(lines, own) == [(0, "short-initial-segment", 90.0)]


def test_a_hold_of_an_ordinary_rtt_is_no_delayed_ack():
    own = transaction(0, request=(1, 100), response=(1, 700), received_ms=75, written_ms=75)
    lines = NAGLE.format(ack=100, heard=125, came=150, reason="ack")
    assert waits(lines, own)[2:] == ["0 stall.nagle_hold 50"]


ROOM = """
    S 75>100 1+200 ack 101 new
    S 75 nagle
    C 100>125 101+0 ack 201 ack
    S {left}>150 201+{segment} ack 101 new
    S {left} application
    C 150>175 101+0 ack 1661 ack
"""


@pytest.mark.parametrize(
    ("segment", "left_ms", "gap_ms", "cause"),
    [
        ("1460", "125", 0, "send_limited.send_buffer"),
        # A server that pauses between writes is still blocked by the full buffer.
        ("1460", "125", 1500, "send_limited.send_buffer"),
        ("1460", "125.5", 1500, "server.data_unavailable"),
        # A closed connection waits for no data to fill the last segment. Here the close came later, for lack
        # of room.
        ("500 FIN", "125", 0, "send_limited.send_buffer"),
        ("500", "125", 0, "stall.nagle_hold"),
    ],
)
def test_data_that_nagles_algorithm_does_not_hold_waited_for_buffer_space(segment, left_ms, gap_ms, cause):
    length = int(segment.split()[0])
    own = transaction(0, request=(1, 100), response=(1, 200 + length), received_ms=75, written_ms=75)
    lines = ROOM.format(segment=segment, left=left_ms)
    assert waits(lines, own, gap_ms=gap_ms)[2].startswith(f"0 {cause} ")


@pytest.mark.parametrize(("came_ms", "round_trip_ms"), [("185", 50), ("205", 70), ("-", 50)])
def test_the_rtt_of_a_stall_includes_the_queue_of_the_held_packet(came_ms, round_trip_ms):
    lines = f"""
        S 75 send_buffer
        S 75>100 1+1460 ack 101 new
        C 100>160 101+0 ack 1461 ack
        S 160>{came_ms} 1461+1460 ack 101 new
        S 160 application
        {"S 500>525 1461+1460 ack 101 retransmission_timeout" if came_ms == "-" else ""}
        C 600>625 101+0 ack 2921 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    at = "server" if came_ms == "-" else "client"
    (found,) = true_transactions(tables(OPENED + lines, [own]), scenario(one_way_ms=25), at=at)
    (stall,) = (it for it in found.stalls if it.name == "small-send-buffer")
    assert stall.round_trips == (round_trip_ms * 1_000_000,)


def test_the_last_short_segment_behind_a_full_one_is_the_odd_final_segment():
    lines = """
        S 75>100 1+1460 ack 101 new
        S 75 nagle
        C 300>325 101+0 ack 1461 delayed_ack
        S 325>350 1461+40 ack 101 new
        S 325 application
        C 350>375 101+0 ack 1501 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 1500), received_ms=75, written_ms=75)
    assert stalls(lines, own) == [(0, "odd-short-final-segment", 250.0)]


LOST = """
    S 75 slow_start
    S 75>100 1+1460 ack 101 new
    S 75>- 1461+1460 ack 101 new
    {behind}
    S {again}>{came} 1461+1460 ack 101 {reason}
    C {came}>999 101+0 ack 9999 ack
"""


def test_a_loss_reported_by_duplicate_acks_delays_the_stream_from_the_next_arrival_on():
    lines = LOST.format(behind="S 75>102 2921+1460 ack 101 new", again=127, came=152, reason="fast_retransmit")
    own = transaction(0, request=(1, 100), response=(1, 4380), received_ms=75, written_ms=75)
    assert waits(lines, own)[2:] == ["0 send_limited.bottleneck 2", "0 stall.fast_recovery 50"]


def test_a_timer_that_expired_despite_acks_of_later_data_is_a_timeout():
    lines = LOST.format(
        behind="S 75>102 2921+1460 ack 101 new", again=375, came=400, reason="retransmission_timeout"
    )
    own = transaction(0, request=(1, 100), response=(1, 4380), received_ms=75, written_ms=75)
    assert waits(lines, own)[2:] == ["0 send_limited.bottleneck 2", "0 stall.retransmission_timeout 298"]


def test_a_timer_that_had_to_run_out_for_a_lost_end_is_a_tail_loss():
    lines = LOST.format(behind="", again=375, came=400, reason="retransmission_timeout")
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    assert waits(lines, own)[2:] == ["0 stall.tail_loss 300"]


def test_a_probe_that_was_lost_before_ends_a_tail_loss_when_it_comes_behind_a_hole():
    lines = """
        S 75 slow_start
        S 75>100 1+1460 ack 101 new
        S 75>- 1461+1460 ack 101 new
        S 75>- 2921+1460 ack 101 new
        S 75>- 4381+1460 ack 101 new
        S 275>300 4381+1460 ack 101 tail_loss_probe
        C 300>325 101+0 ack 1461 ack
        S 575>600 1461+1460 ack 101 retransmission_timeout
        S 575>602 2921+1460 ack 101 retransmission_timeout
    """
    own = transaction(0, request=(1, 100), response=(1, 5840), received_ms=75, written_ms=75)
    assert waits(lines, own)[2:] == ["0 stall.tail_loss 200", "0 stall.retransmission_timeout 302"]


def test_data_refused_by_a_closed_window_arrives_with_its_retransmission():
    lines = """
        S 75>100 1+1460 ack 101 new
        C 100>125 101+0 ack 1461 win 0 ack
        S 75 zero_window
        S 275>300 1461+100 ack 101 window_probe
        C 300>325 101+0 ack 1461 win 0 ack
        S 475>500 1461+1460 ack 101 retransmission_timeout
        C 500>525 101+0 ack 1461 win 0 ack
        C 600>625 101+0 ack 1461 win 8192 window_update
        S 875>900 1461+1460 ack 101 retransmission_timeout
    """
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    found = waits(lines, own, opened=OPENED_BY_A_SEGMENT)
    assert found[2:] == ["0 send_limited.zero_window 400", "0 stall.tail_loss 400"]


def test_a_probe_that_was_refused_is_no_part_of_the_wait_for_an_open_window():
    lines = """
        S 75>100 1+1460 ack 101 new
        C 100>125 101+0 ack 1461 win 0 ack
        S 75 zero_window
        S 275>300 1461+1 ack 101 window_probe
        C 300>325 101+0 ack 1461 win 0 ack
        S 675>700 1461+1 ack 101 window_probe
        C 700>725 101+0 ack 1461 win 0 ack
        C 800>825 101+0 ack 1461 win 8192 window_update
        S 825>850 1461+1460 ack 101 new
    """
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    found = waits(lines, own, opened=OPENED_BY_A_SEGMENT)
    assert found[2:] == ["0 send_limited.zero_window 750"]


def test_a_window_that_is_used_up_and_then_closed_was_not_opened_by_its_reader_before():
    lines = """
        S 75>100 1+1460 ack 101 new
        S 75 receive_window
        C 200>225 101+0 ack 1461 win 0 ack
        S 225 zero_window
        C 800>825 101+0 ack 1461 win 8192 window_update
        S 825>850 1461+1460 ack 101 new
    """
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    found = waits(lines, own, opened=OPENED_BY_A_SEGMENT)
    assert found[2:] == ["0 send_limited.receive_window 150", "0 send_limited.zero_window 600"]


def test_an_offered_window_stays_valid_despite_coarser_later_units():
    lines = """
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 win 384 ack
        S 125>150 1001+460 ack 101 new
    """
    own = transaction(0, request=(1, 100), response=(1, 1460), received_ms=75, written_ms=75)
    assert waits(lines, own, opened=OPENED_BY_A_SEGMENT)[2:] == ["0 server.data_unavailable 50"]


def test_new_data_in_a_retransmission_took_its_time_on_the_link():
    lines = """
        S 75>107 1+1000 ack 101 new
        S 75>- 1001+560 ack 101 new
        S 75>- 1561+900 ack 101 new
        S 375>410 1001+1460 ack 101 retransmission_timeout
    """
    own = transaction(0, request=(1, 100), response=(1, 2460), received_ms=75, written_ms=75)
    # 150 bytes per millisecond: 1040 bytes, then 1500, of which 600 were lost first.
    found = waits(lines, own, rate_bps=1_200_000)
    assert found[-2:] == ["0 send_limited.bottleneck 16.6667", "0 stall.tail_loss 293"]


def test_a_window_costs_nothing_while_the_link_carries_a_redundant_copy():
    lines = """
        S 75>110 1+1460 ack 101 new
        S 85>120 1+1460 ack 101 retransmission_timeout
        S 85 congestion_avoidance
        S 100>{came} 1461+1460 ack 101 new
    """
    own = transaction(0, request=(1, 100), response=(1, 2920), received_ms=75, written_ms=75)
    found = [waits(lines.format(came=came), own, rate_bps=1_200_000)[2:] for came in (130, 135)]
    assert found == [
        ["0 send_limited.bottleneck 29.7333"],
        ["0 send_limited.bottleneck 29.7333", "0 send_limited.cwnd 5"],
    ]


def test_a_fin_behind_a_lost_end_is_acknowledged_as_data_is_and_shows_of_it():
    lines = """
        S 75>100 1+1000 ack 101 new
        S 75>- 1001+500 ack 101 new
        S 75>101 1501+0 FIN ack 101 new
        C 101>126 101+0 ack 1001 ack
        S 375>400 1001+500 ack 101 retransmission_timeout
    """
    own = transaction(0, request=(1, 100), response=(1, 1500), received_ms=75, written_ms=75)
    assert waits(lines, own)[2:] == ["0 stall.retransmission_timeout 300"]


def test_retransmissions_by_acks_after_a_timeout_belong_to_it():
    lines = """
        S 75 slow_start
        S 75>100 1+1460 ack 101 new
        S 75>- 1461+1460 ack 101 new
        S 75>- 2921+1460 ack 101 new
        S 375>400 1461+1460 ack 101 retransmission_timeout
        S 375 timeout
        C 400>425 101+0 ack 2921 ack
        S 425>450 2921+1460 ack 101 retransmission_timeout
        C 450>475 101+0 ack 4381 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 4380), received_ms=75, written_ms=75)
    assert waits(lines, own)[2:] == ["0 stall.tail_loss 350"]


@pytest.mark.parametrize(("came", "at"), [("-", "client"), ("75", "client"), ("75", "server")])
def test_a_request_that_was_lost_or_not_taken_is_repaired_before_the_path_begins(came, at):
    opened = OPENED.replace("C 50>75 1+100", f"C 50>{came} 1+100")
    lines = """
        C 350>375 1+100 ack 1 retransmission_timeout
        S 375>400 1+1000 ack 101 new
        C 400>425 101+0 ack 1001 ack
    """
    own = transaction(0, request=(1, 100), response=(1, 1000), received_ms=375, written_ms=375)
    assert waits(lines, own, at=at, opened=opened) == [
        "0 setup.handshake 50",
        "0 stall.tail_loss 300",
        "0 network.propagation 50",
    ]


def test_requests_behind_one_that_came_again_wait_for_its_response():
    opened = OPENED.replace("C 50>75 1+100", "C 50>- 1+200")
    lines = """
        C 350>375 1+200 ack 1 retransmission_timeout
        S 375>400 1+1000 ack 201 new
        S 375>400 1001+1000 ack 201 new
        C 400>425 201+0 ack 2001 ack
    """
    own = [
        transaction(0, request=(1, 100), response=(1, 1000), received_ms=375, written_ms=375),
        transaction(1, request=(101, 100), response=(1001, 1000), received_ms=375, written_ms=375),
    ]
    found = waits(lines, *own, opened=opened)
    assert found[1:3] == ["0 stall.tail_loss 300", "0 network.propagation 50"]
    assert found[3:] == ["1 network.propagation 50", "1 client.head_of_line 300"]


@pytest.mark.parametrize("at", ["client", "server"])
def test_a_pipelined_request_waits_behind_the_response_before(at):
    lines = """
        C 50>75 101+100 ack 1 new
        S 175>200 1+1000 ack 201 new
        S 175>200 1001+1000 ack 201 new
        C 200>225 201+0 ack 2001 ack
    """
    own = [
        transaction(0, request=(1, 100), response=(1, 1000), received_ms=75, written_ms=175),
        transaction(1, request=(101, 100), response=(1001, 1000), received_ms=75, written_ms=175),
    ]
    assert waits(lines, *own, at=at)[3:] == ["1 network.propagation 50", "1 client.head_of_line 100"]


def test_an_observer_elsewhere_is_refused():
    with pytest.raises(ValueError, match="middle"):
        waits("", transaction(0, request=(1, 9), response=(1, 9), received_ms=1, written_ms=1), at="middle")


TAIL_BEHIND_TWO = """
    S 75>100 1+1460 ack 101 new
    S 75>100 1461+1460 ack 101 new
    S 75 nagle
    C 100>125 {request} {ack}
    S 125>150 2921+100 ack 201 new
    C 150>175 201+0 ack 3021 ack
"""


def tail_behind_two(request, ack):
    own = transaction(0, request=(1, 100), response=(1, 3020), received_ms=75, written_ms=75)
    return stalls(TAIL_BEHIND_TWO.format(request=request, ack=ack), own)


def test_a_tail_held_for_a_rtt_behind_full_segments_is_no_odd_final_segment():
    assert tail_behind_two("101+0 ack 2921", "ack") == [(0, "nagle-hold", 50.0)]


def test_an_ack_that_waited_for_a_request_to_ride_on_was_delayed():
    lines = TAIL_BEHIND_TWO.replace("C 100>125", "C 120>145").replace("S 125>150", "S 145>170")
    lines = lines.replace("C 150>175", "C 170>195").format(request="101+100 ack 2921", ack="new")
    own = transaction(0, request=(1, 100), response=(1, 3020), received_ms=75, written_ms=75)
    assert stalls(lines, own) == [(0, "odd-short-final-segment", 70.0)]


def test_the_rest_of_a_response_that_the_next_one_filled_was_held_until_that_was_written():
    lines = """
        S 75>100 1+1460 ack 101 new
        S 75 nagle
        C 100>125 101+100 ack 1461 new
        S 125>150 1461+1460 ack 201 new
        C 150>175 201+0 ack 2921 ack
    """
    own = [
        transaction(0, request=(1, 100), response=(1, 2000), received_ms=75, written_ms=75),
        transaction(1, request=(101, 100), response=(2001, 920), received_ms=125, written_ms=125),
    ]
    assert stalls(lines, *own) == [(0, "nagle-hold", 50.0)]


def _connection(**known: Any) -> Connection:
    """Return a connection with no records but ``known``."""
    plain: dict[str, Any] = {
        "number": 0,
        "mss": 1000,
        "behind_syn": 996,
        "nagle": "off",
        "writes_at_once": True,
        "head_alone": False,
        "chunk_bytes": None,
        "shares_window": False,
        "heard": set(),
        "paths": {},
        "packets": {CLIENT: [], SERVER: []},
        "limits": {CLIENT: Limits(), SERVER: Limits()},
        "windows": {CLIENT: [], SERVER: []},
        "transactions": [],
    }
    return Connection(**(plain | known))


@pytest.mark.parametrize(
    ("payload", "acked", "is_short"),
    [(1000, 500, False), (996, 500, False), (990, 500, True), (996, 300, True)],
)
def test_until_its_syn_is_acknowledged_a_segment_is_full_that_leaves_room_for_the_options_of_that(
    payload, acked, is_short
):
    packet = Packet(9, SERVER, 1, 1, payload, 0x10, 40 + payload, "new", False, 400, 450, 65_535)
    ack = Packet(8, CLIENT, 1, 1, 0, 0x10, 40, "ack", False, acked - 50, acked, 65_535)
    connection = _connection(packets={CLIENT: [ack], SERVER: [packet]})
    assert connection.is_short(packet) == is_short


def test_a_sender_waiting_for_its_turn_waits_in_the_shared_windows_phase():
    sent = Packet(9, SERVER, 1, 1, 1000, 0x10, 1040, "new", False, 400, 450, 65_535)
    windows = [Window(0, 8000, 2000, 0, 0), Window(100, 1000, 2000, 0, 0), Window(160, 2000, 2000, 0, 0)]
    connection = _connection(
        shares_window=True,
        packets={CLIENT: [], SERVER: [sent]},
        limits={CLIENT: Limits(), SERVER: Limits([0], ["scheduler"])},
        windows={CLIENT: [], SERVER: windows},
    )
    holds = [(hold.start, hold.end, hold.cause) for hold in Holds(connection, SERVER).before(sent, 20)]
    assert holds == [
        (20, 100, "send_limited.cwnd"),
        (100, 160, "send_limited.slow_start"),
        (160, 400, "send_limited.cwnd"),
    ]

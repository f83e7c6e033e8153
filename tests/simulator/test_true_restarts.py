"""Windows reset after an idle period, from handwritten truth tables."""

import pytest

from reference_sim.true_waits import true_transactions
from tests.simulator.hand_written import OPENED, scenario, stalls, tables, transaction, waits


def asked_again(asked_ms, *, length=2920):
    """Return a response of 1,000 bytes, and then a requested response of this length, written at once."""
    return [
        transaction(0, request=(1, 100), response=(1, 1000), received_ms=75, written_ms=75),
        transaction(1, request=(101, 100), response=(1001, length), received_ms=asked_ms, written_ms=asked_ms),
    ]


@pytest.mark.parametrize("phase", ["slow_start", "congestion_avoidance"])
def test_a_window_thrown_away_after_an_idle_period_costs_the_flights_that_it_would_have_held(phase):
    lines = f"""
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 ack
        S 125 cwnd 5840 flight 0
        C 2000>2025 101+100 ack 1001 new
        S 2025 cwnd 1460 flight 0
        S 2025>2050 1001+1460 ack 201 new
        S 2025 {phase}
        C 2050>2075 201+0 ack 2461 ack
        S 2075>2100 2461+1460 ack 201 new
        S 2075>2100 3921+1460 ack 201 new
        C 2100>2125 201+0 ack 5381 ack
        S 2125>2150 5381+1460 ack 201 new
        S 2125>2150 6841+1460 ack 201 new
        C 2150>2175 201+0 ack 8301 ack
    """
    own = asked_again(2025, length=7300)
    assert waits(lines, *own)[2:] == [
        "1 network.propagation 50",
        "1 stall.slow_start_restart 100",
    ]
    assert stalls(lines, *own) == [(1, "slow-start-restart", 100.0)]


def test_the_window_is_thrown_away_although_the_last_ack_comes_with_the_request():
    lines = """
        S 75>100 1+1000 ack 101 new
        S 75 cwnd 5840 flight 1000
        C 2000>2025 101+100 ack 1001 new
        S 2025 cwnd 1460 flight 1460
        S 2025>2050 1001+1460 ack 201 new
        S 2025 slow_start
        C 2050>2075 201+0 ack 2461 ack
        S 2075>2100 2461+1460 ack 201 new
        C 2100>2125 201+0 ack 3921 ack
    """
    own = asked_again(2025)
    assert stalls(lines, *own) == [(1, "slow-start-restart", 50.0)]


def test_a_probe_that_a_closed_window_did_not_take_keeps_no_window_from_being_thrown_away():
    lines = """
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 win 0 ack
        S 125 cwnd 5840 flight 0
        S 125 zero_window
        C 500>525 101+100 ack 1001 win 0 new
        S 800>825 1001+1 ack 201 window_probe
        C 825>850 201+0 ack 1001 win 0 ack
        C 2000>2025 201+0 ack 1001 window_update
        S 2025 cwnd 1460 flight 0
        S 2025>2050 1001+1460 ack 201 new
        S 2025 slow_start
        C 2050>2075 201+0 ack 2461 ack
        S 2075>2100 2461+1460 ack 201 new
        C 2100>2125 201+0 ack 3921 ack
    """
    own = asked_again(525)
    assert "1 stall.slow_start_restart 50" in waits(lines, *own)


@pytest.mark.parametrize(
    ("kept", "found"), [(1460, [(1, "slow-start-restart", 50.0)]), (5840, [])], ids=["ended", "went on"]
)
def test_an_ack_that_ends_a_pacers_restart_throws_the_window_away(kept, found):
    lines = f"""
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 ack
        S 125 cwnd 5840 flight 0
        C 2000>2025 101+100 ack 1001 new
        S 2025>2050 1001+1460 ack 201 new
        S 2025 pacing
        C 2050>2075 201+0 ack 2461 ack
        S 2075 cwnd {kept} flight 1460
        S 2075>2100 2461+1460 ack 201 new
        C 2100>2125 201+0 ack 3921 ack
    """
    own = asked_again(2025)
    assert stalls(lines, *own) == found


def test_a_delayed_ack_that_ends_a_pacers_restart_is_named_as_one_that_a_window_waits_for():
    lines = """
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 ack
        S 125 cwnd 5840 flight 0
        C 2000>2025 101+100 ack 1001 new
        S 2025>2050 1001+1460 ack 201 new
        S 2025 pacing
        C 2250>2275 201+0 ack 2461 delayed_ack
        S 2275 cwnd 1460 flight 1460
        S 2275>2300 2461+1460 ack 201 new
        C 2300>2325 201+0 ack 3921 ack
    """
    assert waits(lines, *asked_again(2025))[2:] == [
        "1 network.propagation 50",
        "1 stall.slow_start_restart 50",
        "1 stall.delayed_ack_first_segment 200",
    ]


def test_data_beyond_the_previous_window_waits_for_no_pacers_restart():
    lines = """
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 ack
        S 125 cwnd 2500 flight 0
        C 2000>2025 101+100 ack 1001 new
        S 2025>2050 1001+1460 ack 201 new
        S 2025 pacing
        C 2050>2075 201+0 ack 2461 ack
        S 2075 cwnd 1460 flight 1460
        S 2075>2100 2461+1460 ack 201 new
        C 2100>2125 201+0 ack 3921 ack
    """
    own = asked_again(2025)
    assert stalls(lines, *own) == []


def test_a_window_that_a_timeout_has_cut_since_shows_no_restart():
    lines = """
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 ack
        S 125 cwnd 5840 flight 0
        C 2000>2025 101+100 ack 1001 new
        S 2025 cwnd 1460 flight 0
        S 2025>- 1001+1460 ack 201 new
        S 2025 slow_start
        S 3025>3050 1001+1460 ack 201 retransmission_timeout
        S 3025 slow_start
        C 3050>3075 201+0 ack 2461 ack
        S 3075>3100 2461+1460 ack 201 new
        C 3100>3125 201+0 ack 3921 ack
    """
    own = asked_again(2025)
    assert "slow-start-restart" not in [name for _, name, _ in stalls(lines, *own)]


@pytest.mark.parametrize(("first", "is_unseen"), [("75>100", False), ("75>-", True)], ids=["came", "lost"])
def test_data_in_flight_before_a_loss_shows_no_window_reset_after_it(first, is_unseen):
    lines = f"""
        S {first} 1+1460 ack 101 new
        S 75>100 1461+1460 ack 101 new
        S 75>100 2921+1460 ack 101 new
        {"S 1075>1100 1+1460 ack 101 retransmission_timeout" if is_unseen else ""}
        C 1100>1125 101+0 ack 4381 ack
        S 1125 cwnd 5840 flight 0
        C 3000>3025 101+100 ack 4381 new
        S 3025 cwnd 1460 flight 0
        S 3025>3050 4381+1460 ack 201 new
        S 3025 slow_start
        C 3050>3075 201+0 ack 5841 ack
        S 3075>3100 5841+1460 ack 201 new
        C 3100>3125 201+0 ack 7301 ack
    """
    own = [
        transaction(0, request=(1, 100), response=(1, 4380), received_ms=75, written_ms=75),
        transaction(1, request=(101, 100), response=(4381, 2920), received_ms=3025, written_ms=3025),
    ]
    found = true_transactions(tables(OPENED + lines, own), scenario(one_way_ms=25.0))
    [restart] = [stall for it in found for stall in it.stalls if stall.name == "slow-start-restart"]
    assert bool(restart.unseen) == is_unseen


@pytest.mark.parametrize(
    ("chunk_bytes", "costs"),
    [
        # Before a run of sending, BSD checks that all data is acknowledged: the short final segment then goes
        # out, too.
        (None, [("slow-start-restart", 50.0)]),
        # Nagle's algorithm would have held the separately written final segment.
        (1460, []),
    ],
)
def test_a_restart_costs_nothing_if_nagles_algorithm_would_hold_the_segment(chunk_bytes, costs):
    lines = """
        S 75>100 1+1460 ack 101 new
        C 100>125 101+0 ack 1461 ack
        S 125 cwnd 5840 flight 0
        C 2000>2025 101+100 ack 1461 new
        S 2025 cwnd 1460 flight 0
        S 2025>2050 1461+1460 ack 201 new
        S 2025 slow_start
        C 2050>2075 201+0 ack 2921 ack
        S 2075>2100 2921+100 ack 201 new
        C 2100>2125 201+0 ack 3021 ack
    """
    own = [
        transaction(0, request=(1, 100), response=(1, 1460), received_ms=75, written_ms=75),
        transaction(1, request=(101, 100), response=(1461, 1560), received_ms=2025, written_ms=2025),
    ]
    document = scenario(one_way_ms=25.0, chunk_bytes=chunk_bytes)
    found = true_transactions(tables(OPENED + lines, own), document)
    assert [(stall.name, stall.lost_ns / 1e6) for it in found for stall in it.stalls] == costs


def test_a_window_that_shrank_sooner_than_a_timeout_was_not_restarted():
    lines = """
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 ack
        S 125 cwnd 5840 flight 0
        C 200>225 101+100 ack 1001 new
        S 225 cwnd 1460 flight 0
        S 225>250 1001+1460 ack 201 new
        S 225 slow_start
        C 250>275 201+0 ack 2461 ack
        S 275>300 2461+1460 ack 201 new
        C 300>325 201+0 ack 3921 ack
    """
    own = asked_again(225)
    assert stalls(lines, *own) == []


def test_a_window_that_is_thrown_away_as_data_leaves_had_not_held_that_until_then():
    lines = """
        S 75>100 1+1000 ack 101 new
        C 100>125 101+0 ack 1001 ack
        S 125 cwnd 5840 flight 0
        C 200>225 101+100 ack 1001 new
        S 225>250 1001+1460 ack 201 new
        S 225 slow_start
        C 1250>1275 201+0 ack 2461 ack
        S 1275 cwnd 1460 flight 0
        S 1275>1300 2461+1460 ack 201 new
        C 1300>1325 201+0 ack 3921 ack
    """
    own = asked_again(225)
    assert "slow-start-restart" not in [name for _, name, _ in stalls(lines, *own)]

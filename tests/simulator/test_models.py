"""Models of Kruse 2001 against its text, and examples worked by hand."""

from itertools import islice

import pytest

from reference_sim.models import (
    GROWTH_WITH_DELAYED_ACKS,
    Path,
    Service,
    distribution,
    effective_initial_window,
    element_size,
    flights,
    initial_window,
    page_time,
    pipelined_page_time,
    round_trips_before_data,
    round_trips_to_window,
    transfer_time,
    windows,
)
from reference_sim.pages import kruse
from tcptrace_http.errors import ScenarioError

SATELLITE = Path(rtt_ns=560_000_000, rate_bps=1_536_000)


@pytest.mark.parametrize(
    ("mss", "size"), [(1460, 4380), (512, 2048), (536, 2144), (1095, 4380), (2190, 4380), (4312, 8624)]
)
def test_equation_1(mss, size):
    assert initial_window(mss) == size


def test_three_segments_of_1460_bytes_are_the_larger_window():
    """Check section 2.2: "in our environment using the above equation yields an initial cwnd of 3 segments"."""
    assert initial_window(1460) // 1460 == 3


def test_equations_2_to_4():
    assert list(islice(windows(1, delayed_acks=False), 6)) == [1, 2, 4, 8, 16, 32]
    assert list(islice(windows(1, delayed_acks=True), 8)) == [1, 2, 3, 5, 8, 12, 18, 27]


def test_equation_5s_base_is_near_the_growth_of_equation_2():
    """Check section 5.1: "almost exactly exponential after the first 2-3 RTTs"."""
    exact = list(islice(windows(1, delayed_acks=True), 12))
    assert (exact[8] / exact[0]) ** (1 / 8) == pytest.approx(GROWTH_WITH_DELAYED_ACKS, abs=0.05)


def test_equation_6():
    assert round_trips_to_window(64, 1, delayed_acks=False) == pytest.approx(6)
    assert round_trips_to_window(64, 4, delayed_acks=False) == pytest.approx(4)


def test_equations_7_and_8_m_connections_ramp_like_an_m_times_initial_window():
    assert effective_initial_window(4, 1) == 4
    one = round_trips_to_window(64, 4, delayed_acks=True)
    assert round_trips_to_window(64, 1, delayed_acks=True, connections=4) == pytest.approx(one)


def test_equations_10_and_11():
    # 1 + 2 + 4 segments cover 7: I is 2.
    path = Path(rtt_ns=1_000_000, rate_bps=8_000_000, mss=1000)
    assert element_size(7000, path=path, initial=1, delayed_acks=False) == 3 * 1_000_000 + 7_000_000
    assert element_size(1000, path=path, initial=1, delayed_acks=False) == 1_000_000 + 1_000_000


def test_the_distribution_worked_by_hand():
    # 10 alone; 6 beside it; 5 makes the second 11; 4 goes to the first, 14; 3 fits the second, 14.
    assert distribution([10, 6, 5, 4, 3], 2) == [[0, 3], [1, 2, 4]]


def test_the_distribution_takes_the_longest_first_in_any_order():
    assert distribution([3, 4, 5, 6, 10], 2) == [[4, 1], [3, 2, 0]]


def test_the_distribution_uses_no_connection_that_saves_nothing():
    # All small elements fit on one other connection beside the large element.
    assert distribution([10, 3, 3, 3], 4) == [[0], [1, 2, 3]]


def test_every_element_is_on_one_connection():
    sizes = [7, 7, 7, 2, 9, 1, 1, 30, 4]
    placed = distribution(sizes, 3)
    assert sorted(number for elements in placed for number in elements) == list(range(len(sizes)))
    assert max(sum(sizes[number] for number in elements) for elements in placed) == 30


def test_no_connection_is_refused():
    with pytest.raises(ScenarioError):
        distribution([1], 0)


def test_flights_carry_all_segments():
    assert flights(10, 1, delayed_acks=False) == [1, 2, 4, 3]
    assert flights(0, 1, delayed_acks=False) == []


def test_a_response_of_one_segment_takes_a_rtt():
    path = Path(rtt_ns=1_000_000, rate_bps=8_000_000, mss=1000)
    assert transfer_time(1000, path=path, initial=1, delayed_acks=False) == 2_000_000


@pytest.mark.parametrize("name", ["lerc", "acts", "test"])
def test_the_larger_window_saves_one_to_two_rtts(name):
    """Check section 6.1: "roughly 1-1.5 RTTs for those pages where any sustained data flows are required"."""
    sizes = [part.size.value for part in kruse(name).objects]
    small, large = (
        pipelined_page_time(sizes, path=SATELLITE, initial=initial, delayed_acks=True) for initial in (1, 3)
    )
    assert 1 <= (small - large) / SATELLITE.rtt_ns <= 2.5


def test_four_connections_are_faster_than_one_for_many_elements():
    sizes = [part.size.value for part in kruse("test").objects]
    one, four = (
        page_time(sizes, path=SATELLITE, initial=1, delayed_acks=True, connections=connections)
        for connections in (1, 4)
    )
    assert four < one / 2


def test_a_split_request_costs_a_rtt():
    sizes = [part.size.value for part in kruse("oufr").objects]
    whole, split = (
        page_time(sizes, path=SATELLITE, initial=1, delayed_acks=True, connections=4, split_request=is_split)
        for is_split in (False, True)
    )
    assert split - whole == SATELLITE.rtt_ns


def test_rtts_of_figure_1_2():
    """Check Bhalekar 2003: FTP 3, then 2; HTTP/1.0 2; ideal 1."""
    counts = [round_trips_before_data(service) for service in Service]
    assert counts == [3, 2, 2, 1]

"""Properties of the models of Kruse 2001, for any page on any path."""

from __future__ import annotations

from itertools import islice, pairwise

from hypothesis import given
from hypothesis import strategies as st

from reference_sim.models import (
    Path,
    approximate_window,
    distribution,
    element_size,
    flights,
    initial_window,
    page_time,
    pipelined_page_time,
    round_trips_to_window,
    transfer_time,
    windows,
)

PATHS = st.builds(
    Path,
    rtt_ns=st.integers(10**6, 10**9),
    rate_bps=st.integers(10_000, 10**9),
    mss=st.integers(200, 9000),
)
SIZES = st.lists(st.integers(1, 500_000), min_size=1, max_size=30)
INITIAL = st.integers(1, 10)
CONNECTIONS = st.integers(1, 8)
DELAYED = st.booleans()


@given(mss=st.integers(1, 65_535))
def test_the_larger_first_window_is_two_to_four_segments(mss):
    assert 2 <= initial_window(mss) / mss <= 4


@given(initial=INITIAL, delayed=DELAYED)
def test_windows_grow_by_half_to_double(initial, delayed):
    for window, following in pairwise(islice(windows(initial, delayed_acks=delayed), 12)):
        assert 1.5 * window <= following <= 2 * window
        assert delayed or following == 2 * window


@given(segments=st.integers(0, 5000), initial=INITIAL, delayed=DELAYED)
def test_flights_carry_every_segment_and_only_the_last_is_not_full(segments, initial, delayed):
    made = flights(segments, initial, delayed_acks=delayed)
    assert sum(made) == segments
    full = list(islice(windows(initial, delayed_acks=delayed), len(made)))
    assert made[:-1] == full[: max(len(made) - 1, 0)]
    assert not made or 0 < made[-1] <= full[-1]


@given(initial=INITIAL, flight=st.integers(0, 12), connections=CONNECTIONS, delayed=DELAYED)
def test_rtts_to_a_window_undo_the_approximate_window(initial, flight, connections, delayed):
    """Check equations 5 and 7: M connections open M such windows in the same time."""
    together = connections * approximate_window(initial, flight, delayed_acks=delayed)
    found = round_trips_to_window(together, initial, delayed_acks=delayed, connections=connections)
    assert abs(found - flight) < 1e-6


@given(sizes=SIZES, connections=CONNECTIONS)
def test_every_element_goes_to_one_connection(sizes, connections):
    placed = distribution(sizes, connections)
    assert sorted(element for elements in placed for element in elements) == list(range(len(sizes)))
    assert 1 <= len(placed) <= min(connections, len(sizes))


@given(sizes=SIZES, connections=CONNECTIONS)
def test_no_connection_is_longer_than_its_share_and_the_largest_element(sizes, connections):
    """Check section 5.3.3: excess goes to the shortest connection, which has at most its share."""
    longest = max(sum(sizes[element] for element in elements) for elements in distribution(sizes, connections))
    assert max(sizes) <= longest <= sum(sizes) / connections + max(sizes)


@given(size=st.integers(1, 500_000), more=st.integers(0, 100_000), path=PATHS, initial=INITIAL, delayed=DELAYED)
def test_larger_transfers_take_longer(size, more, path, initial, delayed):
    small, large = (
        transfer_time(bytes_, path=path, initial=initial, delayed_acks=delayed) for bytes_ in (size, size + more)
    )
    assert small <= large
    counted = [
        element_size(bytes_, path=path, initial=initial, delayed_acks=delayed) for bytes_ in (size, size + more)
    ]
    assert counted[0] <= counted[1]


@given(size=st.integers(1, 500_000), path=PATHS, initial=INITIAL, delayed=DELAYED)
def test_a_transfer_takes_a_rtt_and_its_sending_at_least(size, path, initial, delayed):
    took = transfer_time(size, path=path, initial=initial, delayed_acks=delayed)
    # Each flight's time is rounded down to nanoseconds.
    assert took >= path.rtt_ns + path.sending_ns(size) - len(
        flights(path.segments(size), initial, delayed_acks=delayed)
    )


@given(sizes=SIZES, path=PATHS, initial=INITIAL, delayed=DELAYED)
def test_pipelining_is_never_slower_than_one_connection_without(sizes, path, initial, delayed):
    pipelined = pipelined_page_time(sizes, path=path, initial=initial, delayed_acks=delayed)
    alone = page_time(sizes, path=path, initial=initial, delayed_acks=delayed, connections=1)
    # Whole segments: elements that share no segment add at most one segment each, in an existing flight.
    assert pipelined <= alone + path.rtt_ns


@given(sizes=SIZES, path=PATHS, initial=INITIAL, delayed=DELAYED, connections=CONNECTIONS)
def test_a_split_request_costs_one_rtt(sizes, path, initial, delayed, connections):
    whole, split = (
        page_time(
            sizes,
            path=path,
            initial=initial,
            delayed_acks=delayed,
            connections=connections,
            split_request=is_split,
        )
        for is_split in (False, True)
    )
    assert split - whole == path.rtt_ns

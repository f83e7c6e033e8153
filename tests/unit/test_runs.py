"""Sorted runs of rows, merged into one order."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.report.runs import ROWS_IN_A_BLOCK, Runs


def rendered(places: list[int], first: int, count: int) -> bytes:
    """Return rows of transactions, five per flow."""
    rows = [b'{"flow":%d,"index":%d,"n":%d}' % (*divmod(place, 5), place % 7) for place in places]
    return b",\n".join(rows[first : first + count])


def merged(runs: list[list[int]]) -> bytes:
    made = Runs()
    for places in runs:
        made.add(len(places), partial(rendered, places))
    return b"".join(made.merged())


@given(st.dictionaries(st.integers(0, 3000), st.integers(0, 5), max_size=400))
def test_rows_of_all_runs_come_in_the_order_of_their_places(run_of):
    runs: list[list[int]] = [[] for _ in range(6)]
    for place, run in sorted(run_of.items()):
        runs[run].append(place)
    everything = sorted(run_of)
    assert merged(runs) == rendered(everything, 0, len(everything))


def test_rows_of_flows_are_merged_too():
    made = Runs()
    for flows in ([0, 1, 4], [2, 3, 17]):
        made.add(3, lambda first, count, flows=flows: b",\n".join(b'{"flow":%d,"client":"c"}' % f for f in flows))
    found = b"".join(made.merged()).split(b",\n")
    assert found == [b'{"flow":%d,"client":"c"}' % flow for flow in (0, 1, 2, 3, 4, 17)]


def test_runs_of_many_blocks_that_overlap_at_the_ends_are_merged():
    length = 5 * ROWS_IN_A_BLOCK
    first = [*range(length), length + 10]
    second = [*range(length, length + 10), *range(length + 11, 3 * length)]
    assert merged([second, first]) == rendered(list(range(3 * length)), 0, 3 * length)


def test_no_rows_are_nothing():
    assert merged([[], []]) == b""

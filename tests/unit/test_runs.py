"""Sorted runs of rows are merged into one order."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.report.runs import ROWS_IN_A_BLOCK, Runs


def rendered(flows: list[int], first: int, count: int) -> bytes:
    return b",\n".join(b'{"flow":%d,"n":%d}' % (flow, flow % 7) for flow in flows[first : first + count])


def merged(runs: list[list[int]]) -> bytes:
    made = Runs()
    for flows in runs:
        made.add(len(flows), partial(rendered, flows))
    return b"".join(made.merged())


@given(
    st.dictionaries(
        st.integers(0, 3000), st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=0, max_size=400
    )
)
def test_rows_of_all_runs_come_in_the_order_of_their_flows(placed):
    runs: list[list[int]] = [[] for _ in range(6)]
    for flow, (run, copies) in sorted(placed.items()):
        runs[run] += [flow] * copies
    everything = sorted(flow for flows in runs for flow in flows)
    assert merged(runs) == rendered(everything, 0, len(everything))


def test_runs_of_many_blocks_that_overlap_at_the_ends_are_merged():
    length = 5 * ROWS_IN_A_BLOCK
    first = [*range(length), length + 10]
    second = [*range(length, length + 10), *range(length + 11, 3 * length)]
    assert merged([second, first]) == rendered(list(range(3 * length)), 0, 3 * length)


def test_no_rows_are_nothing():
    assert merged([[], []]) == b""

"""Independence of flows: a capture of two has the rows of each, for any interleaving."""

import heapq

import pytest
from captures import MILLISECOND, START
from hypothesis import example, given
from hypothesis import strategies as st
from properties.flows import FIRST, SECOND, flows, render, stalled
from properties.tables import COMPARED, analysed, rows

from tcptrace_http.detectors import DETECTORS

#: Tables that compare the contents of several flows.
OVER_FLOWS = {"bodies", "redirects"}
#: Tables that merge the findings of both captures, or need both captures together.
ABOUT_THE_CAPTURE = {
    detector.name
    for detector in DETECTORS.values()
    if detector.reads_flaws
    or detector.reads_pages
    or detector.spans_flows
    or OVER_FLOWS.intersection(detector.reads)
}
OF_FLOWS = [table for table in COMPARED if table not in OVER_FLOWS]


#: Last packet of every capture, outside any flow: unfinished flows last until then.
LLDP = bytes(12) + b"\x88\xcc" + bytes(46)


def until(end, records):
    return [*records, (end, LLDP)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("two")


def assert_is_the_union(folder, merged, parts):
    """Rows of the parts; ``merged`` has (part, number in the part, record)."""
    end = max((record[0] for _, _, record in merged), default=START)
    both = analysed(folder / "both.pcap", until(end, [record for _, _, record in merged]))
    found = {table: rows(both, table, keep=_is_of_a_flow) for table in OF_FLOWS}
    order = list(dict.fromkeys(part for part, _, _ in merged))
    expected = {table: [] for table in OF_FLOWS}
    for part, records in enumerate(parts):
        alone = analysed(folder / "alone.pcap", until(end, records))
        frames = {number + 1: frame for frame, (of, number, _) in enumerate(merged, start=1) if of == part}
        # The anomaly on the capture's end is at its last frame, or at none.
        for table in OF_FLOWS:
            flows_map = {0: order.index(part)} if part in order else {}
            expected[table] += rows(alone, table, frames=frames, flows=flows_map, keep=_is_of_a_flow)
    for table in OF_FLOWS:
        expected[table].sort(key=lambda row: [str(value) for value in row.values()])
        if table == "anomalies":
            for row in (*found[table], *expected[table]):
                del row["frame"]
        assert sorted(found[table], key=str) == sorted(expected[table], key=str), table


def _is_of_a_flow(row):
    return row.get("flow") is not None and row.get("detector") not in ABOUT_THE_CAPTURE


@given(first=flows(), second=flows(), later=st.integers(0, 300))
@example(first=stalled(), second=stalled(), later=7)
def test_two_captures_merged_by_time_are_their_union(folder, first, second, later):
    parts = render(first, FIRST), render(second, SECOND, start=START + later * MILLISECOND + 1)
    labelled = [[(part, number, record) for number, record in enumerate(parts[part])] for part in (0, 1)]
    merged = list(heapq.merge(*labelled, key=lambda it: it[2][0]))
    assert_is_the_union(folder, merged, parts)


@given(first=flows(), second=flows(), choices=st.lists(st.booleans(), max_size=60))
def test_any_order_of_packets_of_different_flows_gives_the_same_rows(folder, first, second, choices):
    """Return an interleaving that keeps each flow's packet order."""
    parts = render(first, FIRST), render(second, SECOND)
    left = [[(part, number, record) for number, record in enumerate(parts[part])] for part in (0, 1)]
    merged = [left[choice].pop(0) for choice in choices if left[choice]]
    merged += left[0] + left[1]
    assert_is_the_union(folder, merged, parts)

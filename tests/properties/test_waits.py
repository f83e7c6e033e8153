"""Waits of every transaction: a partition of its time, for any capture."""

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties.flows import FIRST, SECOND, flows, render, stalled
from properties.tables import analysed, written
from properties.test_mutations import WHOLE, mutated, mutations

import tcptrace_http
from tcptrace_http.errors import TcptraceError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("waits")


def assert_partition(analysis):
    """Check that exactly one wait covers each nanosecond of a transaction."""
    times = pl.col("start", "end").to_physical()
    waits = analysis.waits.with_columns(times).partition_by("flow", "transaction", as_dict=True)
    packets = analysis.capture.packets
    spans = analysis.transactions.with_columns(pl.col("start_time", "end_time").to_physical())
    for row in spans.iter_rows(named=True):
        own = waits.pop((row["flow"], row["index"]), None)
        parts = [] if own is None else list(own.iter_rows(named=True))
        if row["start_time"] == row["end_time"]:
            assert not parts
            continue
        assert parts, row
        assert parts[0]["start"] == row["start_time"]
        assert parts[-1]["end"] == row["end_time"]
        assert all(before["end"] == after["start"] for before, after in pairwise(parts))
        assert all(part["start"] < part["end"] for part in parts)
        assert all(0 < part[frame] <= packets for part in parts for frame in ("first_frame", "last_frame"))
        assert all(0 <= part["confidence"] <= 1 for part in parts)
    assert not waits, "waits of no transaction"


@given(steps=flows())
@example(steps=stalled())
def test_waits_of_a_flow_with_faults_partition_each_transaction(folder, steps):
    assert_partition(analysed(folder / "one.pcap", render(steps)))


@given(one=flows(), other=flows(), apart=st.integers(-(10**9), 10**9))
@example(one=stalled(), other=stalled(), apart=0)
def test_waits_of_two_flows_partition_each_transaction(folder, one, other, apart):
    records = [*render(one, FIRST), *((time + apart, frame) for time, frame in render(other, SECOND))]
    assert_partition(analysed(folder / "two.pcap", sorted(records)))


@given(steps=flows(), first=st.integers(0, 30), direction=st.sampled_from([None, True, False]))
@example(steps=stalled(), first=3, direction=None)
def test_waits_of_a_partial_capture_partition_each_transaction(folder, steps, first, direction):
    """Return a capture that begins midway, or has one direction only."""
    records = render(steps)
    kept = [r for step, r in zip(steps, records, strict=True) if direction in {None, step.from_client}]
    assert_partition(analysed(folder / "partial.pcap", kept[first:]))


@given(steps=flows(), backwards=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 10**9)), max_size=3))
@example(steps=stalled(), backwards=[(6, 10**9)])
def test_waits_of_a_capture_whose_clock_jumps_partition_each_transaction(folder, steps, backwards):
    records = render(steps)
    for at, by in backwards:
        records[at:] = [(time - by, frame) for time, frame in records[at:]]
    assert_partition(analysed(folder / "jumps.pcap", records))


@given(whole=st.sampled_from(WHOLE), changes=mutations)
def test_waits_of_a_mutated_capture_partition_each_transaction(folder, whole, changes):
    path = written(folder / "mutant.pcap", mutated(whole, changes))
    try:
        analysis = tcptrace_http.analyze(path)
    except TcptraceError:
        return
    assert_partition(analysis)


@given(steps=flows())
@example(steps=stalled())
def test_lost_time_of_findings_is_within_their_transaction(folder, steps):
    analysis = analysed(folder / "lost.pcap", render(steps))
    spans = {
        (row["flow"], row["index"]): row["end_time"] - row["start_time"]
        for row in analysis.transactions.iter_rows(named=True)
    }
    for finding in analysis.findings.iter_rows(named=True):
        if finding["transaction"] is not None:
            assert finding["lost"] <= spans[finding["flow"], finding["transaction"]], finding["summary"]

"""Captures truncated at any byte: every complete packet stays, with every row that follows from it."""

import pytest
from captures import pcap
from hypothesis import given
from hypothesis import strategies as st
from properties.flows import flows, render
from properties.tables import COMPARED, analysed, rows, written

import tcptrace_http

FILE_HEADER, RECORD_HEADER = 24, 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cut")


@given(steps=flows(), place=st.floats(0, 1))
def test_a_cut_capture_gives_the_rows_of_its_whole_packets(folder, steps, place):
    records = render(steps)
    content = pcap(records)
    end = FILE_HEADER + int(place * (len(content) - FILE_HEADER))
    ends = [FILE_HEADER]
    for _, frame in records:
        ends.append(ends[-1] + RECORD_HEADER + len(frame))
    whole = sum(it <= end for it in ends) - 1
    path = written(folder / "cut.pcap", content[:end])
    cut = tcptrace_http.analyze(path, tables=["packets", "segments"])
    expected = analysed(folder / "whole.pcap", records[:whole])
    assert cut.capture.packets == whole
    assert cut.capture.truncated == (end not in ends)
    for table in ("packets", *COMPARED):
        assert rows(cut, table, keep=_is_no_cut) == rows(expected, table)


def _is_no_cut(row):
    return row.get("kind") != "capture_cut_short"

"""Chunks of a file: their sizes never change a row."""

from itertools import pairwise

from captures import clean_exchange, pcap, pcapng, stalled_exchange
from hypothesis import given
from hypothesis import strategies as st
from properties.flows import flows, render

from tcptrace_http.candidates import CANDIDATE_TABLES
from tcptrace_http.trace import native

TABLES_IN_JSON = ("flows", "transactions", "anomalies")
CAPTURES = {
    "pcap": pcap(clean_exchange(2)),
    "pcapng": pcapng(stalled_exchange()),
    "cut short": pcapng(clean_exchange())[:-9],
    "junk inside": pcap(clean_exchange()) + b"\xff" * 50,
}


def rows(chunks: list[bytes]) -> list[object]:
    core = native.Analyzer(packets=True, segments=True)
    for chunk in chunks:
        core.feed(chunk)
    core.finish()
    taken = core.take()
    return [
        core.provenance(),
        *(taken.count(table) for table in ("packets", "segments", *CANDIDATE_TABLES)),
        *(taken.json(table, 0, taken.count(table)) for table in TABLES_IN_JSON),
    ]


@given(name=st.sampled_from(sorted(CAPTURES)), cuts=st.lists(st.integers(0, 12_000), max_size=12))
def test_rows_do_not_depend_on_chunks(name, cuts):
    content = CAPTURES[name]
    places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    chunks = [content[start:end] for start, end in pairwise(places)]
    assert rows(chunks) == rows([content])


@given(steps=flows(), size=st.integers(1, 3000))
def test_rows_of_any_flow_do_not_depend_on_chunks(steps, size):
    content = pcap(render(steps))
    chunks = [content[start : start + size] for start in range(0, len(content), size)]
    assert rows(chunks) == rows([content])


def test_single_bytes_give_the_same_rows_as_the_whole():
    for content in CAPTURES.values():
        assert rows([bytes([byte]) for byte in content]) == rows([content])

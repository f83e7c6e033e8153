"""Waits of every HTTP/2 stream: a partition of its time, for any lost or corrupt frames."""

from pathlib import Path

import dpkt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties.tables import analysed
from properties.test_waits import assert_partition

import tcptrace_http

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
NAMES = ("h2_connection_window.pcap", "h2_nagle.pcap")
#: Ethernet, IP and TCP with timestamps precede the frames.
HEADER_BYTES = 66


def records(name):
    with (SAMPLES / name).open("rb") as file:
        return [(round(time * 1e9), bytes(frame)) for time, frame in dpkt.pcap.Reader(file)]


RECORDS = {name: records(name) for name in NAMES}

places = st.integers(0, max(len(rows) for rows in RECORDS.values()) - 1)
changes = st.lists(
    st.tuples(
        st.sampled_from(["drop", "repeat", "overtake", "break"]),
        places,
        st.integers(0, 1500),
        st.binary(min_size=1, max_size=9),
    ),
    max_size=6,
)


def changed(rows, steps):
    rows = list(rows)
    for action, place, offset, piece in steps:
        at = place % len(rows)
        time, frame = rows[at]
        if action == "drop" and len(rows) > 1:
            del rows[at]
        elif action == "repeat":
            rows.insert(at, rows[at])
        elif action == "overtake":
            other = (at + 1) % len(rows)
            rows[at], rows[other] = (time, rows[other][1]), (rows[other][0], frame)
        elif action == "break" and len(frame) > HEADER_BYTES:
            start = HEADER_BYTES + offset % (len(frame) - HEADER_BYTES)
            rows[at] = (time, frame[:start] + piece[: len(frame) - start] + frame[start + len(piece) :])
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("streams")


@given(name=st.sampled_from(NAMES), steps=changes, first=st.integers(0, 20))
@example(name=NAMES[0], steps=[], first=0)
@example(name=NAMES[1], steps=[("drop", 9, 0, b"x")], first=0)
def test_waits_partition_each_stream_despite_lost_or_corrupt_frames(folder, name, steps, first):
    analysis = analysed(folder / "streams.pcap", changed(RECORDS[name], steps)[first:])
    assert_partition(analysis)
    streams = analysis.transactions.filter(analysis.transactions["stream"].is_not_null())
    assert streams.select("flow", "stream").is_duplicated().sum() == 0 or steps


def test_whole_samples_have_their_streams():
    for name, streams in zip(NAMES, (3, 25), strict=True):
        transactions = tcptrace_http.analyze(SAMPLES / name).transactions
        assert transactions["complete"].all()
        assert transactions["stream"].n_unique() == streams

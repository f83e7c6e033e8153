"""Header blocks of an independent encoder: all are decoded, and lost blocks yield no invented values."""

from random import Random

import pytest
from captures import Record, pcap
from properties.stories import Exchange, Story, told
from properties.tables import written

import tcptrace_http

STORIES, EXCHANGES = 24, 24
#: Number of handshake packets, and size of a packet without payload.
HANDSHAKE, EMPTY = 3, 54
UNKNOWN = "<unknown>"


@pytest.fixture(scope="module")
def stories():
    random = Random(61)
    return [Story(random, number=number, exchanges=EXCHANGES) for number in range(STORIES)]


def read(path, captures: list[list[Record]]) -> list[dict[int, Exchange]]:
    """Return the streams of each connection."""
    analysis = tcptrace_http.analyze(written(path, pcap([record for records in captures for record in records])))
    found: list[dict[int, Exchange]] = [{} for _ in captures]
    for row in analysis.table("transactions").iter_rows(named=True):
        assert row["stream"] not in found[row["flow"]], "a stream is one transaction"
        found[row["flow"]][row["stream"]] = told(row)
    return found


def test_every_block_is_decoded(stories, tmp_path):
    found = read(tmp_path / "whole.pcap", [story.connection.records for story in stories])
    assert found == [{made.stream: made for made in story.exchanges} for story in stories]


def counts(found: list[dict[int, Exchange]], stories: list[Story]) -> tuple[int, int]:
    """Return the numbers of known values, which must be right, and of unknown values."""
    known = unknown = 0
    for streams, story in zip(found, stories, strict=True):
        expected = {made.stream: made for made in story.exchanges}
        for stream, exchange in streams.items():
            for name in Exchange.__annotations__:
                value, right = getattr(exchange, name), getattr(expected[stream], name)
                assert value in {right, None, UNKNOWN}, (stream, name)
                known += value == right is not None
                unknown += value != right
    return known, unknown


@pytest.mark.parametrize("first", [10, 20, 40, 60])
def test_a_connection_joined_late_has_only_the_captured_data(stories, tmp_path, first):
    found = read(tmp_path / "late.pcap", [story.connection.records[first:] for story in stories])
    known, unknown = counts(found, stories)
    assert known > unknown > 0


@pytest.mark.parametrize("seed", range(4))
def test_behind_lost_blocks_nothing_is_made_up(stories, tmp_path, seed):
    random = Random(seed)
    lossy = [
        [
            (time, packet)
            for at, (time, packet) in enumerate(story.connection.records)
            if at < HANDSHAKE + 2 or len(packet) == EMPTY or random.random() > 0.1
        ]
        for story in stories
    ]
    known, unknown = counts(read(tmp_path / "lossy.pcap", lossy), stories)
    assert known > unknown > 0

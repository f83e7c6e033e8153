"""Fields of every packet: equal to dpkt's and scapy's reading of the same record."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from differential.packet_fields import compare
from differential.peers import DISSECTORS

# Enough texts to diagnose a file.
_SHOWN_PER_FILE = 5


def test_packets_of_the_samples_agree_with_dpkt_and_scapy(sample_traces):
    outcomes = [compare(path) for path in sorted(sample_traces.glob("*.pcap*"))]
    assert not _differences(outcomes)
    assert all(outcome.readable for outcome in outcomes)
    # The samples contain only TCP: no record is skipped.
    for peer in DISSECTORS:
        assert sum(o.compared[peer] for o in outcomes) == sum(o.records for o in outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["kernel", "public"])
def test_packets_of_the_captures_agree_with_dpkt_and_scapy(captures, folder):
    paths = [path for path in sorted((captures / folder).rglob("*")) if _is_capture(path)]
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        outcomes = list(pool.map(compare, paths, chunksize=4))
    assert not _differences(outcomes)
    # The test must not pass for lack of comparisons.
    assert sum(outcome.readable for outcome in outcomes) > 0.8 * len(outcomes)
    for peer in DISSECTORS:
        assert sum(o.compared[peer] for o in outcomes) > 0.6 * sum(o.records for o in outcomes)


def _differences(outcomes):
    shown = [text for outcome in outcomes for text in outcome.differences[:_SHOWN_PER_FILE]]
    return "\n".join(shown)


def _is_capture(path):
    return path.is_file() and ".srv." not in path.name and path.suffix not in {".json", ".md", ".py"}

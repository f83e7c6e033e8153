"""HTTP messages: equal to h11's reading of the flow's bytes, or explained."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest
from corner_cases import CASES
from corner_cases.script import pcapng

from differential import h11_peer
from differential.comparison import merged, reasons

# Limits: a reason for a single file is an excuse, and so are too many reasons.
_REASONS_MAX = 10
_ONLY_IN_CORNER_CASES = {"number-over-64-bits"}
_NO_CAPTURES = frozenset((".json", ".md", ".py", ".txt", ".toml"))


def test_messages_of_the_samples_agree_with_h11(sample_traces):
    (total,) = merged(h11_peer.compare(path, path.name) for path in sorted(sample_traces.glob("*.pcap*")))
    assert total.examples == ()
    assert total.disagreements == {}
    # The test must not pass for lack of comparisons.
    assert total.compared["requests"] == total.compared["responses"] > 200


def test_messages_of_the_corner_cases_agree_with_h11(tmp_path):
    comparisons = []
    for name, case in CASES.items():
        path = tmp_path / f"{name}.pcapng"
        path.write_bytes(pcapng(case.records))
        comparisons.append(h11_peer.compare(path, f"corner_cases/{name}"))
    (total,) = merged(comparisons)
    assert total.examples == ()
    assert total.compared["responses"] > len(CASES)


def test_reasons_to_differ_from_h11_are_few_and_explained():
    entries = reasons(h11_peer.PEER)
    assert len(entries) <= _REASONS_MAX
    assert all(entry.explanation.strip() for entry in entries)
    assert len({entry.reason for entry in entries}) == len(entries)


@pytest.mark.slow
def test_messages_of_the_captures_agree_with_h11(captures):
    paths = [
        path
        for folder in ("kernel", "public")
        for path in sorted((captures / folder).rglob("*"))
        if path.is_file() and path.suffix not in _NO_CAPTURES and "oracle" not in path.parts
    ]
    names = [str(path.relative_to(captures)) for path in paths]
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        (total,) = merged(pool.map(h11_peer.compare, paths, names, chunksize=8))
    assert total.examples == ()
    assert total.compared["responses"] > 5000
    # Every reason still applies, and every rule's reason is declared.
    assert set(total.disagreements) == {entry.reason for entry in reasons(h11_peer.PEER)} - _ONLY_IN_CORNER_CASES

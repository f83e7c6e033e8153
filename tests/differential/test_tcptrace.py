"""Figures of tcptrace per flow: equal to ours, or explained by a rule."""

from __future__ import annotations

import json
import multiprocessing
import tomllib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from differential.tcptrace_faults import FAULTS
from differential.tcptrace_oracle import Verdict, examine
from tcptrace_http import CaptureError

_EXPLAINED = Path(__file__).with_name("disagreements.toml")
_LEAST_EQUAL = 0.9


def reasons():
    return tomllib.loads(_EXPLAINED.read_text(encoding="utf-8"))["tcptrace"]


def examine_one(folder, name):
    try:
        return examine(folder / name, name)
    except CaptureError:
        return Verdict(name)


def unexplained(verdicts):
    return [f"{verdict.path}: {line}" for verdict in verdicts for line in verdict.unexplained]


def test_each_reason_is_explained_once_and_has_a_rule_or_captures():
    entries = reasons()
    names = [entry["reason"] for entry in entries]
    assert len(set(names)) == len(names)
    assert all(entry["explanation"].strip() for entry in entries)
    assert {entry["reason"] for entry in entries if "flows" not in entry} == set(FAULTS)


def test_figures_of_the_sample_traces_are_tcptraces_or_explained(sample_traces):
    verdicts = [examine_one(sample_traces, path.name) for path in sorted(sample_traces.glob("*.pcap*"))]
    assert unexplained(verdicts) == []
    assert sum(verdict.cells for verdict in verdicts) > 0
    assert {path for verdict in verdicts for path in [verdict.path] if verdict.flows_apart} <= {
        "fmt_any_sll2.pcap"
    }


@pytest.fixture(scope="module")
def verdicts(captures):
    index = json.loads((captures / "public/index.json").read_text())
    paths = [(captures / "public", entry["path"]) for entry in index if entry["tcp_packets"]]
    kernel = sorted(captures.glob("kernel/*.pcap*"))
    paths += [(captures, str(path.relative_to(captures))) for path in kernel]
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(examine_one, *zip(*paths, strict=True), chunksize=8))


@pytest.mark.slow
def test_figures_of_all_captures_are_tcptraces_or_explained(verdicts):
    assert unexplained(verdicts) == []
    cells, equal = (sum(getattr(verdict, name) for verdict in verdicts) for name in ("cells", "equal"))
    assert equal > _LEAST_EQUAL * cells


@pytest.mark.slow
def test_flows_that_cannot_be_compared_are_those_listed(verdicts):
    listed = {entry["reason"]: entry["flows"] for entry in reasons() if "flows" in entry}
    found: dict[str, dict[str, int]] = {reason: {} for reason in listed}
    for verdict in verdicts:
        for reason, flows in verdict.flows_apart.items():
            found.setdefault(reason, {})[verdict.path] = flows
    assert found == listed


@pytest.mark.slow
def test_no_reason_is_stale(verdicts):
    explained = sum((verdict.explained for verdict in verdicts), Counter())
    assert set(FAULTS) - set(explained) == set()

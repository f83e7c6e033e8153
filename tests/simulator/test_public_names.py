"""Public names of ``import reference_sim``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import reference_sim
import tcptrace_http


def test_every_public_name_is_there():
    for name in reference_sim.__all__:
        assert getattr(reference_sim, name) is not None
    assert dir(reference_sim) == sorted(reference_sim.__all__)


def test_a_type_checker_sees_the_public_names():
    tree = ast.parse(Path(reference_sim.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = [alias.asname or alias.name for node in block.body for alias in node.names]
    assert sorted(imported) == sorted(reference_sim.__all__)


def test_no_module_hides_a_public_name():
    modules = {path.stem for path in Path(reference_sim.__file__).parent.iterdir()}
    assert not modules & set(reference_sim.__all__)


def test_another_name_is_none_of_the_package():
    with pytest.raises(AttributeError, match="no attribute 'emulate'"):
        _ = reference_sim.emulate


def test_the_packages_example_finds_the_simulated_stalls(tmp_path):
    scenario = reference_sim.heidemann(strategy="p-http-apache-1.1b4", retrievals=5)
    simulation = reference_sim.simulate(scenario, seed=7)
    capture = simulation.capture(at="client")
    simulation.write_pcap(tmp_path / "page.pcap", at="client")
    analysis = tcptrace_http.analyze(tmp_path / "page.pcap")
    assert analysis.transactions.height == simulation.truth.transactions.height
    assert capture.packets.height == simulation.truth.packets.height
    # Heidemann 1996, sections 2.1 and 2.2: the head flushed alone, and a short last segment.
    assert {"short-initial-segment", "odd-short-final-segment"} <= set(analysis.findings["detector"])

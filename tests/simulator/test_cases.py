"""Scenarios with earlier disagreements: ``cases/*.toml``, each with its description and today's agreement."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from reference_sim.scenario import NodeTap, Record
from reference_sim.scenario_file import read
from tests.simulator.comparison import compared
from tests.simulator.runs import run_of

CASES = sorted((Path(__file__).parent / "cases").glob("*.toml"))
AGREES = re.compile(r"^# agrees: ([\d.]+)$", re.MULTILINE)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_kept_scenario_is_analysed_correctly(path):
    scenario = read(path)
    ends = (scenario.network.clients[0], scenario.network.servers[0])
    scenario = replace(scenario, record=Record.everything(), taps=tuple(NodeTap(name=name) for name in ends))
    comparison = compared(run_of(scenario, at="client"))
    floor = AGREES.search(path.read_text())
    assert floor is not None
    assert comparison.transactions > 0
    assert comparison.unequal == {}
    assert comparison.agreeing_ns >= float(floor[1]) * comparison.total_ns

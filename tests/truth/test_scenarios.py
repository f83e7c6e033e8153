"""Loopback scenarios: each shows its pathology, by the packet rules."""

import subprocess
import sys
from pathlib import Path

import pytest

from truth.kernel_truth import captures_of
from truth.rules import RULES
from truth.scene import Scene

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenarios")
    command = [sys.executable, "-m", "tests.truth.scenarios", str(folder)]
    subprocess.run(command, check=True, cwd=REPOSITORY, timeout=120)
    return captures_of(folder)


@pytest.mark.slow
def test_every_scenario_shows_its_pathology(made):
    faults = [
        f"{capture.name} does not show {name}"
        for capture in made
        for name in capture.sidecar["shows"]
        if not RULES[name].judge(Scene(capture)).must
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.slow
def test_scenario_that_is_clean_shows_nothing(made):
    clean = [capture for capture in made if not capture.sidecar["shows"]]
    assert len(clean) == 2
    for capture in clean:
        scene = Scene(capture)
        assert not [name for name, rule in RULES.items() if rule.judge(scene).must], capture.name

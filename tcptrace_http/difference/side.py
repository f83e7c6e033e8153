"""What is compared: a capture, or a scenario, which is simulated and captured at its client."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario
    from tcptrace_http.analysis import Analysis

__all__ = ["Side", "Source", "side_of"]

SCENARIO_SUFFIX: Final = ".toml"

Source: TypeAlias = "str | os.PathLike[str] | Analysis | Scenario"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison."""

    name: str
    analysis: Analysis
    is_simulated: bool = False


def side_of(source: Source, *, jobs: int | None = None) -> Side:
    """The analysis of a capture, of a scenario file (``.toml``), or of a scenario.

    :raises CaptureError: the capture cannot be read.
    :raises ScenarioError: the scenario cannot be read, or cannot be.
    """
    from tcptrace_http.analysis import Analysis, analyze

    if isinstance(source, Analysis):
        return Side(source.capture.path, source)
    if not isinstance(source, str | os.PathLike):
        return Side("scenario", _simulated(source), is_simulated=True)
    path = os.fspath(source)
    if path.endswith(SCENARIO_SUFFIX):
        from reference_sim.scenario_file import read

        return Side(path, _simulated(read(path)), is_simulated=True)
    return Side(path, analyze(path, tables=("segments",), jobs=jobs))


def _simulated(scenario: Scenario) -> Analysis:
    """The analysis of what the scenario's client captures: as a file, so that it is read as any other is."""
    from reference_sim.scenario import Record
    from reference_sim.simulation import simulate
    from reference_sim.workloads import tap_at
    from tcptrace_http.analysis import analyze

    tapped = replace(scenario, taps=(tap_at(scenario.network, "client"),), record=Record())
    simulation = simulate(tapped)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "client.pcap"
        path.write_bytes(simulation.pcap(simulation.taps[0]))
        # All rows are in memory then: the file is not read again.
        return analyze(path, tables=("segments",), jobs=1)

"""Side of a comparison: a capture, or a scenario that is simulated and captured.

A side may be the name of a strategy or fix. It is then applied to the inference from the other side.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from tcptrace_http.difference.modelled import INFERRED, SCENARIO_SUFFIX, model_named, modelled
from tcptrace_http.errors import ScenarioError, UnknownName

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.difference.modelled import Modelled

__all__ = ["Side", "Source", "side_of", "sides_of"]

Source: TypeAlias = "str | os.PathLike[str] | Analysis | Scenario"


@dataclass(frozen=True, slots=True)
class Side:
    """Side of a comparison."""

    name: str
    analysis: Analysis
    is_simulated: bool = False
    #: Origin of a named side; None for a capture or a scenario.
    model: Modelled | None = None
    #: Time of the unchanged inferred scenario in nanoseconds, which shows the model's deviation.
    inferred_ns: int | None = None

    @property
    def kind(self) -> str:
        """Return the kind of the side in words."""
        if self.model is not None:
            return "simulated as inferred" if self.name == INFERRED else "simulated on the inferred scenario"
        if self.is_simulated:
            return "scenario, simulated"
        return "capture, cut short" if self.analysis.capture.truncated else "capture"


def sides_of(
    left: Source,
    right: Source,
    *,
    retrieval: int | tuple[int, int] | None = None,
    jobs: int | None = None,
    keylog: str | os.PathLike[str] | None = None,
) -> tuple[Side, Side, int | tuple[tuple[int, int], ...] | None]:
    """Return both sides, and the retrievals to compare; for a named side, the retrievals of the inference.

    A single number then belongs to the side without a name.

    :raises UnknownName: a text is neither a file nor a name, or both sides are names.
    :raises CaptureError: a capture cannot be read.
    :raises ScenarioError: a scenario is unreadable, invalid, or cannot be inferred.
    """
    names = model_named(left), model_named(right)
    if names[0] is not None and names[1] is not None:
        raise UnknownName(f"{names[0]} and {names[1]} are both no files: one side must be a capture or a scenario")
    if names[1] is not None:
        ours = side_of(left, jobs=jobs, keylog=keylog)
        theirs, pairs = _model_of(names[1], ours, retrieval, is_right=True)
        return ours, theirs, pairs
    if names[0] is not None:
        theirs = side_of(right, jobs=jobs, keylog=keylog)
        ours, pairs = _model_of(names[0], theirs, retrieval, is_right=False)
        return ours, theirs, pairs
    wanted = (retrieval,) if isinstance(retrieval, tuple) else retrieval
    return side_of(left, jobs=jobs, keylog=keylog), side_of(right, jobs=jobs, keylog=keylog), wanted


def side_of(source: Source, *, jobs: int | None = None, keylog: str | os.PathLike[str] | None = None) -> Side:
    """Return the analysis of a capture, of a scenario file (``.toml``), or of a scenario.

    :raises CaptureError: the capture cannot be read.
    :raises ScenarioError: the scenario is unreadable or invalid.
    """
    from tcptrace_http.analysis import Analysis, analyze

    if isinstance(source, Analysis):
        return Side(source.capture.path, source)
    if not isinstance(source, str | os.PathLike):
        return Side("scenario", _at_client(source), is_simulated=True)
    path = os.fspath(source)
    if path.endswith(SCENARIO_SUFFIX):
        from reference_sim.scenario_file import read

        return Side(path, _at_client(read(path)), is_simulated=True)
    return Side(path, analyze(path, tables=("segments",), jobs=jobs, keylog=keylog))


def _model_of(
    name: str, captured: Side, retrieval: int | tuple[int, int] | None, *, is_right: bool
) -> tuple[Side, tuple[tuple[int, int], ...]]:
    """Return the side with this name, and the pairs of retrievals to compare."""
    pair = retrieval if isinstance(retrieval, tuple) else (retrieval, retrieval)
    model = modelled(name, captured.analysis, retrieval=pair[0] if is_right else pair[1])
    analysis = _simulated(model.scenario)
    as_it_was = analysis if model.scenario == model.inferred else _simulated(model.inferred)
    told = pair[1] if is_right else pair[0]
    its = [told] if isinstance(retrieval, tuple) and told is not None else _its_retrievals(analysis, model)
    of_inferred = _its_retrievals(as_it_was, model, is_as_it_was=True)
    inferred_ns = int(
        as_it_was.retrievals.filter(pl.col("retrieval").is_in(of_inferred))["elapsed"].to_physical().sum()
    )
    side = Side(name, analysis, is_simulated=True, model=model, inferred_ns=inferred_ns)
    pairs = zip(model.retrievals, its, strict=True)
    return side, tuple((one, other) if is_right else (other, one) for one, other in pairs)


def _its_retrievals(analysis: Analysis, model: Modelled, *, is_as_it_was: bool = False) -> list[int]:
    """Return the compared visits: for one visit the last, or the retrieval with most transactions."""
    retrievals = analysis.retrievals
    count = len(model.retrievals)
    if retrievals.height < count:
        raise ScenarioError("the simulated retrieval does not end")
    if count > 1:
        return [int(number) for number in retrievals["retrieval"][:count]]
    if model.visits_of_page > 1 and not is_as_it_was:
        return [int(retrievals["retrieval"][-1])]
    return [int(retrievals.sort("transactions", "retrieval", descending=[True, False])["retrieval"][0])]


def _at_client(scenario: Scenario) -> Analysis:
    """Return the analysis of the capture at the scenario's client."""
    from reference_sim.workloads import tap_at

    return _simulated(replace(scenario, taps=(tap_at(scenario.network, "client"),)))


def _simulated(scenario: Scenario) -> Analysis:
    """Return the analysis of the capture at the scenario's first tap."""
    from reference_sim.scenario import Record
    from reference_sim.simulation import simulate
    from tcptrace_http.analysis import analyze

    simulation = simulate(replace(scenario, record=Record()))
    return analyze(simulation.pcap(at=simulation.taps[0]), tables=("segments",), jobs=1)

"""Result of a scenario's run for a prediction: the duration of its retrievals, and their waits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_sim.document import fields_of
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from tcptrace_http.errors import ScenarioError
from tcptrace_http.what_if.true_waits import TRANSFER, TrueWaits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.simulation import Simulation
    from tcptrace_http.what_if.strategies import Candidate

__all__ = ["Outcome", "elapsed_of", "outcome_of"]

_TIMES: Record = Record()
_WAITS: Record = Record(packets=True, limits=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Total nanoseconds of the retrievals, and nanoseconds by cause; the causes sum to the total."""

    elapsed_ns: int
    causes: Mapping[str, int]


def elapsed_of(candidate: Candidate) -> int:
    """Return the nanoseconds of the counted retrievals.

    :raises ScenarioError: a retrieval does not finish.
    """
    return sum(end - start for _, _, start, end in _counted(candidate, _run(candidate, _TIMES)))


def outcome_of(candidate: Candidate) -> Outcome:
    """Return the nanoseconds of the counted retrievals with their causes.

    :raises ScenarioError: a retrieval does not finish.
    """
    simulation = _run(candidate, _WAITS)
    retrievals = list(_counted(candidate, simulation))
    causes: Counter[str] = Counter()
    if candidate.scenario.transfers:
        causes[TRANSFER] = sum(end - start for _, _, start, end in retrievals)
    else:
        waits = TrueWaits(candidate.scenario, simulation)
        for retrieval in retrievals:
            causes += waits.of_retrieval(*retrieval)
    return Outcome(elapsed_ns=sum(end - start for _, _, start, end in retrievals), causes=causes)


def _run(candidate: Candidate, record: Record) -> Simulation:
    # Only the times are needed, so nothing is captured. A document is not checked twice.
    return simulate({**candidate.scenario.document(), "record": fields_of(record), "taps": []})


def _counted(candidate: Candidate, simulation: Simulation) -> Iterator[tuple[int, int, int, int]]:
    """Yield client, visit, start and end of each retrieval that represents a captured one."""
    import polars as pl

    times = (pl.col("start", "end").to_physical(),)
    rows = simulation.truth.retrievals.select("client", "visit", *times).rows()
    per_page = candidate.visits_of_page
    counted = [row for row in rows if row[0] < candidate.clients and row[1] % per_page == per_page - 1]
    if len(counted) < candidate.retrievals or any(end is None for *_, end in counted):
        raise ScenarioError("the simulated retrieval does not end")
    if candidate.scenario.transfers:
        yield from _from_control_connections(candidate, counted)
    else:
        yield from counted


def _from_control_connections(
    candidate: Candidate, files: list[tuple[int, int, int, int]]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield a transfer's files as one retrieval, from the opening of its control connection."""
    from datetime import UTC, datetime

    from reference_sim.quantities import nanoseconds

    since = candidate.scenario.epoch - datetime(1970, 1, 1, tzinfo=UTC)
    epoch = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
    for number, transfer in enumerate(candidate.scenario.transfers):
        ends = [end for client, _, _, end in files if client == number]
        yield number, 0, epoch + nanoseconds(transfer.start), max(ends)

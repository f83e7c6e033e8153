"""Cells of the thesis's grid: their printed figures and our measurements.

A cell is a strategy, a number of web clients, a number of FTP clients, and an initial window. It runs for 300
simulated seconds (section 4.1). Its figures are the web clients' retrieval rate, and the bottleneck's
utilization and drop rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from reference_sim.networks import network
from reference_sim.papers.published import published as printed
from reference_sim.reproduction.experiment import Run
from reference_sim.workloads import thesis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reference_sim.reproduction.experiment import Effort, Results
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = [
    "CHOICES",
    "STRATEGIES",
    "Cell",
    "Figures",
    "chosen",
    "figures_of",
    "known",
    "measured",
    "published",
    "published_rates",
    "runs",
    "scenario_of",
]

#: Our strategies by their names in the tables. Table 4.5 shows that the thesis's "pipelined" is one
#: connection with one outstanding request.
STRATEGIES: Final = {
    "http10-serial": "http10-serial",
    "http10-parallel": "http10-parallel",
    "http11-pipelined": "thesis-pipelined",
    "segment-filled": "segment-filled",
}
#: Choices where the thesis is silent or contradicts itself.
CHOICES: Final = (
    "Choices where the thesis is silent: Pauses are 1 to 2 s as in Tables 4.1 to 4.7 (the text has"
    " milliseconds), after each file of a serial retrieval and after each document of the others. Files have"
    " at most 15000 (primary) and 25000 bytes (inline). The largest window of 14 segments and the wait for the"
    " close of the previous connections were fitted once to all tables by an independent ns-2 run. Agents are"
    " created once per client, and some losses leave them stuck. The retrieval rate is the sum of bytes over"
    " the sum of times from the first SYN to the last byte."
)
_SECOND: Final = 10**9
#: "We ran the simulations for a long duration, about 300.0 seconds" (section 4.1).
_DURATION: Final = 300 * _SECOND
# A third of it: the random variation of a cell's rate grows from about 3 % to 5 %.
_QUICK_DURATION: Final = 100 * _SECOND
#: Numbers of FTP clients in quick runs: none, and a saturated link.
_QUICK_FTPS: Final = (0, 2, 3)
_BOTTLENECK: Final = "gateway-s-gateway-c"
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """Cell of the tables."""

    #: Strategy name in the tables.
    strategy: str
    webs: int
    ftps: int
    initial_window: int = 1

    @property
    def label(self) -> str:
        """Label among the results."""
        return f"gurkan {self.strategy} {self.webs}/{self.ftps} IW {self.initial_window}"

    def __str__(self) -> str:
        window = "" if self.initial_window == 1 else f", initial window {self.initial_window}"
        return f"{self.strategy}, {self.webs} web, {self.ftps} FTP clients{window}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of a cell in the tables."""

    #: Bytes per second.
    rate: float
    #: Percent of the time, and of the packets.
    utilisation: float
    drops: float


@cache
def published() -> Mapping[Cell, Figures]:
    """Return Tables 4.2, 4.4, 4.6 and 4.8, in order."""
    return {
        _cell(row): Figures(
            rate=float(row["retrieval_rate_bytes_per_s"]),
            utilisation=float(row["link_utilization_pct"]),
            drops=float(row["drop_rate_pct"]),
        )
        for row in printed("gurkan_1998_results")
    }


@cache
def published_rates() -> Mapping[Cell, float]:
    """Return the retrieval rates of Tables 4.9 and 4.10: initial windows of one, two and three segments."""
    rows = printed("gurkan_1998_initial_window")
    return {_cell(row): float(row["retrieval_rate_bytes_per_s"]) for row in rows}


def runs(cells: Iterable[Cell], effort: Effort) -> Iterator[Run]:
    """Yield the runs of these cells: one per seed, or one shorter run of a selection."""
    for cell in chosen(cells, effort):
        for seed in range(1, 1 + (1 if effort.quick else effort.seeds)):
            yield Run(
                label=cell.label,
                scenario=scenario_of(cell, seed=seed, duration=_QUICK_DURATION if effort.quick else _DURATION),
                measure=measured,
            )


def figures_of(cells: Iterable[Cell], results: Results) -> dict[Cell, Figures]:
    """Return the figures of the simulated cells: means over the seeds."""
    return {
        cell: Figures(**{name: results.value(cell.label, name) for name in ("rate", "utilisation", "drops")})
        for cell in known(cells, results)
    }


def chosen(cells: Iterable[Cell], effort: Effort) -> list[Cell]:
    """Return the cells that this effort simulates."""
    return [cell for cell in cells if not effort.quick or cell.ftps in _QUICK_FTPS]


def known(cells: Iterable[Cell], results: Results) -> list[Cell]:
    """Return the cells that were simulated."""
    return [cell for cell in cells if cell.label in results.measured]


def measured(simulation: Simulation) -> Mapping[str, float]:
    """Return the figures of a cell under the names of :class:`Figures`."""
    import polars as pl

    totals = simulation.totals
    (link,) = simulation.truth.links.filter(pl.col("link") == _bottleneck()).to_dicts()
    return {
        "rate": totals.retrieved_bytes * _SECOND / totals.retrieval_ns,
        "utilisation": _PERCENT * link["busy"].total_seconds() * _SECOND / simulation.end_ns,
        "drops": _PERCENT * link["drops"] / link["packets"],
    }


def scenario_of(cell: Cell, *, seed: int, duration: int = _DURATION) -> Scenario:
    """Return a cell's traffic for this many simulated nanoseconds."""
    return thesis(
        strategy=STRATEGIES[cell.strategy],
        web_clients=cell.webs,
        ftp_clients=cell.ftps,
        initial_window=cell.initial_window,
        seed=seed,
        duration=duration,
    )


@cache
def _bottleneck() -> int:
    """Return the number of the link from the servers to the clients."""
    return [link.title for link in network("thesis").links].index(_BOTTLENECK)


def _cell(row: Mapping[str, str]) -> Cell:
    return Cell(
        row["strategy"], int(row["web_clients"]), int(row["ftp_clients"]), int(row["initial_window_segments"])
    )

"""Agreement of a set of cells with the printed cells, as figures and text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998.cells import published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_sim.papers.gurkan_1998.cells import Cell, Figures
    from reference_sim.reproduction.experiment import Results

__all__ = ["Points", "Rates", "points", "rates", "rates_of"]

#: Relative tolerance of :attr:`Rates.near`.
NEAR: Final = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Retrieval rates beside the printed rates."""

    cells: int
    #: Median relative difference.
    median_error: float
    #: Cells that differ by at most 15 %.
    near: int
    #: Pairs of strategies under the same traffic and initial window.
    pairs: int
    #: Pairs in the opposite of the published order, with the published faster strategy first.
    disordered: tuple[tuple[Cell, Cell], ...]

    @property
    def ordered(self) -> int:
        """Number of pairs in the published order."""
        return self.pairs - len(self.disordered)

    def __str__(self) -> str:
        order = (
            f", {self.ordered} of {self.pairs} pairs of strategies in the published order" if self.pairs else ""
        )
        return (
            f"the rates of {self.cells} cells: median relative difference {self.median_error:.1%},"
            f" {self.near} within {NEAR:.0%}{order}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Mean differences from the printed figures, in percentage points."""

    utilisation: float
    drops: float

    def __str__(self) -> str:
        return f"utilisation {self.utilisation:.1f} and drops {self.drops:.2f} points from the table on average"


def rates(ours: Mapping[Cell, float], printed: Mapping[Cell, float]) -> Rates:
    """Return the agreement of the simulated cells."""
    errors = [abs(rate / printed[cell] - 1) for cell, rate in ours.items()]
    # No two rates in the tables are equal.
    pairs = [
        (one, other) if printed[one] > printed[other] else (other, one)
        for one, other in combinations(ours, 2)
        if (one.webs, one.ftps, one.initial_window) == (other.webs, other.ftps, other.initial_window)
    ]
    return Rates(
        cells=len(ours),
        median_error=median(errors),
        near=sum(error <= NEAR for error in errors),
        pairs=len(pairs),
        disordered=tuple((faster, slower) for faster, slower in pairs if ours[faster] <= ours[slower]),
    )


def points(ours: Mapping[Cell, Figures]) -> Points:
    """Return the agreement of the simulated cells of Tables 4.2, 4.4, 4.6 and 4.8."""
    return Points(
        utilisation=fmean(abs(one.utilisation - published()[cell].utilisation) for cell, one in ours.items()),
        drops=fmean(abs(one.drops - published()[cell].drops) for cell, one in ours.items()),
    )


def rates_of(cells: Mapping[Cell, float], results: Results) -> Rates:
    """Return the agreement of the given cells, with printed rates, that have results."""
    ours = {cell: results.value(cell.label, "rate") for cell in cells if cell.label in results.measured}
    return rates(ours, cells)

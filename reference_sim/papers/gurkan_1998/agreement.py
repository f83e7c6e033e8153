"""How near a set of cells is to the printed ones, in a few figures and in words."""

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

#: Relative; :attr:`Rates.near` counts the cells within it.
NEAR: Final = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Retrieval rates beside the printed ones."""

    cells: int
    #: Median relative difference.
    median_error: float
    #: Cells that differ by no more than 15 %.
    near: int
    #: Pairs of strategies under the same traffic and initial window.
    pairs: int
    #: Those that are not in the published order, the one that is printed as faster first.
    disordered: tuple[tuple[Cell, Cell], ...]

    @property
    def ordered(self) -> int:
        """Pairs in the published order."""
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
    """Mean differences from the printed, in points."""

    utilisation: float
    drops: float

    def __str__(self) -> str:
        return f"utilisation {self.utilisation:.1f} and drops {self.drops:.2f} points from the printed on average"


def rates(ours: Mapping[Cell, float], printed: Mapping[Cell, float]) -> Rates:
    """Of the cells that were simulated."""
    errors = [abs(rate / printed[cell] - 1) for cell, rate in ours.items()]
    # The tables print no two rates that are the same.
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
    """Of the cells of Tables 4.2, 4.4, 4.6 and 4.8 that were simulated."""
    return Points(
        utilisation=fmean(abs(one.utilisation - published()[cell].utilisation) for cell, one in ours.items()),
        drops=fmean(abs(one.drops - published()[cell].drops) for cell, one in ours.items()),
    )


def rates_of(cells: Mapping[Cell, float], results: Results) -> Rates:
    """Of those of the cells, which are given with their printed rates, that have results."""
    ours = {cell: results.value(cell.label, "rate") for cell in cells if cell.label in results.measured}
    return rates(ours, cells)

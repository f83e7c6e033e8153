"""How near the whole grid is to the printed one, in five figures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998.cells import STRATEGIES, Cell, published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_sim.papers.gurkan_1998.cells import Figures

__all__ = ["Agreement", "agreement"]

#: Relative; :attr:`Agreement.near_rates` counts the cells within it.
_NEAR: Final = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The 80 cells of Tables 4.2, 4.4, 4.6 and 4.8 beside as many of ours."""

    #: Median relative difference of the retrieval rates.
    median_rate_error: float
    #: Cells whose rates differ by no more than 15 %.
    near_rates: int
    #: Mean differences in points.
    utilisation_error: float
    drops_error: float
    #: Pairs of strategies under the same traffic, of 120, that are in the published order.
    ordered_pairs: int


def agreement(ours: Mapping[Cell, Figures]) -> Agreement:
    """The five figures of a whole grid."""
    errors = [abs(ours[cell].rate / printed.rate - 1) for cell, printed in published().items()]
    return Agreement(
        median_rate_error=median(errors),
        near_rates=sum(error <= _NEAR for error in errors),
        utilisation_error=fmean(
            abs(ours[cell].utilisation - one.utilisation) for cell, one in published().items()
        ),
        drops_error=fmean(abs(ours[cell].drops - one.drops) for cell, one in published().items()),
        ordered_pairs=sum(
            _is_above(ours, first, second) == _is_above(published(), first, second) for first, second in _pairs()
        ),
    )


def _pairs() -> list[tuple[Cell, Cell]]:
    traffic = dict.fromkeys((cell.webs, cell.ftps) for cell in published())
    return [
        (Cell(first, webs, ftps), Cell(second, webs, ftps))
        for webs, ftps in traffic
        for first, second in combinations(STRATEGIES, 2)
    ]


def _is_above(grid: Mapping[Cell, Figures], first: Cell, second: Cell) -> bool:
    return grid[first].rate > grid[second].rate

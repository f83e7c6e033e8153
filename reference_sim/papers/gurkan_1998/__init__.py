"""Claims of Gürkan, "Simulation of the HTTP Protocol's Interaction with TCP" (thesis, 1998)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.papers.gurkan_1998 import beyond, grid, initial_window, orders, sequence_plots

if TYPE_CHECKING:
    from reference_sim.reproduction.experiment import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Final[tuple[Experiment, ...]] = (
    *grid.EXPERIMENTS,
    *initial_window.EXPERIMENTS,
    *orders.EXPERIMENTS,
    *sequence_plots.EXPERIMENTS,
    *beyond.EXPERIMENTS,
)

"""Eggert, Heidemann and Touch, "Effects of Ensemble-TCP" (1999): claims E1 to E11."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.papers.eggert_1999.beyond import BEYOND
from reference_sim.papers.eggert_1999.extensions import EXTENSIONS
from reference_sim.papers.eggert_1999.figure_5 import FIGURE_5
from reference_sim.papers.eggert_1999.figure_6 import FIGURE_6
from reference_sim.papers.eggert_1999.one_connection import SECTION_6_1
from reference_sim.papers.eggert_1999.transfers import FIGURE_3, FIGURE_4

if TYPE_CHECKING:
    from reference_sim.reproduction.experiment import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Final[tuple[Experiment, ...]] = (
    *FIGURE_5,
    FIGURE_6,
    FIGURE_3,
    FIGURE_4,
    SECTION_6_1,
    *BEYOND,
    *EXTENSIONS,
)

"""Heidemann, "Performance Interactions Between P-HTTP and TCP Implementations".

ACM Computer Communication Review 27(2), 1997. ``python -m reference_sim.papers.heidemann_1996 OUTDIR`` writes
its Figures 2 and 4 as pcap files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.papers.heidemann_1996.figures import H2, H3
from reference_sim.papers.heidemann_1996.rates_after_idle import H11
from reference_sim.papers.heidemann_1996.remedies import REMEDIES
from reference_sim.papers.heidemann_1996.restarts import H4
from reference_sim.papers.heidemann_1996.socket_buffers import H5
from reference_sim.papers.heidemann_1996.table_1 import H1, H6
from reference_sim.papers.heidemann_1996.wide_area import H7

if TYPE_CHECKING:
    from reference_sim.reproduction.experiment import Experiment

__all__ = ["EXPERIMENTS"]

#: Experiments, one per claim of the paper.
EXPERIMENTS: Final[tuple[Experiment, ...]] = (H1, H2, H3, H4, H5, H6, H7, *REMEDIES, H11)

"""Kruse, Allman, Griner, Tran, "Experimentation and Modeling of HTTP Over Satellite Channels" (2001).

The paper's figures are lost, except for statements in the text: orders, and a few round trips.
:mod:`~reference_sim.papers.kruse_2001.satellite` and :mod:`~reference_sim.papers.kruse_2001.splits` describe
the measurement setup and our choices where the paper is silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.papers.kruse_2001 import (
    bit_errors,
    bsd_bugs,
    model_times,
    packing,
    page_times,
    silences,
    split_request,
    window_growth,
)

if TYPE_CHECKING:
    from reference_sim.reproduction.experiment import Experiment

__all__ = ["EXPERIMENTS"]

#: Experiments, one per claim of the paper, in order.
EXPERIMENTS: Final[tuple[Experiment, ...]] = (
    window_growth.GROWTH,
    window_growth.CONNECTIONS,
    packing.PACKING,
    page_times.PAGE_TIMES,
    silences.SILENCES,
    split_request.SPLIT_REQUEST,
    bit_errors.BIT_ERRORS,
    model_times.MODEL_TIMES,
    bsd_bugs.BSD_BUGS,
)

"""Kruse, Allman, Griner, Tran, "Experimentation and Modeling of HTTP Over Satellite Channels" (2001).

The figures of the paper are lost but for what its text says of them: orders, and a few round trips.
What they were measured with, and what is chosen where the paper is silent, is in
:mod:`~reference_sim.papers.kruse_2001.satellite` and :mod:`~reference_sim.papers.kruse_2001.splits`.
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

#: One for every claim of the paper, in order.
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

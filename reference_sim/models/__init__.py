"""Analytic models of retrievals and transfers, one file per model: baselines for the simulator.

:mod:`kruse` (windows and pages over satellites), :mod:`heidemann` (HTTP over transports), :mod:`kurose_ross`
(textbook slow start), :mod:`cardwell` (short flows), :mod:`pftk` and :mod:`mathis` (long flows with loss),
:mod:`bounds`, :mod:`bhalekar` (round trips before data). Each file states its source, its units and its range
of validity.
"""

from __future__ import annotations

from reference_sim.models.bhalekar import Service, round_trips_before_data
from reference_sim.models.bounds import bottleneck_bound, propagation_bound
from reference_sim.models.kruse import (
    GROWTH,
    GROWTH_WITH_DELAYED_ACKS,
    acknowledgments,
    approximate_window,
    distribution,
    effective_initial_window,
    element_size,
    flights,
    initial_window,
    page_time,
    pipelined_page_time,
    round_trips_to_window,
    transfer_time,
    windows,
)
from reference_sim.models.path import Path

__all__ = [
    "GROWTH",
    "GROWTH_WITH_DELAYED_ACKS",
    "Path",
    "Service",
    "acknowledgments",
    "approximate_window",
    "bottleneck_bound",
    "distribution",
    "effective_initial_window",
    "element_size",
    "flights",
    "initial_window",
    "page_time",
    "pipelined_page_time",
    "propagation_bound",
    "round_trips_before_data",
    "round_trips_to_window",
    "transfer_time",
    "windows",
]

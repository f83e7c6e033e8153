"""Bhalekar, "Content Delivery Acceleration" (2003): one experiment per claim, from B1 on, of ``claims.toml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.papers.bhalekar_2003.compared_strategies import COMPARED_STRATEGIES
from reference_sim.papers.bhalekar_2003.connections import CONNECTIONS
from reference_sim.papers.bhalekar_2003.connections_by_page import ADAPTIVE_CONNECTIONS, SERVICE_PLANS
from reference_sim.papers.bhalekar_2003.content import ALIKE, HEADS_AND_MODEMS
from reference_sim.papers.bhalekar_2003.cumulative_cache import CUMULATIVE_CACHE
from reference_sim.papers.bhalekar_2003.delta_places import DELTA_PLACES
from reference_sim.papers.bhalekar_2003.initial_window import INITIAL_WINDOW
from reference_sim.papers.bhalekar_2003.optimized_browser import OPTIMIZED_BROWSER
from reference_sim.papers.bhalekar_2003.partial_get import PARTIAL_GET
from reference_sim.papers.bhalekar_2003.prefetching import PREFETCHED_DELTAS, PRIORITY
from reference_sim.papers.bhalekar_2003.refreshing import FLUSHING, REFRESHING
from reference_sim.papers.bhalekar_2003.round_trips import ROUND_TRIPS
from reference_sim.papers.bhalekar_2003.saved_bytes import SAVED_BYTES
from reference_sim.papers.bhalekar_2003.shared_state import SHARED_STATE
from reference_sim.papers.bhalekar_2003.slow_networks import SLOW_NETWORKS

if TYPE_CHECKING:
    from reference_sim.reproduction.experiment import Experiment

__all__ = ["EXPERIMENTS"]

#: Experiments in the order of the claims.
EXPERIMENTS: Final[tuple[Experiment, ...]] = (
    ROUND_TRIPS,
    COMPARED_STRATEGIES,
    CONNECTIONS,
    OPTIMIZED_BROWSER,
    CUMULATIVE_CACHE,
    SAVED_BYTES,
    SHARED_STATE,
    INITIAL_WINDOW,
    PARTIAL_GET,
    SLOW_NETWORKS,
    PRIORITY,
    PREFETCHED_DELTAS,
    ALIKE,
    HEADS_AND_MODEMS,
    DELTA_PLACES,
    ADAPTIVE_CONNECTIONS,
    SERVICE_PLANS,
    REFRESHING,
    FLUSHING,
)

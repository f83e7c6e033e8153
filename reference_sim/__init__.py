"""Simulator of HTTP over TCP: captures, and the truth behind them.

::

    import reference_sim

    scenario = reference_sim.retrieval(strategy="http11-pipelined", page="heidemann", network="lan")
    simulation = reference_sim.simulate(scenario, seed=7)
    simulation.truth.transactions  # the truth (polars frames)
    simulation.capture(at="client").packets  # the same trace as from a capture file
    simulation.write_pcap("page.pcap", at="client")

A Rust engine simulates every packet. The same scenario with the same seed gives the same bytes on any
machine. Strategies, pages, networks and stacks have names (:data:`STRATEGIES`, :data:`PAGES`,
:data:`NETWORKS`, :data:`STACKS`). Each is a frozen dataclass: change its fields with
:func:`dataclasses.replace`. :func:`register` and the decorator of :mod:`reference_sim.strategy` add a
strategy to the table.

``reference_sim`` shares only the trace model (``trace``, ``schema``, ``errors``) and the frame of HTML pages
with ``tcptrace_http``. A shared estimator or classifier would hide the same bug in both.

The names in ``__all__`` are public. Each is imported on first use, so importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reference_sim.networks import NETWORKS
    from reference_sim.page import Page
    from reference_sim.page_sources import page_from_har
    from reference_sim.pages import PAGES
    from reference_sim.scenario import Scenario
    from reference_sim.scenario_file import read as read_scenario
    from reference_sim.simulation import Simulation, simulate
    from reference_sim.stacks import PRESETS as STACKS
    from reference_sim.strategies import STRATEGIES
    from reference_sim.strategy import Strategy, register
    from reference_sim.topology import Network
    from reference_sim.truth import Truth
    from reference_sim.workloads import heidemann, published_scenario, retrieval, thesis
    from tcptrace_http.errors import ScenarioError

__all__ = [
    "NETWORKS",
    "PAGES",
    "STACKS",
    "STRATEGIES",
    "Network",
    "Page",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Strategy",
    "Truth",
    "heidemann",
    "page_from_har",
    "published_scenario",
    "read_scenario",
    "register",
    "retrieval",
    "simulate",
    "thesis",
]

_HOME_OF: Final = {
    "NETWORKS": ("reference_sim.networks", "NETWORKS"),
    "PAGES": ("reference_sim.pages", "PAGES"),
    "STACKS": ("reference_sim.stacks", "PRESETS"),
    "STRATEGIES": ("reference_sim.strategies", "STRATEGIES"),
    "Network": ("reference_sim.topology", "Network"),
    "Page": ("reference_sim.page", "Page"),
    "Scenario": ("reference_sim.scenario", "Scenario"),
    "ScenarioError": ("tcptrace_http.errors", "ScenarioError"),
    "Simulation": ("reference_sim.simulation", "Simulation"),
    "Strategy": ("reference_sim.strategy", "Strategy"),
    "Truth": ("reference_sim.truth", "Truth"),
    "published_scenario": ("reference_sim.workloads", "published_scenario"),
    "heidemann": ("reference_sim.workloads", "heidemann"),
    "register": ("reference_sim.strategy", "register"),
    "page_from_har": ("reference_sim.page_sources", "page_from_har"),
    "read_scenario": ("reference_sim.scenario_file", "read"),
    "retrieval": ("reference_sim.workloads", "retrieval"),
    "simulate": ("reference_sim.simulation", "simulate"),
    "thesis": ("reference_sim.workloads", "thesis"),
}


def __getattr__(name: str) -> object:
    """Import a public name from the module that holds it (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOME_OF[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)

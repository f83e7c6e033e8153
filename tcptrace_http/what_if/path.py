"""Requested path in place of the captured one, such as a user at a distance of 100 ms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario

__all__ = ["over"]


def over(scenario: Scenario, *, rtt_ns: int | None, rate: int | None) -> Scenario:
    """Return the scenario with this round trip (nanoseconds of propagation) and this rate (bits per second)."""
    links = scenario.network.links
    if rtt_ns is not None:
        # An inferred path has one link in each direction.
        links = tuple(replace(link, delay=rtt_ns // len(links)) for link in links)
    if rate is not None:
        links = tuple(replace(link, rate=rate) for link in links)
    return replace(scenario, network=replace(scenario.network, links=links))

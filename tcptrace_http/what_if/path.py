"""The path that is asked for in place of the captured one: "what if the user sat 100 ms away"."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario

__all__ = ["over"]


def over(scenario: Scenario, *, rtt_ns: int | None, rate: int | None) -> Scenario:
    """The scenario with this round trip (nanoseconds of propagation) and this rate (bits a second)."""
    links = scenario.network.links
    if rtt_ns is not None:
        # An inferred path is one link there and one back.
        links = tuple(replace(link, delay=rtt_ns // len(links)) for link in links)
    if rate is not None:
        links = tuple(replace(link, rate=rate) for link in links)
    return replace(scenario, network=replace(scenario.network, links=links))

"""Simulated retrievals in the form of the papers' figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.reproduction.readings import durations, gaps, of_server, seconds
from reference_sim.scenario import Record, Scenario, Transfer
from reference_sim.simulation import simulate

if TYPE_CHECKING:
    from reference_sim.stack import Stack
    from reference_sim.topology import Network
    from reference_sim.truth import Truth

__all__ = ["durations", "gaps", "of_server", "seconds", "transfers"]


def transfers(network: Network, stack: Stack, *started: tuple[int, int]) -> Truth:
    """Return bare transfers between two hosts, by start in nanoseconds and size in bytes."""
    made = (
        Transfer(
            node=network.clients[0],
            stack=stack,
            server_node=network.servers[0],
            server_stack=stack,
            start=start,
            files=(size,),
        )
        for start, size in started
    )
    return simulate(Scenario(network=network, transfers=tuple(made), record=Record.everything())).truth

"""Simulated retrievals, as the figures of the papers show them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from reference_sim.scenario import Record, Scenario, Transfer
from reference_sim.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_sim.stack import Stack
    from reference_sim.topology import Network
    from reference_sim.truth import Truth

__all__ = ["durations", "gaps", "of_server", "seconds", "transfers"]


def seconds(times: pl.Series) -> list[float]:
    """Times after the first of them."""
    return [(time - times[0]).total_seconds() for time in times]


def gaps(values: Iterable[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(values)]


def durations(truth: Truth) -> list[float]:
    """Seconds that each retrieval took."""
    return [(end - start).total_seconds() for start, end in truth.retrievals.select("start", "end").iter_rows()]


def of_server(truth: Truth, *, connection: int | None = None) -> pl.DataFrame:
    """The data packets from where connections were accepted, in the order in which they were sent."""
    packets = truth.packets.filter((pl.col("side") == "server") & (pl.col("payload_bytes") > 0))
    return (packets if connection is None else packets.filter(connection=connection)).sort("sent")


def transfers(network: Network, stack: Stack, *started: tuple[int, int]) -> Truth:
    """Bare transfers between two hosts: when each starts, in nanoseconds, and how many bytes it has."""
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

"""What measures read from the truth of a simulation: durations, gaps, flights."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from reference_sim.truth import Truth

__all__ = ["durations", "gaps", "of_server", "seconds"]


def seconds(times: pl.Series) -> list[float]:
    """Times after the first of them."""
    return [(time - times[0]).total_seconds() for time in times]


def gaps(values: Iterable[float]) -> list[float]:
    """The differences between each value and the one before."""
    return [later - earlier for earlier, later in pairwise(values)]


def durations(truth: Truth) -> list[float]:
    """Seconds that each retrieval took."""
    return [(end - start).total_seconds() for start, end in truth.retrievals.select("start", "end").iter_rows()]


def of_server(truth: Truth, *, connection: int | None = None) -> pl.DataFrame:
    """The data packets from where connections were accepted, in the order in which they were sent."""
    import polars as pl

    packets = truth.packets.filter((pl.col("side") == "server") & (pl.col("payload_bytes") > 0))
    return (packets if connection is None else packets.filter(connection=connection)).sort("sent")

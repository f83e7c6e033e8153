"""Readings of a simulation's truth for the measures: durations, gaps, flights."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from reference_sim.truth import Truth

__all__ = ["durations", "gaps", "of_server", "seconds"]


def seconds(times: pl.Series) -> list[float]:
    """Return times relative to the first time."""
    return [(time - times[0]).total_seconds() for time in times]


def gaps(values: Iterable[float]) -> list[float]:
    """Return the differences between consecutive values."""
    return [later - earlier for earlier, later in pairwise(values)]


def durations(truth: Truth) -> list[float]:
    """Return the duration of each retrieval in seconds."""
    return [(end - start).total_seconds() for start, end in truth.retrievals.select("start", "end").iter_rows()]


def of_server(truth: Truth, *, connection: int | None = None) -> pl.DataFrame:
    """Return the data packets of the accepting end, in sending order."""
    import polars as pl

    packets = truth.packets.filter((pl.col("side") == "server") & (pl.col("payload_bytes") > 0))
    return (packets if connection is None else packets.filter(connection=connection)).sort("sent")

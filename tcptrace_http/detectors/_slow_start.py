"""Waits of slow start in the first response of a connection, and those that a larger first window avoids.

A first window of ``W`` bytes releases the first ``W`` bytes of a response at once, so their waits are
avoided. If the response is longer and no later data waited for the window, one round trip remains. The
longest of these waits then still counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["openings", "with_lost"]


def openings(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the first responses of connections that waited, with the profile of their sender."""
    return tables["openings"].lazy().join(tables["profiles"].lazy(), on="flow", how="inner", maintain_order="left")


def with_lost(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return ``rows`` of :func:`openings` with ``lost``: the waits that a first window of ``window`` bytes
    avoids.

    Rows without such waits are left out.
    """
    import polars as pl

    is_spared = pl.col("offsets") < pl.col("window")
    inside = pl.col("waits_ns").filter(is_spared)
    is_replaced = is_spared.all() & (pl.col("response_bytes").first() > pl.col("window").first())
    lost_ns = inside.sum() - pl.when(is_replaced).then(inside.max()).otherwise(0)
    numbered = rows.with_row_index("row")
    lost = (
        numbered.select("row", "offsets", "waits_ns", "window", "response_bytes")
        .explode("offsets", "waits_ns")
        .group_by("row")
        .agg(lost=lost_ns)
        .filter(pl.col("lost") > 0)
        .with_columns(pl.col("lost").cast(pl.Duration("ns")))
    )
    return numbered.join(lost, on="row", how="inner", maintain_order="left").drop("row")

"""Findings of the rows of ``recoveries``: the common part of the detectors of losses.

Each detector chooses its rows and says what each of them cost; here the rows of one transaction become
one finding. They read ``waits`` too, so that they run when those are made and leave them as they are:
the core has given the time to the same causes already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import timedelta

    import polars as pl

__all__ = ["CONFIDENCE_MIN", "by_transaction", "ms", "ns"]

#: Rows whose kind is less certain are not told.
CONFIDENCE_MIN: Final = 0.5


def ns(name: str) -> pl.Expr:
    """A duration in nanoseconds."""
    import polars as pl

    return pl.col(name).dt.total_nanoseconds()


def ms(name: str) -> pl.Expr:
    """A duration in milliseconds, for a text."""
    return (ns(name) / 1e6).round(1)


def by_transaction(rows: pl.LazyFrame, *, lost_min: timedelta) -> pl.LazyFrame:
    """One row a transaction and direction that lost at least so much. ``rows`` have ``lost``.

    ``times`` counts the rows, ``who`` names the sender and ``what`` the message; the other columns are
    sums, or those of the row that lost most.
    """
    import polars as pl

    is_response = pl.col("direction").cast(pl.String) == "server_to_client"
    worst = pl.all().exclude("flow", "transaction", "direction").sort_by("lost", descending=True).first()
    return (
        rows.filter(pl.col("confidence") >= CONFIDENCE_MIN, pl.col("transaction").is_not_null())
        .group_by("flow", "transaction", "direction", maintain_order=True)
        .agg(
            worst,
            times=pl.len(),
            total=pl.col("lost").sum(),
            segments=pl.col("resent_segments").sum(),
            earliest=pl.col("first_frame").min(),
            latest=pl.col("last_frame").max(),
        )
        .with_columns(
            lost="total",
            who=pl.when(is_response).then(pl.lit("server")).otherwise(pl.lit("client")),
            what=pl.when(is_response).then(pl.lit("response")).otherwise(pl.lit("request")),
        )
        .filter(pl.col("lost") >= lost_min)
    )

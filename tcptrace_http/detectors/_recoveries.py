"""Common part of the loss detectors: findings from the rows of ``recoveries``.

Each detector selects its rows and gives the loss of each. This module merges the rows of one transaction into
one finding. The detectors also read ``waits`` and therefore run after the waits exist. They do not change the
waits: the core has already assigned the time to the same causes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import timedelta

    import polars as pl

__all__ = ["CONFIDENCE_MIN", "by_transaction", "ms", "ns"]

#: Minimum confidence in the kind of a recovery for a finding.
CONFIDENCE_MIN: Final = 0.5


def ns(name: str) -> pl.Expr:
    """Return a duration in nanoseconds."""
    import polars as pl

    return pl.col(name).dt.total_nanoseconds()


def ms(name: str) -> pl.Expr:
    """Return a duration in milliseconds, for a text."""
    return (ns(name) / 1e6).round(1)


def by_transaction(rows: pl.LazyFrame, *, lost_min: timedelta) -> pl.LazyFrame:
    """Return one row per transaction and direction that lost at least ``lost_min``. ``rows`` have ``lost``.

    ``times`` counts the rows, ``who`` names the sender and ``what`` the message. The other columns are sums,
    or the values of the row with the largest loss.
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

"""Words that depend on a count: ``1 segment was``, ``2 segments were``; ``once``, ``3 times``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["by_number", "counted", "times"]


def by_number(count: pl.Expr | str, one: str, more: str) -> pl.Expr:
    """Return ``one`` if the count is one, else ``more``."""
    import polars as pl

    return pl.when(_number(count) == 1).then(pl.lit(one)).otherwise(pl.lit(more))


def counted(count: pl.Expr | str, noun: str) -> pl.Expr:
    """Return a count with its noun, plural except for one; null if the count is null."""
    import polars as pl

    return pl.format("{} {}", _number(count), by_number(count, noun, noun + "s"))


def times(count: pl.Expr | str) -> pl.Expr:
    """Return a frequency: ``once``, or ``3 times``; null if the count is null."""
    import polars as pl

    return pl.when(_number(count) == 1).then(pl.lit("once")).otherwise(counted(count, "time"))


def _number(count: pl.Expr | str) -> pl.Expr:
    import polars as pl

    return pl.col(count) if isinstance(count, str) else count

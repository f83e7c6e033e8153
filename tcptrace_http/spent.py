"""Time between two moments of a row: never less than nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["spent"]


def spent(start: str, end: str) -> pl.Expr:
    """The duration from the column ``start`` to the column ``end``; null where one of them is.

    A server may answer before it has the whole request (RFC 9112, section 9.5), and a clock may be set back: what
    ended before it began took no time.
    """
    import polars as pl

    length = pl.col(end) - pl.col(start)
    return pl.when(length < pl.duration()).then(pl.duration()).otherwise(length)

"""Time between two moments of a row, at least zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["spent"]


def spent(start: str, end: str) -> pl.Expr:
    """Return the duration from the column ``start`` to the column ``end``; null if one is null.

    A server may answer before the end of the request (RFC 9112, section 9.5), and a clock may step back. A
    negative time counts as zero.
    """
    import polars as pl

    length = pl.col(end) - pl.col(start)
    return pl.when(length < pl.duration()).then(pl.duration()).otherwise(length)

"""Sortable and filterable tables of all transactions and retrievals of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from tcptrace_http.difference.summary import transactions_by_difference
from tcptrace_http.report.html.interactive import table_of

if TYPE_CHECKING:
    from tcptrace_http.difference.compared import Compared

__all__ = ["retrievals_table", "transactions_table"]

_NAME: Final = 200
_NONE: Final = "-"


def transactions_table(difference: Compared) -> dict[str, Any]:
    """Return all transactions, largest difference first."""
    rows = transactions_by_difference(difference).select(
        "pair",
        pl.col("how").cast(pl.String).str.replace("_", " ").alias("aligned"),
        *(_number(side, "transaction") for side in ("left", "right")),
        "method",
        _both("target").alias("target"),
        _both("body_bytes").alias("body (bytes)"),
        *_milliseconds(),
        pl.col("cause").alias("most of it"),
    )
    return table_of("Transactions side by side", rows, example="only left", selected_by=["pair"])


def retrievals_table(difference: Compared) -> dict[str, Any]:
    """Return all retrievals in order."""
    rows = difference.retrievals.with_columns(
        pl.col("left_elapsed", "right_elapsed", "difference").to_physical()
    ).select(
        pl.col("left_retrieval").alias("left"),
        pl.col("right_retrieval").alias("right"),
        _both("url").alias("page"),
        _both("transactions").alias("transactions"),
        *_milliseconds(),
    )
    return table_of("Retrievals side by side", rows, example="left=0")


def _number(side: str, name: str) -> pl.Expr:
    return pl.format("{}.{}", f"{side}_flow", f"{side}_{name}").alias(side)


def _both(name: str) -> pl.Expr:
    """Return the values of both sides if they differ; a dash for a side without one."""
    left, right = (
        pl.col(f"{side}_{name}").cast(pl.String).str.slice(0, _NAME).fill_null(_NONE) for side in ("left", "right")
    )
    return pl.when(left == right).then(left).otherwise(pl.format("{} | {}", left, right))


def _milliseconds() -> list[pl.Expr]:
    return [
        (pl.col(column) / 1e6).round(3).alias(f"{name} (ms)")
        for column, name in (("left_elapsed", "left"), ("right_elapsed", "right"), ("difference", "difference"))
    ]

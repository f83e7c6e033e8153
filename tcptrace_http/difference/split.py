"""Split of the time difference by cause.

The waits of a transaction partition its time to the nanosecond, and the critical path of a retrieval
partitions the retrieval's time. The difference of two partitions thus has rows that sum exactly to the time
difference. Unaligned transactions on the critical path are not a cause of the other side's delay; they have a
separate line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from tcptrace_http.analysis import Analysis

__all__ = ["UNALIGNED", "causes_of_retrievals", "causes_of_transactions", "summed"]

#: Line of one-sided transactions on the critical path.
UNALIGNED: Final = "unaligned"
_ZERO: Final = pl.lit(0, dtype=pl.Duration("ns"))
_KEY: Final = ("flow", "transaction")


def causes_of_retrievals(
    left: Analysis, right: Analysis, retrievals: pl.DataFrame, transactions: pl.DataFrame
) -> pl.DataFrame:
    """Return the time of each cause on the critical paths per pair of retrievals; it sums to the elapsed time."""
    sides = []
    for side, analysis in (("left", left), ("right", right)):
        aligned = transactions.filter(pl.col("how").is_in(["same", "renamed", "unnamed"])).select(
            flow=f"{side}_flow", transaction=f"{side}_transaction", is_aligned=True
        )
        path = analysis.critical_path.join(aligned, on=_KEY, how="left").with_columns(
            cause=pl.when("is_aligned").then(pl.col("cause").cast(pl.String)).otherwise(pl.lit(UNALIGNED))
        )
        numbers = retrievals.select("pair", retrieval=f"{side}_retrieval").drop_nulls()
        sides.append(_by_cause(path.join(numbers, on="retrieval")))
    return _beside(*sides)


def causes_of_transactions(left: Analysis, right: Analysis, transactions: pl.DataFrame) -> pl.DataFrame:
    """Return the waits per pair of transactions (or one-sided transaction) and cause."""
    sides = []
    for side, analysis in (("left", left), ("right", right)):
        numbers = transactions.select("pair", flow=f"{side}_flow", transaction=f"{side}_transaction").drop_nulls()
        waits = analysis.waits.with_columns(pl.col("cause").cast(pl.String))
        sides.append(_by_cause(waits.join(numbers, on=_KEY)))
    return _beside(*sides)


def summed(causes: pl.DataFrame) -> pl.DataFrame:
    """Return the sum of all pairs, largest difference first."""
    return (
        causes.group_by("cause")
        .agg(pl.col("left", "right", "difference").sum())
        .sort(pl.col("difference").abs(), "cause", descending=[True, False])
    )


def _by_cause(intervals: pl.DataFrame) -> pl.DataFrame:
    return intervals.group_by("pair", "cause").agg(time=(pl.col("end") - pl.col("start")).sum())


def _beside(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    key = ["pair", "cause"]
    joined = left.rename({"time": "left"}).join(right.rename({"time": "right"}), on=key, how="full", coalesce=True)
    return (
        joined.with_columns(pl.col("left", "right").fill_null(_ZERO))
        .with_columns(difference=pl.col("left") - pl.col("right"))
        .sort(pl.col("pair"), pl.col("difference").abs(), pl.col("cause"), descending=[False, True, False])
    )

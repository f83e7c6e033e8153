"""Findings of both sides as the explanation of the different causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from tcptrace_http.analysis import Analysis

__all__ = ["named_stalls"]


def named_stalls(
    left: Analysis, right: Analysis, transactions: pl.DataFrame, retrievals: pl.DataFrame
) -> pl.DataFrame:
    """Return the number of findings and their loss in these retrievals, per cause and detector.

    ``lost`` is the detectors' figure. Findings of one transaction may claim the same time, so the losses are
    no partition.
    """
    sides = []
    for side, analysis in (("left", left), ("right", right)):
        known = transactions.join(retrievals, on=f"{side}_retrieval", how="semi").select(
            flow=f"{side}_flow", transaction=f"{side}_transaction"
        )
        found = analysis.findings.filter(pl.col("cause").is_not_null(), pl.col("lost") > pl.duration())
        sides.append(
            found.join(known, on=["flow", "transaction"], how="semi")
            .group_by(pl.col("cause").cast(pl.String), "detector")
            .agg(pl.len().alias(f"{side}_count"), pl.col("lost").sum().alias(f"{side}_lost"))
        )
    zero = pl.lit(0, dtype=pl.Duration("ns"))
    return (
        sides[0]
        .join(sides[1], on=["cause", "detector"], how="full", coalesce=True)
        .with_columns(pl.col("left_count", "right_count").fill_null(0))
        .with_columns(pl.col("left_lost", "right_lost").fill_null(zero))
        .with_columns(difference=pl.col("left_lost") - pl.col("right_lost"))
        .sort(pl.col("difference").abs(), "cause", "detector", descending=[True, False, False])
    )

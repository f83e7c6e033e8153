"""Duration of a transaction without a finding, and the time that two findings claim together.

Every nanosecond of a transaction has one cause. Two findings claim the same time only if they name the same
cause. For example, a refused keep-alive and a small initial window both cost round trips of slow start.
Findings about several transactions claim no time of a single one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    import polars as pl

__all__ = ["with_counterfactual"]

_KEY: Final = ("flow", "transaction")


def with_counterfactual(findings: pl.DataFrame, waits: pl.DataFrame, transactions: pl.DataFrame) -> pl.DataFrame:
    """Return the findings with ``elapsed_without`` and ``shared``, in their order; columns as in
    ``schema.TABLES``.

    ``elapsed_without`` is the transaction's elapsed time less ``lost``, and ``lost`` never exceeds that time.
    ``shared`` is the excess of the claims of one transaction and cause over the waits of that cause. It is at
    most the ``lost`` of each finding.
    """
    import polars as pl

    if findings.is_empty():
        return findings
    # An unanswered transaction has no elapsed time.
    answered = transactions.filter(pl.col("response_last_time").is_not_null())
    elapsed = answered.select(
        "flow", pl.col("index").alias("transaction"), elapsed=pl.col("end_time") - pl.col("start_time")
    )
    told = findings.select(_KEY).unique()
    waits = waits.join(told, on=_KEY, how="semi", maintain_order="left")
    held = waits.group_by(*_KEY, "cause").agg(held=(pl.col("end") - pl.col("start")).sum())
    known = findings.join(elapsed, on=_KEY, how="left", maintain_order="left").join(
        held, on=[*_KEY, "cause"], how="left", maintain_order="left"
    )
    is_one = pl.col("elapsed").is_not_null()
    bounded = known.with_columns(lost=pl.when(is_one).then(pl.min_horizontal("lost", "elapsed")).otherwise("lost"))
    nothing = pl.lit(0).cast(pl.Duration("ns"))
    claimed = pl.col("lost").sum().over(*_KEY, "cause")
    has_rivals = is_one & (pl.len().over(*_KEY, "cause") > 1) & pl.col("cause").is_not_null()
    excess = claimed - pl.col("held").fill_null(nothing)
    return bounded.with_columns(
        elapsed_without=pl.when(is_one).then(pl.col("elapsed") - pl.col("lost")),
        shared=pl.when(has_rivals).then(excess.clip(nothing, pl.col("lost"))).otherwise(nothing),
    ).select(pl.col(name).cast(dtype) for name, dtype in polars_schema(TABLES["findings"]).items())

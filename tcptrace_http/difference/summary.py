"""Common content of all formats: the relevant causes, the ordered transactions, and the model means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from tcptrace_http.difference.words import cause_words, signed
from tcptrace_http.quantity import duration

if TYPE_CHECKING:
    from tcptrace_http.difference.compared import Compared

__all__ = ["Line", "cause_lines", "model_failures", "model_rows", "stall_rows", "transactions_by_difference"]

#: Minimum share of the differences for a separate line; smaller causes are merged.
_SHARE_MIN: Final = 0.005


@dataclass(frozen=True, slots=True)
class Line:
    """Times of both sides for one cause, in nanoseconds."""

    name: str
    left_ns: int
    right_ns: int

    @property
    def difference_ns(self) -> int:
        """Return left minus right."""
        return self.left_ns - self.right_ns


def cause_lines(difference: Compared) -> list[Line]:
    """Return the differing causes and the merged rest: the sums are exactly the elapsed times."""
    causes = difference.causes.with_columns(pl.col("left", "right", "difference").to_physical())
    if causes.is_empty():
        return []
    least = _SHARE_MIN * max(abs(value) for value in causes["difference"].to_list())
    great = pl.col("difference").abs() > least
    named = causes.filter(great).select("cause", "left", "right").rows()
    lines = [Line(cause_words(cause), left, right) for cause, left, right in named]
    small = causes.filter(~great)
    if small.is_empty():
        return lines
    rest = "more, nearly alike" if lines else "causes, alike"
    return [*lines, Line(f"{small.height} {rest}", int(small["left"].sum()), int(small["right"].sum()))]


def transactions_by_difference(difference: Compared) -> pl.DataFrame:
    """Return the transactions, largest difference first, with the main ``cause``; times as integers."""
    size = pl.col("difference").abs()
    most = (
        difference.transaction_causes.sort(size, descending=True, maintain_order=True)
        .group_by("pair", maintain_order=True)
        .first()
        .select("pair", "cause")
    )
    return (
        difference.transactions.sort(size, descending=True, maintain_order=True)
        .join(most, on="pair", how="left", maintain_order="left")
        .with_columns(pl.col("left_elapsed", "right_elapsed", "difference").to_physical())
    )


def stall_rows(difference: Compared) -> list[tuple[str, ...]]:
    """Return detector, cause, counts and losses of both sides, and the difference, in words."""
    stalls = difference.stalls.with_columns(pl.selectors.duration().to_physical())
    return [
        (
            row["detector"],
            row["cause"],
            *(f"{row[f'{side}_count']:,}" for side in ("left", "right")),
            *(duration(row[f"{side}_lost"]) for side in ("left", "right")),
            signed(row["difference"]),
        )
        for row in stalls.iter_rows(named=True)
    ]


def model_rows(difference: Compared) -> list[tuple[str, ...]]:
    """Return the models whose assumptions hold, by model and side: number of retrievals and means, in words."""
    times = pl.col("predicted", "elapsed", "residual")
    means = (
        difference.residuals.filter(pl.col("fails").is_null())
        .group_by("model", "side", maintain_order=True)
        .agg(pl.len().alias("count"), times.to_physical().mean().round().cast(pl.Int64))
    )
    return [
        (model, side, f"{count:,}", duration(predicted), duration(elapsed), signed(residual))
        for model, side, count, predicted, elapsed, residual in means.sort("model", "side").rows()
    ]


def model_failures(difference: Compared) -> list[tuple[str, str, int]]:
    """Return side, failed assumption, and number of retrievals."""
    failing = difference.residuals.drop_nulls("fails")
    counts = failing.group_by("side", "fails").agg(pl.col("pair").n_unique())
    return [(side, fails, count) for side, fails, count in counts.sort("side", "fails").rows()]

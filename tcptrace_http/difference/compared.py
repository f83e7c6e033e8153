"""Compared sides: their common parts, and the causes of their time difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.difference.divergence import Divergence
    from tcptrace_http.difference.side import Side

__all__ = ["Compared"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Compared:
    """Common parts of two sides, and the causes of their time difference; times are nanoseconds (``Duration``)."""

    left: Side
    right: Side
    #: One row per retrieval of either side; a page of both sides has one row.
    retrievals: pl.DataFrame
    #: One row per transaction of either side, with its alignment.
    transactions: pl.DataFrame
    #: Elapsed times of the aligned retrievals by cause: the columns sum exactly to those of ``retrievals``.
    causes: pl.DataFrame
    #: Causes per pair of ``retrievals``, including one-sided ones.
    retrieval_causes: pl.DataFrame
    #: Causes per pair of ``transactions``.
    transaction_causes: pl.DataFrame
    #: Findings of both sides in the aligned retrievals, by cause and detector.
    stalls: pl.DataFrame
    #: Predictions of analytic models for the aligned retrievals of both sides, with the residuals.
    residuals: pl.DataFrame
    #: Compared flows, and the points at which they diverge.
    flows: tuple[int, int] | None
    divergences: tuple[Divergence, ...]

    @property
    def left_ns(self) -> int:
        """Return the time of the aligned retrievals on the left, in nanoseconds."""
        return self._elapsed("left_elapsed")

    @property
    def right_ns(self) -> int:
        """Return the time of the aligned retrievals on the right, in nanoseconds."""
        return self._elapsed("right_elapsed")

    @property
    def difference_ns(self) -> int:
        """Return the excess of the left side: the sum of ``causes``."""
        return self.left_ns - self.right_ns

    @property
    def aligned_retrievals(self) -> pl.DataFrame:
        """Return the retrievals that both sides have."""
        return self.retrievals.drop_nulls(["left_retrieval", "right_retrieval"])

    def _elapsed(self, column: str) -> int:
        return int(self.aligned_retrievals[column].to_physical().sum())

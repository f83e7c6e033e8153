"""The largest window that an earlier connection of two hosts had shown shortly before another began.

Each shows what it had in flight at the least: one whose window was lowered by a loss, or that had little to
send, takes nothing back of what another has shown.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import PAIR

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RECENT_SECONDS", "with_shown_window"]

#: What was learnt longer ago says little about the path now; RFC 9040, section 6, leaves the age open.
RECENT_SECONDS: Final = 10
#: A window and the number of its flow (u32) are compared as one.
_FLOWS: Final = 1 << 32


def with_shown_window(
    openings: pl.LazyFrame, connections: pl.LazyFrame, *, at: str, recent_seconds: float = RECENT_SECONDS
) -> pl.LazyFrame:
    """``openings`` of connections before which others had shown a window: the largest, and its ``earlier_flow``.

    They begin at ``at``. Only connections count whose last response was complete by then, and not longer ago
    than ``recent_seconds``.
    """
    import polars as pl

    window = pl.col("largest_window_segments")
    shown = connections.filter(window.is_not_null(), pl.col("last_response_time").is_not_null()).select(
        *PAIR,
        pl.col("last_response_time").alias(at),
        best=window.cast(pl.UInt64) * _FLOWS + pl.col("flow"),
        is_opening=pl.lit(value=False),
    )
    largest = pl.col("best").rolling_max_by(at, window_size=timedelta(seconds=recent_seconds), closed="both")
    return (
        pl.concat([openings.with_columns(is_opening=pl.lit(value=True)), shown], how="diagonal")
        .with_columns(best=largest.over(PAIR))
        .filter("is_opening", pl.col("best").is_not_null())
        .with_columns(window=pl.col("best") // _FLOWS, earlier_flow=pl.col("best") % _FLOWS)
        .drop("best", "is_opening")
    )

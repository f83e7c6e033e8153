"""Largest window that an earlier connection of two hosts had shown shortly before another connection began.

The bytes in flight of a connection are a lower bound of its window. A later loss, or a lack of data, does not
lower the window that another connection has shown.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import PAIR

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RECENT_SECONDS", "with_shown_window"]

#: Maximum age of a shown window in seconds. Older values say little about the path; RFC 9040, section 6, sets
#: no age.
RECENT_SECONDS: Final = 10
#: Factor that packs a window and its flow number (u32) into one comparable number.
_FLOWS: Final = 1 << 32


def with_shown_window(
    openings: pl.LazyFrame, connections: pl.LazyFrame, *, at: str, recent_seconds: float = RECENT_SECONDS
) -> pl.LazyFrame:
    """Return ``openings`` with the largest window that earlier connections had shown, and its ``earlier_flow``.

    Openings without such a connection are left out. They begin at ``at``. An earlier connection counts if its
    last response was complete by then, at most ``recent_seconds`` before.
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

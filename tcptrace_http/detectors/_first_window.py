"""Whether a first window held what Nagle's algorithm would have held as well: the window comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._hold_owner import FROM_CLIENT

if TYPE_CHECKING:
    import polars as pl

__all__ = ["fills_first_window"]

#: The initial window of today (RFC 6928). Where offload merged segments, each is acknowledged by itself, and
#: what was outstanding does not tell.
INITIAL_WINDOW_NOW: Final = 10


def fills_first_window() -> pl.Expr:
    """Whether a response waited behind as many segments as the first window has of a connection."""
    import polars as pl

    return (pl.col("direction") != FROM_CLIENT) & (_is_behind_first_flight() | _is_behind_short_opening())


def _is_behind_first_flight() -> pl.Expr:
    """... counted from the beginning of the first response."""
    import polars as pl

    full = pl.col("segment_bytes")
    return (
        (pl.col("transaction") == 0)
        & ((pl.col("released_offset") / full).ceil() == INITIAL_WINDOW_NOW)
        & (pl.col("outstanding_bytes") <= pl.col("largest_flight_bytes"))
        & (pl.col("previous_bytes") > full)
    )


def _is_behind_short_opening() -> pl.Expr:
    """... of which the first is short. Once the window has been filled it is larger."""
    import polars as pl

    behind = pl.col("opening_bytes") + (INITIAL_WINDOW_NOW - 1) * pl.col("segment_bytes")
    fills = pl.col("sender_permits_sack") & (pl.col("released_offset") == behind)
    first = pl.col("transaction").filter(fills).min().over("flow", "direction")
    return fills & (pl.col("transaction") == first)

"""Flights of a response that a window separated: what Nagle's algorithm held is no boundary of a window.

A response that begins with a short segment waits for that one's ACK first, and its odd last segment for the ACKs
of all before. Between the two the same response may show slow start, which is looked for in the flights from one
such hold to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

__all__ = ["between_holds"]

#: Columns with a value for each flight.
_OF_FLIGHTS: Final = (
    "flight_segments",
    "flight_first_frames",
    "flight_first_bytes",
    "flight_last_bytes",
    "flight_off_ack_ns",
    "flight_behind_bytes",
    "flight_outstanding_bytes",
    "flight_start_ns",
    "flight_end_ns",
)


def between_holds(flights: pl.LazyFrame, holds: pl.LazyFrame) -> pl.LazyFrame:
    """``flights`` with only those from one hold of Nagle's algorithm to the next, where there are at least two.

    ``holds`` are those of :func:`tcptrace_http.detectors._held.held`. ``start`` and the flights' times are then
    those of the first flight that is left.
    """
    import polars as pl

    rows = flights.with_row_index("row")
    released = holds.select("flow", flight_first_frames="released_frame", was_held=pl.lit(value=True)).unique()
    stretch = pl.col("was_held").fill_null(value=False).cast(pl.UInt32).cum_sum().over("row")
    left = (
        rows.select("row", "flow", *_OF_FLIGHTS)
        .explode(_OF_FLIGHTS)
        .join(released, on=("flow", "flight_first_frames"), how="left", maintain_order="left")
        .with_columns(stretch=stretch)
        .with_columns(begun=pl.col("flight_start_ns").first().over("row", "stretch"))
        .with_columns(pl.col("flight_start_ns", "flight_end_ns") - pl.col("begun"))
        .group_by("row", "stretch", maintain_order=True)
        .agg(*_OF_FLIGHTS, begun=pl.col("begun").first())
        .filter(pl.col("flight_segments").list.len() > 1)
        .unique("row", keep="first", maintain_order=True)
        .drop("stretch")
    )
    return (
        rows.drop(_OF_FLIGHTS)
        .join(left, on="row", maintain_order="left")
        .with_columns(start=pl.col("start") + pl.col("begun").cast(pl.Int64).cast(pl.Duration("ns")))
        .drop("row", "begun")
    )

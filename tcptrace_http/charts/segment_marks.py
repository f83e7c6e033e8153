"""Segments as marks of a time-sequence graph: single ones, or merged ones of an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcptrace_http.charts._theme import MARKS_MAX, seconds, span

if TYPE_CHECKING:
    import polars as pl

__all__ = ["data_segments", "distinguishable"]


def data_segments(segments: pl.DataFrame, origin: Any) -> pl.DataFrame:
    """Return one mark per data segment: its sequence range, and its kind."""
    import polars as pl

    kind = (
        pl.when("is_retransmission")
        .then(pl.lit("retransmission"))
        .when("is_out_of_order")
        .then(pl.lit("out of order"))
        .otherwise(pl.lit("data"))
    )
    return segments.select(
        "frame",
        seconds("time", origin).alias("time"),
        pl.col("seq").alias("low"),
        (pl.col("seq") + pl.col("payload_bytes").cast(pl.Int64)).alias("high"),
        kind.alias("kind"),
    )


def distinguishable(sent: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return as many marks as are distinguishable, with a note about them.

    Excess marks of a ``kind`` and an interval are merged from the minimum to the maximum sequence number.
    """
    import polars as pl

    if sent.height <= MARKS_MAX:
        return sent.with_columns(segments=pl.lit(1, pl.UInt32), last_frame=pl.col("frame")), ""
    width = span(sent["time"]) / (MARKS_MAX - 1)
    bins = (pl.col("time") // width).alias("bin")
    marks = (
        sent.group_by(bins, "kind")
        .agg(
            pl.col("time").min(),
            pl.col("low").min(),
            pl.col("high").max(),
            pl.col("frame").min(),
            pl.col("frame").max().alias("last_frame"),
            pl.len().alias("segments"),
        )
        .drop("bin")
        .sort("time", "kind")
    )
    note = f"{sent.height:,} segments and SACK blocks, those of a kind and {width * 1e3:.3g} ms as one mark"
    return marks, note

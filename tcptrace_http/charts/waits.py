"""Time of the transactions: a stacked bar each, by wait cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import GROUPS, WIDTH, group_of_cause, group_scale, milliseconds, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

#: Maximum number of readable bars; more transactions are merged by their duration.
_BARS_MAX: Final = 60
_BAR: Final = 16
_NAME: Final = 60


def draw(transactions: pl.DataFrame, waits: pl.DataFrame) -> alt.LayerChart:
    """Return one bar per transaction in order; above 60, bars of the mean of equally many similar ones.

    :raises NothingToDraw: no transactions exist, or none took time.
    """
    import altair as alt

    names = _names(transactions)
    spent = _spent(waits, names)
    if spent.is_empty():
        raise NothingToDraw("there are no transactions that took any time")
    counted = spent.select("flow", "transaction").unique().height
    shown, note = (spent, "") if counted <= _BARS_MAX else _together(spent, counted)
    timeless = f"{names.height - counted:,} more took no visible time" if names.height > counted else ""
    chart = (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            y=alt.Y(
                "name:N", sort=alt.EncodingSortField("order", op="min"), title=None, axis=alt.Axis(labelLimit=320)
            ),
            x=alt.X("length:Q", title="time (ms)"),
            color=alt.Color("group:N", scale=group_scale(shown["group"]), title="waiting for"),
            order=alt.Order("rank:Q"),
            tooltip=[
                "name",
                "cause",
                alt.Tooltip("length:Q", format=",.3f", title="ms"),
                "transactions:Q",
                alt.Tooltip("first_frame:Q", title="first frame"),
                alt.Tooltip("last_frame:Q", title="last frame"),
            ],
        )
        .properties(width=WIDTH - 160, height=min(counted, _BARS_MAX) * _BAR)
    )
    return titled(alt.layer(chart), "Wait causes of transactions", note, timeless)


def _names(transactions: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    target = pl.col("target").fill_null("?")
    return transactions.select(
        "flow",
        pl.col("index").alias("transaction"),
        pl.format("{}.{} {} {}", "flow", "index", pl.col("method").fill_null("?"), target)
        .str.slice(0, _NAME)
        .alias("name"),
        pl.int_range(pl.len()).alias("order"),
    )


def _spent(waits: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return one row per transaction and wait cause."""
    import polars as pl

    return (
        waits.with_columns(group_of_cause(), length=milliseconds(pl.col("end") - pl.col("start")))
        .group_by("flow", "transaction", "group", pl.col("cause").cast(pl.String), maintain_order=True)
        .agg(pl.col("length").sum(), pl.col("first_frame").min(), pl.col("last_frame").max())
        .join(names, on=["flow", "transaction"])
        .with_columns(
            rank=pl.col("group").replace_strict(GROUPS, range(len(GROUPS)), return_dtype=pl.Int64),
            transactions=pl.lit(1, pl.UInt32),
        )
    )


def _together(spent: pl.DataFrame, count: int) -> tuple[pl.DataFrame, str]:
    """Return bars of transactions with similar durations: the mean of each group, and the frames of its
    slowest.
    """
    import polars as pl

    key = ["flow", "transaction"]
    totals = spent.group_by(key).agg(
        pl.col("length").sum().alias("total"), pl.col("first_frame").min(), pl.col("last_frame").max()
    )
    ranked = totals.sort("total", *key, descending=[True, False, False]).with_columns(
        place=pl.int_range(1, pl.len() + 1), bar=pl.int_range(pl.len()) * _BARS_MAX // pl.len()
    )
    bars = ranked.group_by("bar").agg(
        pl.len().alias("transactions"),
        pl.format(
            "slowest {} to {}: {} to {} ms",
            pl.col("place").min(),
            pl.col("place").max(),
            pl.col("total").max().round(1),
            pl.col("total").min().round(1),
        ).alias("name"),
        pl.col("first_frame", "last_frame").first(),
    )
    shown = (
        spent.select(*key, "group", "rank", "cause", "length")
        .join(ranked.select(*key, "bar"), on=key)
        .group_by("bar", "group", "rank", "cause")
        .agg(pl.col("length").sum())
        .join(bars, on="bar")
        .with_columns(length=pl.col("length") / pl.col("transactions"), order=pl.col("bar"))
        .sort("bar", "rank", "cause")
    )
    note = f"{count:,} transactions, the slowest first: a bar is the mean of similar ones, with the frames"
    return shown, f"{note} of the slowest of them"

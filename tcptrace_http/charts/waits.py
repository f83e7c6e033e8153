"""Where the time of transactions went: a stacked bar for each, by what was waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import GROUPS, WIDTH, group_of_cause, group_scale, milliseconds, titled

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

#: Bars that can be read; more transactions are put together by how long they took.
_BARS_MAX: Final = 60
_BAR: Final = 16


def draw(transactions: pl.DataFrame, waits: pl.DataFrame) -> alt.LayerChart:
    """A bar a transaction, in their order; of more than 60, bars of the mean of as many alike.

    :raises ValueError: there are no transactions.
    """
    import altair as alt
    import polars as pl

    if transactions.is_empty():
        raise ValueError("there are no transactions")
    names = transactions.select(
        "flow",
        pl.col("index").alias("transaction"),
        pl.format("{}.{} {} {}", "flow", "index", pl.col("method").fill_null("?"), pl.col("target").fill_null("?"))
        .str.slice(0, 60)
        .alias("name"),
        pl.int_range(pl.len()).alias("order"),
    )
    spent = (
        waits.with_columns(group_of_cause(), length=milliseconds(pl.col("end") - pl.col("start")))
        .group_by("flow", "transaction", "group", pl.col("cause").cast(pl.String))
        .agg(pl.col("length").sum())
        .join(names, on=["flow", "transaction"])
    )
    spent = spent.with_columns(
        rank=pl.col("group").replace_strict(GROUPS, range(len(GROUPS)), return_dtype=pl.Int64)
    )
    shown, note = (spent, "") if names.height <= _BARS_MAX else _together(spent, names.height)
    bars = min(names.height, _BARS_MAX)
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
            tooltip=["name", "cause", alt.Tooltip("length:Q", format=",.3f", title="ms")],
        )
        .properties(width=WIDTH - 160, height=bars * _BAR)
    )
    return titled(alt.layer(chart), "What transactions waited for", note)


def _together(spent: pl.DataFrame, count: int) -> tuple[pl.DataFrame, str]:
    """Bars of transactions that took alike: the mean of each group."""
    import polars as pl

    totals = spent.group_by("flow", "transaction").agg(pl.col("length").sum().alias("total"))
    ranked = totals.sort("total", descending=True).with_columns(
        bar=(pl.int_range(pl.len()) * _BARS_MAX // pl.len()).cast(pl.Int64)
    )
    sizes = ranked.group_by("bar").agg(
        pl.len().alias("size"), pl.col("total").min(), pl.col("total").max().alias("most")
    )
    name = pl.format(
        "{} transactions of {} to {} ms", "size", pl.col("total").round(1), pl.col("most").round(1)
    ).alias("name")
    shown = (
        spent.select("flow", "transaction", "group", "rank", "cause", "length")
        .join(ranked, on=["flow", "transaction"])
        .group_by("bar", "group", "rank", "cause")
        .agg(pl.col("length").sum())
        .join(sizes, on="bar")
        .with_columns(name, length=pl.col("length") / pl.col("size"), order=pl.col("bar"))
    )
    return shown, f"{count:,} transactions, the slowest first: each bar is the mean of those that took alike"

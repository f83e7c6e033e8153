"""How long transactions waited, by cause: the share of them that waited at most so long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import HEIGHT, WIDTH, group_of_cause, group_scale, milliseconds, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

#: Points of one line: a percent each.
_POINTS: Final = 101


def draw(waits: pl.DataFrame) -> alt.LayerChart:
    """A line a group of causes: the quantiles of the time that transactions spent on it, where they spent any.

    A point is a transaction, by its number and frames; of more than 100 there is one for each percent.

    :raises NothingToDraw: there are no waits.
    """
    import altair as alt

    points = _points(waits)
    chart = (
        alt.Chart(points)
        .mark_line(strokeWidth=2, interpolate="step-after", point="transparent")
        .encode(
            x=alt.X("length:Q", title="time a transaction spent (ms)", scale=alt.Scale(type="symlog")),
            y=alt.Y(
                "share:Q", title="share of transactions that spent at most so long", axis=alt.Axis(format="%")
            ),
            color=alt.Color(
                "group:N",
                scale=group_scale(points["group"]),
                legend=alt.Legend(title="waiting for", symbolType="stroke"),
            ),
            order=alt.Order("share:Q"),
            tooltip=[
                "group",
                alt.Tooltip("length:Q", format=",.3f", title="ms"),
                alt.Tooltip("share:Q", format=".0%"),
                "transactions:Q",
                alt.Tooltip("name:N", title="transaction here"),
                alt.Tooltip("first_frame:Q", title="its first frame"),
                alt.Tooltip("last_frame:Q", title="its last frame"),
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return titled(
        alt.layer(chart), "How long transactions waited, by cause", "Only those that waited for it at all"
    )


def _points(waits: pl.DataFrame) -> pl.DataFrame:
    """Of each group the transactions in the order of what they spent on it, a hundred of them or fewer."""
    import polars as pl

    key = ["flow", "transaction"]
    spent = (
        waits.with_columns(group_of_cause(), length=milliseconds(pl.col("end") - pl.col("start")))
        .group_by(*key, "group")
        .agg(pl.col("length").sum(), pl.col("first_frame").min(), pl.col("last_frame").max())
        .filter(pl.col("length") > 0)
    )
    if spent.is_empty():
        raise NothingToDraw("there are no waits")
    count = pl.len().over("group")
    place = pl.int_range(1, pl.len() + 1).over("group")
    percent = (place * (_POINTS - 1)) // count
    points = (
        spent.sort("group", "length", *key)
        .with_columns(
            pl.format("{}.{}", *key).alias("name"), share=place / count, transactions=count, percent=percent
        )
        .unique(["group", "percent"], keep="last", maintain_order=True)
        .drop("percent", *key)
    )
    # Each line begins at the bottom: that of a single transaction would not be seen otherwise.
    return pl.concat([points.unique("group", maintain_order=True).with_columns(share=pl.lit(0.0)), points])

"""Wait times of transactions by cause: the share of transactions with at most this wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import HEIGHT, WIDTH, group_of_cause, group_scale, milliseconds, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

#: Points per line: one per percent.
_POINTS: Final = 101


def draw(waits: pl.DataFrame) -> alt.LayerChart:
    """Return one line per group of causes: the quantiles of the time of the transactions with such a wait.

    A point is a transaction, with its number and frames. If there are more than 100, each percent has one.

    :raises NothingToDraw: no waits exist.
    """
    import altair as alt

    points = _points(waits)
    chart = (
        alt.Chart(points)
        .mark_line(strokeWidth=2, interpolate="step-after", point="transparent")
        .encode(
            x=alt.X("length:Q", title="time a transaction spent (ms)", scale=alt.Scale(type="symlog")),
            y=alt.Y("share:Q", title="share of transactions with at most this time", axis=alt.Axis(format="%")),
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
    return titled(alt.layer(chart), "Wait times of transactions, by cause", "Only transactions with such a wait")


def _points(waits: pl.DataFrame) -> pl.DataFrame:
    """Return at most a hundred transactions of each group, sorted by their wait."""
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
    # Each line begins at the bottom: the line of a single transaction would otherwise be invisible.
    return pl.concat([points.unique("group", maintain_order=True).with_columns(share=pl.lit(0.0)), points])

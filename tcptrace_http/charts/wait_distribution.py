"""How long waits were, by cause: the share of transactions that waited at least so long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import HEIGHT, WIDTH, group_of_cause, group_scale, milliseconds, titled

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

#: Points of one line: a percent each.
_POINTS: Final = 101


def draw(waits: pl.DataFrame) -> alt.LayerChart:
    """A line a group of causes: the quantiles of the time that transactions spent on it, where they spent any.

    :raises ValueError: there are no waits.
    """
    import altair as alt
    import polars as pl

    if waits.is_empty():
        raise ValueError("there are no waits")
    spent = (
        waits.with_columns(group_of_cause(), length=milliseconds(pl.col("end") - pl.col("start")))
        .group_by("flow", "transaction", "group")
        .agg(pl.col("length").sum())
        .filter(pl.col("length") > 0)
    )
    lines = [
        pl.DataFrame(
            {
                "group": [group] * _POINTS,
                "share": [point / (_POINTS - 1) for point in range(_POINTS)],
                "length": [lengths.quantile(point / (_POINTS - 1), "linear") for point in range(_POINTS)],
                "transactions": [lengths.len()] * _POINTS,
            }
        )
        for (group,), part in spent.group_by("group", maintain_order=True)
        for lengths in [part["length"]]
    ]
    chart = (
        alt.Chart(pl.concat(lines))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("length:Q", title="time a transaction spent (ms)", scale=alt.Scale(type="symlog")),
            y=alt.Y("share:Q", title="share of transactions", axis=alt.Axis(format="%")),
            color=alt.Color("group:N", scale=group_scale(spent["group"]), title="waiting for"),
            tooltip=[
                "group",
                alt.Tooltip("length:Q", format=",.3f", title="ms"),
                alt.Tooltip("share:Q", format=".0%"),
                "transactions",
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return titled(
        alt.layer(chart), "How long transactions waited, by cause", "Only those that waited for it at all"
    )

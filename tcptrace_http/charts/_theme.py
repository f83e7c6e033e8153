"""Common parts of the charts: colours for every kind of colour vision, groups of causes, sizes, and data
reduction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = [
    "AMOUNT_COLOUR",
    "DIRECTION_COLOURS",
    "GROUPS",
    "GROUP_COLOURS",
    "HEIGHT",
    "MARKS_MAX",
    "WIDTH",
    "amount",
    "directed",
    "group_of_cause",
    "group_scale",
    "milliseconds",
    "seconds",
    "span",
    "titled",
]

WIDTH: Final = 760
HEIGHT: Final = 380
#: Maximum number of marks of one layer: more than screen columns, few enough for a fast browser. Excess data
#: is aggregated, and the subtitle says so.
MARKS_MAX: Final = 1500

#: Okabe and Ito, "Color Universal Design" (2008): distinct for every kind of colour vision and, with the
#: greys, in print.
GROUP_COLOURS: Final = {
    "stall": "#d55e00",
    "server": "#0072b2",
    "sending limited": "#56b4e9",
    "network": "#009e73",
    "setup": "#e69f00",
    "request": "#f0e442",
    "client": "#cc79a7",
    "unexplained": "#555555",
}
GROUPS: Final = tuple(GROUP_COLOURS)
DIRECTION_COLOURS: Final = {"server to client": "#0072b2", "client to server": "#e69f00"}
#: Colour of an amount behind its bar, readable on white and on dark pages.
AMOUNT_COLOUR: Final = "#808080"
#: Minimum milliseconds of an amount with one decimal; below it, microseconds are shown.
_LONG: Final = 100.0
_GROUP_OF: Final = {
    "stall": "stall",
    "server": "server",
    "send_limited": "sending limited",
    "network": "network",
    "setup": "setup",
    "request": "request",
    "client": "client",
    "unfinished": "stall",
    "unexplained": "unexplained",
    "unobserved": "unexplained",
}


def group_of_cause(column: str = "cause") -> pl.Expr:
    """Return the group of a cause: its first word, as in charts."""
    import polars as pl

    first = pl.col(column).cast(pl.String).str.split(".").list.first()
    return first.replace_strict(_GROUP_OF, default="unexplained").alias("group")


def directed(name: str) -> pl.Expr:
    """Return the column ``direction`` in words, as ``name``."""
    import polars as pl

    return pl.col("direction").cast(pl.String).str.replace_all("_", " ").alias(name)


def group_scale(groups: pl.Series) -> alt.Scale:
    """Return the colours of the present groups, equal in every chart."""
    import altair as alt

    there = [group for group in GROUPS if group in set(groups)]
    return alt.Scale(domain=there, range=[GROUP_COLOURS[group] for group in there])


def span(times: pl.Series) -> float:
    """Return the range of times in seconds, above zero."""
    return max(float(times.max()) - float(times.min()), 1e-6)  # type: ignore[arg-type]


def seconds(column: str, origin: Any) -> pl.Expr:
    """Return a time as seconds after ``origin``."""
    import polars as pl

    return (pl.col(column) - pl.lit(origin)).dt.total_nanoseconds() / 1e9


def milliseconds(expression: pl.Expr) -> pl.Expr:
    """Return a duration as milliseconds."""
    return expression.dt.total_nanoseconds() / 1e6


def amount(milliseconds: pl.Expr) -> pl.Expr:
    """Return milliseconds as a label."""
    import polars as pl

    is_long = milliseconds.abs() >= _LONG
    return pl.format("{} ms", pl.when(is_long).then(milliseconds.round(1)).otherwise(milliseconds.round(3)))


def titled(chart: alt.LayerChart | alt.FacetChart, title: str, *subtitle: str) -> alt.LayerChart:
    """Return the chart with a title, and with the notes that a reader needs below it."""
    import altair as alt

    lines = [line for line in subtitle if line]
    heading = alt.TitleParams(title, subtitle=lines, anchor="start", fontSize=14, subtitleFontSize=11)
    # The types of a layer allow facets, but no chart here has any.
    return cast("alt.LayerChart", chart.properties(title=heading))

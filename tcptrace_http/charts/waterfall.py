"""The waterfall of a retrieval: a row a transaction, coloured by what it waited for, the critical path marked.

As Kruse and Allman draw pages over their connections (2001, Figures 6 and 7), and browsers do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.charts._theme import WIDTH, group_of_cause, group_scale, seconds, titled

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_ROW: Final = 18
#: Rows that are drawn one by one: a page of more is drawn to the same height with thinner rows.
_ROWS_TALL: Final = 120
_NAME: Final = 60


def draw(
    retrieval_transactions: pl.DataFrame,
    transactions: pl.DataFrame,
    waits: pl.DataFrame,
    critical_path: pl.DataFrame,
    *,
    retrieval: int = 0,
) -> alt.LayerChart:
    """The waterfall of one retrieval.

    :raises ValueError: there is no such retrieval.
    """
    import altair as alt

    members = retrieval_transactions.filter(retrieval=retrieval).select("flow", "transaction")
    if members.is_empty():
        raise ValueError(f"there is no retrieval {retrieval}")
    rows = _rows(members, transactions)
    spans = waits.join(rows, on=["flow", "transaction"])
    origin = min(filter(None, (spans["start"].min(), rows["request_time"].min())))  # type: ignore[type-var]
    shown = _spans(spans, origin)
    path = _path(critical_path.filter(retrieval=retrieval), rows, origin)
    step = _ROW if rows.height <= _ROWS_TALL else max(2, _ROWS_TALL * _ROW // rows.height)
    y = alt.Y("name:N", sort=rows["name"].to_list(), title=None, axis=alt.Axis(labelLimit=320, labelOverlap=True))
    bars = (
        alt.Chart(shown)
        .mark_bar(height=alt.RelativeBandSize(0.7))
        .encode(
            x=alt.X("start:Q", title="time (s)"),
            x2="end:Q",
            y=y,
            color=alt.Color("group:N", scale=group_scale(shown["group"]), title="waiting for"),
            tooltip=[
                "name",
                "cause",
                alt.Tooltip("milliseconds:Q", format=",.3f", title="ms"),
                "first_frame",
                "last_frame",
            ],
        )
    )
    marked = (
        alt.Chart(path)
        .mark_rule(strokeWidth=3, color="#000000")
        .encode(
            x="start:Q",
            x2="end:Q",
            y=y,
            tooltip=["name", "cause", alt.Tooltip("milliseconds:Q", format=",.3f", title="ms")],
        )
    )
    chart = alt.layer(bars, marked).properties(width=WIDTH - 160, height=rows.height * step)
    note = "The black line is the critical path: what the page's end waited for"
    return titled(chart, f"Waterfall of retrieval {retrieval}: {rows.height} transactions", note)


def _rows(members: pl.DataFrame, transactions: pl.DataFrame) -> pl.DataFrame:
    """The transactions in the order in which they were asked for, each with a name of its own."""
    import polars as pl

    target = pl.col("target").fill_null("?").str.slice(0, _NAME)
    return (
        members.join(transactions.rename({"index": "transaction"}), on=["flow", "transaction"])
        .sort("request_time", "flow", "transaction")
        .select(
            "flow",
            "transaction",
            "request_time",
            pl.format("{}.{} {}", "flow", "transaction", target).alias("name"),
        )
    )


def _spans(waits: pl.DataFrame, origin: Any) -> pl.DataFrame:
    import polars as pl

    return waits.select(
        "name",
        seconds("start", origin).alias("start"),
        seconds("end", origin).alias("end"),
        pl.col("cause").cast(pl.String),
        group_of_cause(),
        "first_frame",
        "last_frame",
    ).with_columns(milliseconds=(pl.col("end") - pl.col("start")) * 1e3)


def _path(steps: pl.DataFrame, rows: pl.DataFrame, origin: Any) -> pl.DataFrame:
    import polars as pl

    return (
        steps.join(rows, on=["flow", "transaction"])
        .select(
            "name",
            seconds("start", origin).alias("start"),
            seconds("end", origin).alias("end"),
            pl.col("cause").cast(pl.String),
        )
        .with_columns(milliseconds=(pl.col("end") - pl.col("start")) * 1e3)
    )

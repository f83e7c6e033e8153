"""Waterfall of a retrieval: one row per transaction, coloured by wait cause, with the critical path.

The style follows browsers, and the pages of Kruse and Allman (2001, Figures 6 and 7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.charts._theme import MARKS_MAX, WIDTH, group_of_cause, group_scale, seconds, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_ROW: Final = 18
#: Maximum number of readable rows. In a larger page each row is the mean of equally many consecutive
#: transactions.
_ROWS_MAX: Final = 150
_NAME: Final = 60


def draw(
    retrieval_transactions: pl.DataFrame,
    transactions: pl.DataFrame,
    waits: pl.DataFrame,
    critical_path: pl.DataFrame,
    *,
    retrieval: int = 0,
) -> alt.LayerChart:
    """Return the waterfall of one retrieval.

    :raises NothingToDraw: the retrieval is unknown, or took no time.
    """
    import altair as alt

    members = retrieval_transactions.filter(retrieval=retrieval).select("flow", "transaction")
    if members.is_empty():
        raise NothingToDraw(f"there is no retrieval {retrieval}")
    rows = _rows(members, transactions)
    spans = waits.join(rows, on=["flow", "transaction"])
    if spans.is_empty():
        raise NothingToDraw(f"nothing of retrieval {retrieval} took any time")
    origin = spans["start"].min()
    shown = _spans(spans, origin)
    notes = []
    if rows.height > _ROWS_MAX:
        shown = _means(shown)
        notes.append(_note(rows.height))
    elif shown.height > MARKS_MAX:
        notes.append(f"{shown.height:,} waits: those of a transaction with the same cause are one bar")
        shown = _means(shown)
    path = _path(critical_path.filter(retrieval=retrieval), rows, origin)
    if path.height > MARKS_MAX:
        notes.append(f"of {path.height:,} steps of the critical path the {MARKS_MAX:,} longest are shown")
        path = path.top_k(MARKS_MAX, by="milliseconds").sort("start")
    names = rows["name"].unique(maintain_order=True).to_list()
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=320))
    chart = alt.layer(_bars(shown, y), *_marked(path, y)).properties(width=WIDTH - 160, height=len(names) * _ROW)
    about = "The black line is the critical path, which bounds the page's end"
    return titled(chart, f"Waterfall of retrieval {retrieval}: {rows.height:,} transactions", about, *notes)


def _note(count: int) -> str:
    return f"{count:,} transactions: a row is the mean of several consecutive ones"


def _bars(shown: pl.DataFrame, y: alt.Y) -> alt.Chart:
    import altair as alt

    drawn: alt.Chart = (
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
                "transactions:Q",
                alt.Tooltip("first_frame:Q", title="first frame"),
                alt.Tooltip("last_frame:Q", title="last frame"),
                *_behind(shown),
            ],
        )
    )
    return drawn


def _behind(shown: pl.DataFrame) -> list[alt.Tooltip]:
    """Return the HTTP/2 stream whose bytes came first."""
    import altair as alt

    is_known = "behind_stream" in shown.columns and bool(shown["behind_stream"].count())
    return [alt.Tooltip("behind_stream:Q", title="behind stream")] if is_known else []


def _marked(path: pl.DataFrame, y: alt.Y) -> list[alt.Chart]:
    """Return the critical path: black with a white edge, visible on every bar and on dark pages."""
    import altair as alt

    line = alt.Chart(path).encode(
        x=alt.X("start:Q", title="time (s)"),
        x2="end:Q",
        y=y,
        tooltip=["name", "cause", alt.Tooltip("milliseconds:Q", format=",.3f", title="ms"), "steps:Q"],
    )
    return [line.mark_rule(strokeWidth=5, color="#ffffff"), line.mark_rule(strokeWidth=2.5, color="#000000")]


def _rows(members: pl.DataFrame, transactions: pl.DataFrame) -> pl.DataFrame:
    """Return the transactions in request order, each with the name of its row."""
    import polars as pl

    rows = (
        members.join(transactions.rename({"index": "transaction"}), on=["flow", "transaction"])
        .sort("request_time", "flow", "transaction")
        .with_columns(place=pl.int_range(pl.len()))
    )
    if rows.height <= _ROWS_MAX:
        stream = pl.when(pl.col("protocol") == "h2").then(pl.format(" stream {}", "stream")).fill_null("")
        target = pl.col("target").fill_null("?").str.slice(0, _NAME)
        name = pl.format("{}.{}{} {}", "flow", "transaction", stream, target)
    else:
        place = pl.col("place") + 1
        row = pl.col("place") * _ROWS_MAX // pl.len()
        name = pl.format("{} to {}", place.min().over(row), place.max().over(row))
    return rows.select("flow", "transaction", name.alias("name"))


def _spans(waits: pl.DataFrame, origin: Any) -> pl.DataFrame:
    import polars as pl

    return waits.select(
        "flow",
        "transaction",
        "name",
        seconds("start", origin).alias("start"),
        seconds("end", origin).alias("end"),
        pl.col("cause").cast(pl.String),
        group_of_cause(),
        "first_frame",
        "last_frame",
        "behind_stream",
        transactions=pl.lit(1, pl.UInt32),
    ).with_columns(milliseconds=(pl.col("end") - pl.col("start")) * 1e3)


def _means(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the spans of rows of several transactions: the mean time of each cause from the mean start.

    Causes are in the order of their mean starts.
    """
    import polars as pl

    key = ["flow", "transaction"]
    begun = spans.group_by("name", *key).agg(pl.col("start").min())
    rows = begun.group_by("name").agg(pl.col("start").mean().alias("begun"), pl.len().alias("transactions"))
    length = pl.col("milliseconds") / 1e3
    of_causes = (
        spans.drop("transactions")
        .group_by("name", "cause", "group", maintain_order=True)
        .agg(
            pl.col("start").mean().alias("order"),
            length.sum().alias("length"),
            pl.col("first_frame").min(),
            pl.col("last_frame").max(),
        )
        .join(rows, on="name", maintain_order="left")
        .with_columns(length=pl.col("length") / pl.col("transactions"))
        .sort("name", "order", "cause")
    )
    end = pl.col("begun") + pl.col("length").cum_sum().over("name")
    return of_causes.with_columns(start=end - pl.col("length"), end=end, milliseconds=pl.col("length") * 1e3).drop(
        "begun", "order", "length"
    )


def _path(steps: pl.DataFrame, rows: pl.DataFrame, origin: Any) -> pl.DataFrame:
    """Return the critical path: consecutive steps in one row form one line."""
    import polars as pl

    causes = pl.col("cause").cast(pl.String).unique(maintain_order=True).str.join(", ")
    return (
        steps.join(rows, on=["flow", "transaction"])
        .sort("start")
        .group_by("name", pl.col("name").rle_id().alias("run"), maintain_order=True)
        .agg(
            seconds("start", origin).min().alias("start"),
            seconds("end", origin).max().alias("end"),
            causes,
            pl.len().alias("steps"),
        )
        .drop("run")
        .with_columns(milliseconds=(pl.col("end") - pl.col("start")) * 1e3)
    )

"""Transactions of a retrieval on both sides: one row each, the left side's time above the right side's.

Both begin with their page, so later requests are further to the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import (
    AMOUNT_COLOUR,
    MARKS_MAX,
    WIDTH,
    amount,
    group_of_cause,
    group_scale,
    titled,
)
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_ROW: Final = 34
#: Maximum number of readable rows; beyond it, the largest differences are drawn.
_ROWS_MAX: Final = 40
_NAME: Final = 40
#: Room behind the longest bar for its label, as a factor.
_ROOM: Final = 1.25
_SIDES: Final = ("left", "right")


def draw(transactions: pl.DataFrame, left_waits: pl.DataFrame, right_waits: pl.DataFrame) -> alt.LayerChart:
    """Return the rows of ``transactions`` (pairs of one retrieval, or one-sided ones), by wait cause.

    :raises NothingToDraw: no transactions exist, or they took no time.
    """
    import altair as alt
    import polars as pl

    if transactions.is_empty():
        raise NothingToDraw("no retrieval of both sides has transactions")
    size = pl.col("difference").abs()
    shown = transactions.sort(size, descending=True, maintain_order=True).head(_ROWS_MAX)
    named = shown.select("pair", *_keys(), _name().alias("name"))
    sides = zip(_SIDES, (left_waits, right_waits), strict=True)
    spans = pl.concat([_spans(side, transactions, waits, named) for side, waits in sides])
    if spans.is_empty():
        raise NothingToDraw("the transactions of both sides took no time")
    several = ""
    if spans.height > MARKS_MAX:
        several = f"{spans.height:,} waits: those of a transaction with the same cause are one bar"
        spans = _by_cause(spans)
    order = spans.group_by("name").agg(pl.col("start").min()).sort("start", "name")["name"].to_list()
    ends = (
        spans.group_by("name", "side").agg(pl.col("end").max(), pl.col("milliseconds").sum()).sort("name", "side")
    )
    labels = ends.with_columns(label=pl.format("{} {}", "side", amount(pl.col("milliseconds"))))
    y = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=320))
    offset = alt.YOffset("side:N", sort=list(_SIDES))
    domain = [0, float(spans["end"].max()) * _ROOM]  # type: ignore[arg-type]
    x = alt.X("start:Q", title="time (ms)", scale=alt.Scale(domain=domain, nice=False))
    bars = (
        alt.Chart(spans)
        .mark_bar()
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            yOffset=offset,
            color=alt.Color("group:N", scale=group_scale(spans["group"]), title="waiting for"),
            tooltip=[
                "name",
                "side",
                "cause",
                alt.Tooltip("milliseconds:Q", format=",.3f", title="ms"),
                alt.Tooltip("first_frame:Q", title="first frame"),
                alt.Tooltip("last_frame:Q", title="last frame"),
            ],
        )
    )
    text = alt.Chart(labels).mark_text(align="left", dx=4, fontSize=10, color=AMOUNT_COLOUR)
    told = text.encode(x=alt.X("end:Q", title="time (ms)"), y=y, yOffset=offset, text="label:N")
    chart = alt.layer(bars, told).properties(width=WIDTH - 160, height=_ROW * len(order))
    most = (
        f"The {_ROWS_MAX} of {transactions.height:,} that differ most" if transactions.height > _ROWS_MAX else ""
    )
    return titled(chart, "Transactions side by side", "Upper bar: left side; lower bar: right side", most, several)


def _keys() -> list[str]:
    return [f"{side}_{name}" for side in _SIDES for name in ("flow", "transaction")]


def _name() -> pl.Expr:
    """Return both targets if they differ, or the side of a one-sided one; the number makes the name unique."""
    import polars as pl

    left, right = (pl.col(f"{side}_target").str.slice(0, _NAME) for side in _SIDES)
    return (
        pl.when(pl.col("how").is_in(["same", "unnamed"]))
        .then(pl.format("{} {}", "pair", pl.coalesce(left, right, pl.lit("?"))))
        .when(how="renamed")
        .then(pl.format("{} {} = {}", "pair", left.fill_null("?"), right.fill_null("?")))
        .when(how="only_left")
        .then(pl.format("{} {} (only left)", "pair", left.fill_null("?")))
        .otherwise(pl.format("{} {} (only right)", "pair", right.fill_null("?")))
    )


def _spans(side: str, transactions: pl.DataFrame, waits: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """Return the waits of one side's transactions, in milliseconds after the start of its page."""
    import polars as pl

    key = {f"{side}_flow": "flow", f"{side}_transaction": "transaction"}
    every = transactions.select(key.keys()).rename(key).drop_nulls()
    times = waits.with_columns(pl.col("start", "end").to_physical())
    origin = times.join(every, on=list(key.values()), how="semi")["start"].min()
    rows = named.select("pair", "name", *key).rename(key).drop_nulls()
    start, end = ((pl.col(name) - pl.lit(origin, pl.Int64)) / 1e6 for name in ("start", "end"))
    return times.join(rows, on=list(key.values())).select(
        "pair",
        "name",
        start.alias("start"),
        end.alias("end"),
        pl.col("cause").cast(pl.String),
        group_of_cause(),
        pl.col("first_frame", "last_frame").cast(pl.UInt64),
        side=pl.lit(side),
        milliseconds=(pl.col("end") - pl.col("start")) / 1e6,
    )


def _by_cause(spans: pl.DataFrame) -> pl.DataFrame:
    """Return one bar per cause of each transaction, in the order of their starts."""
    import polars as pl

    key = ["pair", "name", "side"]
    merged = spans.group_by(*key, "cause", "group", maintain_order=True).agg(
        pl.col("start").min(),
        pl.col("milliseconds").sum(),
        pl.col("first_frame").min(),
        pl.col("last_frame").max(),
    )
    end = pl.col("start").min().over(key) + pl.col("milliseconds").cum_sum().over(key)
    return merged.sort(*key, "start", "cause").with_columns(start=end - pl.col("milliseconds"), end=end)

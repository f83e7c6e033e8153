"""Difference of two sides as a waterfall: from the left side's time, cause by cause, to the right side's time.

Each bar begins exactly at the end of the previous one: the last cause ends at the right side's time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import AMOUNT_COLOUR, GROUP_COLOURS, WIDTH, amount, group_of_cause, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_ROW: Final = 30
#: Minimum share of the largest difference for a separate bar; smaller causes would be invisible.
_SHARE_MIN: Final = 0.005
#: Maximum share of the longer side that the cause bars cover for an axis that begins shortly before them.
_NEAR: Final = 0.2
#: Room behind the longest bar for its label, as a factor.
_ROOM: Final = 1.2
_ELAPSED: Final = "elapsed"
#: Words for entries outside the causes.
_WORDS: Final = {"unaligned": "transactions of one side"}
_COLOURS: Final = {_ELAPSED: "#999999"} | GROUP_COLOURS


def draw(causes: pl.DataFrame, *, left: str, right: str) -> alt.LayerChart:
    """Return the waterfall of ``causes`` (``cause``, ``left``, ``right``, ``difference``), with these side
    names.

    :raises NothingToDraw: neither side took time.
    """
    import altair as alt
    import polars as pl

    rows = _rows(causes.with_columns(pl.col("left", "right", "difference").to_physical()), left, right)
    order = rows["name"].to_list()
    y = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    begin, end = _extent(rows)
    x = alt.X("low:Q", title="time (ms)", scale=alt.Scale(domain=[begin, end], nice=False, zero=False))
    there = [name for name in _COLOURS if name in set(rows["group"])]
    colours = alt.Scale(domain=there, range=[_COLOURS[name] for name in there])
    bars = (
        alt.Chart(rows)
        .mark_bar(height=alt.RelativeBandSize(0.7), clip=True)
        .encode(
            x=x,
            x2="high:Q",
            y=y,
            color=alt.Color("group:N", scale=colours, title="time of"),
            tooltip=[
                "name",
                alt.Tooltip("left_ms:Q", format=",.3f", title="left (ms)"),
                alt.Tooltip("right_ms:Q", format=",.3f", title="right (ms)"),
                alt.Tooltip("change:Q", format="+,.3f", title="from left to right (ms)"),
            ],
        )
    )
    joints = alt.Chart(rows.drop_nulls("next")).mark_rule(color=AMOUNT_COLOUR, strokeDash=[2, 2])
    labels = alt.Chart(rows).mark_text(align="left", dx=4, fontSize=11, fontWeight="bold", color=AMOUNT_COLOUR)
    chart = alt.layer(
        joints.encode(x=alt.X("joint:Q", title="time (ms)"), y=y, y2="next:N"),
        bars,
        labels.encode(x=alt.X("high:Q", title="time (ms)"), y=y, text="label:N"),
    ).properties(width=WIDTH - 160, height=_ROW * len(order))
    about = "Each bar begins at the end of the bar above; a bar to the left is time that only the left side spends"
    cut = "The axis does not begin at zero" if begin else ""
    return titled(chart, "From the left side to the right one", about, cut)


def _extent(rows: pl.DataFrame) -> tuple[float, float]:
    """Return start and end of the axis: zero, unless the causes would be invisible."""
    longest = float(rows["high"].max())  # type: ignore[arg-type]
    lowest = float(rows.slice(1, rows.height - 2)["low"].min())  # type: ignore[arg-type]
    reach = longest - lowest
    begin = max(0.0, lowest - reach / 2) if 0 < reach < _NEAR * longest else 0.0
    return begin, begin + (longest - begin) * _ROOM


def _rows(times: pl.DataFrame, left: str, right: str) -> pl.DataFrame:
    """Return one row per bar, from top to bottom."""
    import polars as pl

    totals = int(times["left"].sum()), int(times["right"].sum())
    if not any(totals):
        raise NothingToDraw("no retrieval of both sides took any time")
    greatest = max(abs(each) for each in times["difference"].to_list())
    steps = _steps(times, _SHARE_MIN * greatest)
    change = pl.col("right") - pl.col("left")
    end = change.cum_sum() + totals[0]
    moved = steps.with_columns(change=change, start=end - change, end=end)
    whole = pl.DataFrame(
        {
            "name": [f"left: {left}", f"right: {right}"],
            "group": [_ELAPSED] * 2,
            "left": totals,
            "right": totals,
            "change": [0, 0],
            "start": [0, 0],
            "end": totals,
        }
    )
    rows = pl.concat([whole.head(1), moved.select(whole.columns), whole.tail(1)])
    told = _milliseconds(pl.when(pl.col("group") == _ELAPSED).then("end").otherwise("change"))
    sign = pl.when(pl.col("change") > 0).then(pl.lit("+")).otherwise(pl.lit(""))
    return rows.select(
        "name",
        "group",
        low=_milliseconds(pl.min_horizontal("start", "end")),
        high=_milliseconds(pl.max_horizontal("start", "end")),
        joint=_milliseconds(pl.col("end")),
        next=pl.col("name").shift(-1),
        left_ms=_milliseconds(pl.col("left")),
        right_ms=_milliseconds(pl.col("right")),
        change=_milliseconds(pl.col("change")),
        label=pl.concat_str(sign, amount(told)),
    )


def _milliseconds(nanoseconds: pl.Expr) -> pl.Expr:
    """Return exact milliseconds, to the nanosecond, as a decimal."""
    return (nanoseconds / 1e6).round(6)


def _steps(times: pl.DataFrame, least: float) -> pl.DataFrame:
    """Return the visible causes, largest difference first, and the merged rest."""
    import polars as pl

    size = pl.col("difference").abs()
    named = times.sort(size, "cause", descending=[True, False]).select(
        group_of_cause(), "left", "right", "difference", name=pl.col("cause").cast(pl.String).replace(_WORDS)
    )
    great, small = named.filter(size > least), named.filter(size <= least)
    if small.is_empty():
        return great
    told = f"{small.height} {'causes' if great.is_empty() else 'more'}, nearly alike"
    rest = small.select(
        pl.lit("unexplained").alias("group"), pl.col("left", "right", "difference").sum(), name=pl.lit(told)
    )
    return pl.concat([great, rest])

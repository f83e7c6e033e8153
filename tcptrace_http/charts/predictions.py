"""Predicted times of a retrieval: one bar per fix or strategy, with its range, and the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import WIDTH, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_COLOURS: Final = {"fix": "#0072b2", "strategy": "#e69f00"}
_BASELINE: Final = "#d55e00"
_ROW: Final = 16
_LABELS: Final = 220


def draw(rows: pl.DataFrame, *, baseline_ns: int) -> alt.LayerChart:
    """Return one bar per row: its time, with the range as a line on it; the baseline crosses all bars.

    :raises NothingToDraw: no rows exist.
    """
    import altair as alt
    import polars as pl

    if rows.is_empty():
        raise NothingToDraw("there is no prediction")
    milliseconds = [
        (pl.col(name).dt.total_nanoseconds() / 1e6).alias(name) for name in ("elapsed", "low", "high", "saved")
    ]
    # A fix and a strategy may have the same name.
    data = rows.select("kind", "name", *milliseconds).with_columns(label=pl.format("{} ({})", "name", "kind"))
    order = data["label"].to_list()
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=_LABELS))
    bars = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("elapsed:Q", title="time of the retrievals (ms)"),
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())), title=None
            ),
            tooltip=["name", "kind", *(alt.Tooltip(f"{name}:Q", format=",.3f") for name in ("elapsed", "saved"))],
        )
    )
    ranges = alt.Chart(data).mark_rule(strokeWidth=2).encode(y=y, x="low:Q", x2="high:Q")
    line = (
        alt.Chart(pl.DataFrame({"baseline": [baseline_ns / 1e6]}))
        .mark_rule(color=_BASELINE, strokeDash=[4, 2])
        .encode(x="baseline:Q")
    )
    chart = alt.layer(bars, ranges, line).properties(width=WIDTH - _LABELS, height=_ROW * len(order))
    return titled(chart, "Predicted time of the retrieval")

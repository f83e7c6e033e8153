"""Charts shared by the experiments of several papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

__all__ = ["bars"]


def bars(rows: Sequence[Mapping[str, Any]], *, category: str, value: str, group: str | None = None) -> alt.Chart:
    """Return a horizontal bar chart, one bar per row in order, grouped by category.

    The axis title is the value's name. Labels are at the left, where long labels fit.
    """
    import altair as alt

    def names(column: str) -> list[Any]:
        return list(dict.fromkeys(row[column] for row in rows))

    def nominal(kind: type[Any], column: str, **more: Any) -> Any:
        return kind(field=column, type="nominal", sort=names(column), **more)

    drawn: alt.Chart = alt.Chart(alt.InlineData(values=list(rows))).mark_bar()
    drawn = drawn.encode(
        x=alt.X(field=value, type="quantitative", title=value), y=nominal(alt.Y, category, title=None)
    )
    if group is None:
        return drawn
    return drawn.encode(yOffset=nominal(alt.YOffset, group), color=nominal(alt.Color, group, title=None))

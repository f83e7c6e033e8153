"""Comparison of captures: the mean waits of their transactions, cause by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import GROUPS, WIDTH, group_of_cause, milliseconds, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt
    import polars as pl

__all__ = ["draw"]

_COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
_ROW: Final = 46


def draw(waits: Mapping[str, pl.DataFrame]) -> alt.LayerChart:
    """Return a pair of bars per group of causes: mean milliseconds per transaction.

    ``waits`` are the tables of that name, by their labels in the chart.

    :raises NothingToDraw: no waits exist, or there is one table, or more than four.
    """
    import altair as alt
    import polars as pl

    if not 1 < len(waits) <= len(_COLOURS) or all(table.is_empty() for table in waits.values()):
        raise NothingToDraw("a comparison needs two to four captures with transactions")
    means = pl.concat([_means(table).with_columns(capture=pl.lit(name)) for name, table in waits.items()])
    order = [group for group in GROUPS if group in set(means["group"])]
    chart = (
        alt.Chart(means)
        .mark_bar()
        .encode(
            y=alt.Y("group:N", sort=order, title=None),
            yOffset=alt.YOffset("capture:N", sort=list(waits)),
            x=alt.X("mean:Q", title="mean time in a transaction (ms)"),
            color=alt.Color(
                "capture:N", scale=alt.Scale(domain=list(waits), range=list(_COLOURS[: len(waits)])), title=None
            ),
            tooltip=["capture", "group", alt.Tooltip("mean:Q", format=",.3f", title="ms"), "transactions:Q"],
        )
        .properties(width=WIDTH - 120, height=_ROW * len(order))
    )
    return titled(alt.layer(chart), "Wait causes of transactions")


def _means(waits: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    count = waits.select("flow", "transaction").unique().height
    length = milliseconds(pl.col("end") - pl.col("start"))
    return (
        waits.with_columns(group_of_cause(), length=length)
        .group_by("group")
        .agg(mean=pl.col("length").sum() / max(1, count))
        .with_columns(transactions=pl.lit(count))
    )

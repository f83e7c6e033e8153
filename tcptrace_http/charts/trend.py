"""Findings per 1,000 transactions over time, with the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.charts._theme import HEIGHT, WIDTH, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    import polars as pl

__all__ = ["COLOURS", "draw"]

#: Colours of Okabe and Ito, without those that are invisible as thin lines.
COLOURS: Final = ("#d55e00", "#0072b2", "#009e73", "#e69f00", "#cc79a7", "#808080")


def draw(
    points: pl.DataFrame, changes: Sequence[dict[str, Any]], *, every: str, left_out: int = 0
) -> alt.LayerChart:
    """Return one line per detector and host, with a rule of its colour at a change.

    ``points`` has ``time``, ``detector``, ``host``, ``findings``, ``transactions`` and ``lost_ns``; each of
    the ``changes`` has ``time``, ``detector``, ``host`` and ``words``.

    :raises NothingToDraw: no findings exist.
    """
    import altair as alt
    import polars as pl

    if points.is_empty():
        raise NothingToDraw("there are no findings")
    line = pl.format("{} at {}", "detector", "host").alias("line")
    moment = pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = points.select(
        moment,
        "detector",
        "host",
        "findings",
        "transactions",
        line,
        share=1000 * pl.col("findings") / pl.col("transactions"),
        lost=pl.col("lost_ns") / 1e6,
    )
    names = rows["line"].unique(maintain_order=True).to_list()
    colour = alt.Color(
        "line:N",
        scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])),
        legend=alt.Legend(title="finding", orient="bottom", columns=2, labelLimit=360, symbolType="stroke"),
    )
    time = alt.X("time:T", title=f"{every} (UTC)", scale=alt.Scale(type="utc", padding=8))
    lines = (
        alt.Chart(rows)
        .mark_line(strokeWidth=2, point=True)
        .encode(
            x=time,
            y=alt.Y("share:Q", title="findings per 1,000 transactions"),
            color=colour,
            tooltip=[
                "line:N",
                alt.Tooltip("time:T", title=every, format="%Y-%m-%d %H:%M"),
                alt.Tooltip("findings:Q", format=","),
                alt.Tooltip("transactions:Q", format=","),
                alt.Tooltip("lost:Q", format=",.1f", title="ms lost"),
            ],
        )
    )
    layers: list[alt.Chart] = [lines]
    if changes:
        rules = pl.DataFrame(changes).select(
            pl.col("time").cast(pl.Datetime("ms")).dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "detector",
            "host",
            "words",
            line,
        )
        layers.append(
            alt.Chart(rules)
            .mark_rule(strokeDash=[6, 3], strokeWidth=2)
            .encode(x=time, color=colour, tooltip=["line:N", "words:N"])
        )
    more = f"{left_out:,} further ones lost less" if left_out else ""
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return titled(chart, "Findings over time", f"Dashed: the {every} when it changed" if changes else "", more)

"""Round trips of a flow over time: the time from each segment to its ACK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.charts._theme import (
    DIRECTION_COLOURS,
    HEIGHT,
    MARKS_MAX,
    WIDTH,
    directed,
    seconds,
    span,
    titled,
)
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]


def draw(segments: pl.DataFrame, *, flow: int) -> alt.LayerChart:
    """Return one point per acknowledged segment; if there are many, one bar per interval from minimum to
    maximum.

    Near the client, the times of client segments are round trips, and the times of server segments are its
    delayed ACKs.

    :raises NothingToDraw: no segment of the flow was acknowledged.
    """
    import altair as alt

    samples, note = _binned(_samples(segments, flow))
    base = alt.Chart(samples).encode(
        x=alt.X("time:Q", title="time (s)"),
        color=alt.Color(
            "of:N",
            scale=alt.Scale(domain=list(DIRECTION_COLOURS), range=list(DIRECTION_COLOURS.values())),
            title="segments",
        ),
        tooltip=[
            alt.Tooltip("time:Q", format=".6f", title="time (s)"),
            alt.Tooltip("least:Q", format=",.3f", title="least (ms)"),
            alt.Tooltip("greatest:Q", format=",.3f", title="greatest (ms)"),
            alt.Tooltip("frame:Q", title="greatest: frame"),
            alt.Tooltip("acked_by_frame:Q", title="greatest: ACK's frame"),
            "segments:Q",
        ],
    )
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(
        y=alt.Y("least:Q", title="until acknowledged (ms)"), y2="greatest:Q"
    )
    points = base.mark_circle(size=18, opacity=0.7).encode(y="greatest:Q")
    chart = alt.layer(bars, points).properties(width=WIDTH, height=HEIGHT)
    return titled(chart, f"Time until segments of flow {flow} were acknowledged", note)


def _samples(segments: pl.DataFrame, flow: int) -> pl.DataFrame:
    import polars as pl

    own = segments.filter(flow=flow)
    acknowledged = own.filter(pl.col("rtt").is_not_null())
    if acknowledged.is_empty():
        raise NothingToDraw(f"flow {flow} has no segments that were acknowledged")
    return acknowledged.select(
        "frame",
        "acked_by_frame",
        seconds("time", own["time"].min()).alias("time"),
        (pl.col("rtt").dt.total_nanoseconds() / 1e6).alias("rtt"),
        directed("of"),
    )


def _binned(samples: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    import polars as pl

    if samples.height <= MARKS_MAX:
        return samples.with_columns(least="rtt", greatest="rtt", segments=pl.lit(1)).drop("rtt"), ""
    width = span(samples["time"]) / (MARKS_MAX // len(DIRECTION_COLOURS) - 1)
    worst = pl.col("rtt").arg_max()
    shown = (
        samples.group_by((pl.col("time") // width).alias("bin"), "of", maintain_order=True)
        .agg(
            pl.col("time").min(),
            pl.col("rtt").min().alias("least"),
            pl.col("rtt").max().alias("greatest"),
            pl.col("frame", "acked_by_frame").get(worst),
            pl.len().alias("segments"),
        )
        .drop("bin")
    )
    return shown, f"{samples.height:,} segments: from the minimum to the maximum of each {width * 1e3:.3g} ms"

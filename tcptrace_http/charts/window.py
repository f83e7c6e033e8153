"""Bytes in flight of a flow over time, and the receive window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.charts._theme import HEIGHT, MARKS_MAX, WIDTH, seconds, span, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_COLOURS: Final = {"in flight": "#0072b2", "receive window": "#999999"}


def draw(segments: pl.DataFrame, *, flow: int, direction: str = "server_to_client") -> alt.LayerChart:
    """Return the bytes in flight at each segment, and the offered window, in one direction of a flow.

    If an interval has too many segments, its maximum flight and its minimum window are drawn.

    :raises NothingToDraw: the flow has no segments, or they show neither value.
    """
    import altair as alt
    import polars as pl

    own = segments.filter(flow=flow)
    if own.is_empty():
        raise NothingToDraw(f"flow {flow} has no segments")
    origin = own["time"].min()
    is_sent = pl.col("direction").cast(pl.String) == direction
    flight = _series(
        own.filter(is_sent, pl.col("flight_bytes").is_not_null()), "flight_bytes", origin, "in flight"
    )
    window = _series(own.filter(~is_sent), "window_bytes", origin, "receive window")
    both = pl.concat([flight, window])
    if both.is_empty():
        raise NothingToDraw(f"of flow {flow} neither bytes in flight nor a window are known in that direction")
    chart = (
        alt.Chart(both)
        .mark_line(interpolate="step-after", strokeWidth=1.5, point="transparent")
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            y=alt.Y("bytes:Q", title="bytes"),
            color=alt.Color(
                "line:N",
                scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
            tooltip=[
                alt.Tooltip("time:Q", format=".6f", title="time (s)"),
                "line",
                alt.Tooltip("bytes:Q", format=","),
                "frame:Q",
                "segments:Q",
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    note = (
        f"{own.height:,} segments: the maximum flight and the minimum window of each interval"
        if both.height < own.height and int(both["segments"].max()) > 1  # type: ignore[arg-type]
        else ""
    )
    return titled(alt.layer(chart), f"Bytes in flight of flow {flow}, {direction.replace('_', ' ')}", note)


def _series(segments: pl.DataFrame, column: str, origin: Any, name: str) -> pl.DataFrame:
    """Return the points of a line; of several in an interval the extreme one, with their number."""
    import polars as pl

    points = segments.select(
        seconds("time", origin).alias("time"),
        pl.col(column).cast(pl.Int64).alias("bytes"),
        "frame",
        segments=pl.lit(1, pl.UInt32),
    )
    if points.height > MARKS_MAX:
        # One interval fewer: the last moment has its own.
        width = span(points["time"]) / (MARKS_MAX - 1)
        extreme = pl.col("bytes").arg_max() if column == "flight_bytes" else pl.col("bytes").arg_min()
        points = (
            points.group_by((pl.col("time") // width).alias("bin"), maintain_order=True)
            .agg(pl.col("time", "bytes", "frame").get(extreme), pl.len().alias("segments"))
            .drop("bin")
        )
    return points.with_columns(line=pl.lit(name))

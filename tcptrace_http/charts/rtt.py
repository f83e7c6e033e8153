"""Round trips of a flow over time: how long each segment's ACK took to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import HEIGHT, MARKS_MAX, WIDTH, seconds, span, titled

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_COLOURS: Final = {"server to client": "#0072b2", "client to server": "#e69f00"}


def draw(segments: pl.DataFrame, *, flow: int) -> alt.LayerChart:
    """One point a segment that was acknowledged; of many, the least and the greatest of each interval.

    Near the client the times of its own segments are round trips, and those of the server's are its delayed ACKs.

    :raises ValueError: no segment of the flow was acknowledged.
    """
    import altair as alt
    import polars as pl

    own = segments.filter(pl.col("flow") == flow, pl.col("rtt").is_not_null())
    if own.is_empty():
        raise ValueError(f"flow {flow} has no segments that were acknowledged")
    origin = segments.filter(flow=flow)["time"].min()
    points = own.select(
        "frame",
        "acked_by_frame",
        seconds("time", origin).alias("time"),
        (pl.col("rtt").dt.total_nanoseconds() / 1e6).alias("rtt"),
        pl.col("direction").cast(pl.String).str.replace_all("_", " ").alias("of"),
    )
    shown, note = _thinned(points)
    chart = (
        alt.Chart(shown)
        .mark_circle(size=18, opacity=0.7)
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            y=alt.Y("rtt:Q", title="until acknowledged (ms)"),
            color=alt.Color(
                "of:N", scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())), title="segments"
            ),
            tooltip=[
                alt.Tooltip("time:Q", format=".6f", title="time (s)"),
                alt.Tooltip("rtt:Q", format=",.3f", title="ms"),
                "frame",
                alt.Tooltip("acked_by_frame:Q", title="ACK's frame"),
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return titled(alt.layer(chart), f"Time until segments of flow {flow} were acknowledged", note)


def _thinned(points: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    import polars as pl

    if points.height <= MARKS_MAX:
        return points, ""
    width = span(points["time"]) / (MARKS_MAX // 4)
    grouped = points.group_by((pl.col("time") // width).alias("bin"), "of", maintain_order=True)
    least = grouped.agg(pl.all().get(pl.col("rtt").arg_min()))
    greatest = grouped.agg(pl.all().get(pl.col("rtt").arg_max()))
    shown = pl.concat([least, greatest]).drop("bin")
    return shown, f"{points.height:,} samples: the least and the greatest of each {width * 1e3:.3g} ms"

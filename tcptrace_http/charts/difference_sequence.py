"""Two flows in one time-sequence graph: the data of both servers, and the divergences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.charts._theme import HEIGHT, WIDTH, seconds, titled
from tcptrace_http.charts.segment_marks import data_segments, distinguishable
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    import polars as pl

__all__ = ["Place", "draw"]

#: Blue and orange of Okabe and Ito, as in comparisons.
_COLOURS: Final = {"left": "#0072b2", "right": "#e69f00"}
#: Colour readable on white and on dark pages.
_MARK_COLOUR: Final = "#d55e00"
_LABELS_MAX: Final = 6

#: Divergence: its label, and the frame of each side, if any.
Place = tuple[str, int | None, int | None]


def draw(
    left_segments: pl.DataFrame,
    right_segments: pl.DataFrame,
    places: Sequence[Place],
    *,
    flows: tuple[int, int],
) -> alt.LayerChart:
    """Return the data of both servers since the start of each flow; a dashed line joins both sides of a
    divergence.

    If segments are too many to distinguish, those of an interval are one mark.

    :raises NothingToDraw: no server sent data on these flows.
    """
    import altair as alt
    import polars as pl

    sides = [
        _side(name, segments.filter(flow=flow))
        for name, segments, flow in zip(_COLOURS, (left_segments, right_segments), flows, strict=True)
    ]
    marks, note = distinguishable(pl.concat([sent for sent, _ in sides]))
    if marks.is_empty():
        raise NothingToDraw("no server sent anything on these flows")
    x = alt.X("time:Q", title="time since the flow began (s)")
    y = alt.Y("low:Q", title="sequence number (bytes)", scale=alt.Scale(nice=False))
    scale = alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    lines = alt.Chart(marks).mark_line(interpolate="step-after", strokeWidth=1, opacity=0.5)
    drawn = alt.Chart(marks).mark_rule(strokeCap="butt", strokeWidth=3)
    color = alt.Color("kind:N", scale=scale, title="side", legend=alt.Legend(symbolType="stroke"))
    layers = [
        lines.encode(x=x, y=alt.Y("high:Q", title="sequence number (bytes)"), color=color, order="time:Q"),
        drawn.encode(
            x=x,
            y=y,
            y2="high:Q",
            color=color,
            tooltip=[
                alt.Tooltip("kind", title="side"),
                alt.Tooltip("time:Q", format=".6f", title="time (s)"),
                "low",
                "high",
                alt.Tooltip("frame:Q", title="first frame"),
                alt.Tooltip("last_frame:Q", title="last frame"),
                "segments",
            ],
        ),
        *_places(places[:_LABELS_MAX], [points for _, points in sides]),
    ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    about = "A dashed line joins the two frames at which the flows diverge" if len(layers) > len(_COLOURS) else ""
    return titled(chart, f"What the servers sent on flow {flows[0]} and flow {flows[1]}", about, note)


def _side(name: str, segments: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the marks of a flow's server data, and time and place of all its segments by frame."""
    import polars as pl

    origin = segments["time"].min()
    is_sent = pl.col("direction").cast(pl.String) == "server_to_client"
    sent = data_segments(segments.filter(is_sent, pl.col("payload_bytes") > 0), origin)
    # A client segment is placed at the data that it acknowledges.
    sequence = pl.when(is_sent).then(pl.col("seq") + pl.col("payload_bytes").cast(pl.Int64)).otherwise("ack")
    points = segments.select(
        "frame", seconds("time", origin).alias("time"), sequence.cast(pl.Int64).alias("sequence")
    )
    return sent.with_columns(kind=pl.lit(name)), points


def _places(places: Sequence[Place], sides: Sequence[pl.DataFrame]) -> list[alt.Chart]:
    """Return a numbered mark on each side of a divergence, with a dashed line between them."""
    import altair as alt
    import polars as pl

    names: dict[tuple[int | None, ...], list[str]] = {}
    for number, (name, *frames) in enumerate(places, start=1):
        names.setdefault(tuple(frames), []).append(f"{number} {name}")
    rows: list[dict[str, Any]] = []
    for at, named in names.items():
        for points, frame in zip(sides, at, strict=True):
            rows += [{"place": ", ".join(named)} | row for row in points.filter(frame=frame).head(1).to_dicts()]
    if not rows:
        return []
    marked = alt.Chart(pl.DataFrame(rows)).encode(
        x=alt.X("time:Q", title="time since the flow began (s)"),
        y=alt.Y("sequence:Q", title="sequence number (bytes)"),
        detail="place:N",
        tooltip=["place", "frame:Q", alt.Tooltip("time:Q", format=".6f", title="time (s)")],
    )
    first = pl.DataFrame(rows).unique("place", keep="last", maintain_order=True)
    labels = alt.Chart(first).mark_text(
        align="left", dx=7, dy=-7, fontSize=12, fontWeight="bold", color=_MARK_COLOUR
    )
    return [
        marked.mark_line(strokeDash=[5, 3], color=_MARK_COLOUR),
        marked.mark_point(size=70, strokeWidth=2, color=_MARK_COLOUR),
        labels.encode(
            x=alt.X("time:Q", title="time since the flow began (s)"),
            y=alt.Y("sequence:Q", title="sequence number (bytes)"),
            text="place:N",
            tooltip=["place", "frame:Q"],
        ),
    ]

"""Time-sequence graph of a flow: segments, ACK line and window line, with shaded and labelled stalls.

The style follows tcptrace and Wireshark (Shepard, "TCP packet trace analysis", MIT 1991), and Heidemann's
Figures 1 and 3: time to the right, sequence numbers of one direction upwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.charts._theme import (
    HEIGHT,
    MARKS_MAX,
    WIDTH,
    group_of_cause,
    group_scale,
    milliseconds,
    seconds,
    span,
    titled,
)
from tcptrace_http.charts.segment_marks import data_segments, distinguishable
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_KINDS: Final = {"data": "#0072b2", "retransmission": "#d55e00", "out of order": "#cc79a7", "SACK": "#e69f00"}
_LINES: Final = {"ACK": "#009e73", "window": "#999999"}
#: Room above the data for labels, and for a limiting window.
_ROOM: Final = 1.3
#: Colour readable on white, on a shade and on dark pages.
_LABEL_COLOUR: Final = "#d55e00"
#: Maximum number of readable labels; with more findings each kind has one.
_LABELS_MAX: Final = 6
#: Rows for the labels of close findings, one below the other.
_LABEL_ROWS: Final = 4
_LABEL_STEP: Final = 0.06
#: Distance from an end, as a share of the graph, at which a centred label could leave the graph.
_NEAR_AN_END: Final = 0.2
_OTHER: Final = {"server_to_client": "client_to_server", "client_to_server": "server_to_client"}


def draw(
    segments: pl.DataFrame,
    waits: pl.DataFrame,
    findings: pl.DataFrame,
    *,
    flow: int,
    direction: str = "server_to_client",
) -> alt.LayerChart:
    """Return the graph of one direction of a flow.

    If segments are too many to distinguish, those of an interval form one mark from the minimum to the
    maximum sequence number. Retransmissions keep separate marks.

    :raises NothingToDraw: the flow has no segments, or the direction is unknown.
    """
    import altair as alt
    import polars as pl

    if direction not in _OTHER:
        raise NothingToDraw(f"there is no direction {direction!r}; it is one of {', '.join(_OTHER)}")
    own = segments.filter(flow=flow)
    if own.is_empty():
        raise NothingToDraw(f"flow {flow} has no segments")
    origin = own["time"].min()
    is_sent = pl.col("direction").cast(pl.String) == direction
    sent = data_segments(own.filter(is_sent, pl.col("payload_bytes") > 0), origin)
    lines = _lines(own.filter(~is_sent), origin)
    marks, note = distinguishable(pl.concat([sent, _selective_acks(own.filter(~is_sent), origin)]))
    top = _top(marks, lines)
    shades, unshaded = _shades(waits.filter(flow=flow), origin)
    layers = [
        *shades,
        _line_layer(lines, top),
        _mark_layer(marks, top),
        *_labels(findings.filter(flow=flow), own, origin, top),
    ]
    is_beyond = not lines.is_empty() and float(lines["sequence"].max()) > top  # type: ignore[arg-type]
    beyond = "The window line is above the graph in part" if is_beyond else ""
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT).resolve_scale(color="independent")
    return titled(
        chart, f"Time-sequence graph of flow {flow}, {direction.replace('_', ' ')}", note, unshaded, beyond
    )


def _top(marks: pl.DataFrame, lines: pl.DataFrame) -> float:
    """Return the largest drawn sequence number: the data's, with room above it; the window may be far beyond."""
    known = (marks["high"].max(), lines.filter(line="ACK")["sequence"].max())
    return max((float(each) for each in known if each is not None), default=1.0) * _ROOM  # type: ignore[arg-type]


def _selective_acks(acks: pl.DataFrame, origin: Any) -> pl.DataFrame:
    """Return one mark per SACK block, at its reported range and report time (RFC 2018)."""
    import polars as pl

    edges = (
        acks.filter(pl.col("sack_edges").list.len() > 0)
        .select(
            "frame",
            seconds("time", origin).alias("time"),
            pl.col("sack_edges").list.gather_every(2).alias("low"),
            pl.col("sack_edges").list.gather_every(2, 1).alias("high"),
        )
        .explode("low", "high")
    )
    return edges.with_columns(pl.col("low", "high").cast(pl.Int64), kind=pl.lit("SACK"))


def _lines(acks: pl.DataFrame, origin: Any) -> pl.DataFrame:
    """Return the ACK line and the window line; of many ACKs in an interval, the last one and their number."""
    import polars as pl

    points = acks.filter(pl.col("ack").is_not_null()).select(
        seconds("time", origin).alias("time"),
        "frame",
        pl.lit(1, pl.UInt32).alias("ACKs"),
        pl.col("ack").cast(pl.Int64).alias("ACK"),
        (pl.col("ack").cast(pl.Int64) + pl.col("window_bytes").cast(pl.Int64)).alias("window"),
    )
    if points.height > MARKS_MAX:
        # One interval fewer: the last moment has its own.
        width = span(points["time"]) / (MARKS_MAX - 1)
        points = (
            points.group_by((pl.col("time") // width).alias("bin"), maintain_order=True)
            .agg(pl.all().exclude("ACKs").last(), pl.col("ACKs").sum())
            .drop("bin")
        )
    return points.unpivot(
        index=["time", "frame", "ACKs"], variable_name="line", value_name="sequence"
    ).drop_nulls()


def _shades(waits: pl.DataFrame, origin: Any) -> tuple[list[alt.Chart], str]:
    """Return the longest waits of transactions as shades behind the segments, and a note about the others."""
    import altair as alt
    import polars as pl

    if waits.is_empty():
        return [], ""
    spans = waits.select(
        seconds("start", origin).alias("start"),
        seconds("end", origin).alias("end"),
        pl.col("cause").cast(pl.String),
        group_of_cause(),
        "transaction",
        "first_frame",
        "last_frame",
    )
    spans = spans.with_columns(milliseconds=(pl.col("end") - pl.col("start")) * 1e3)
    spans = spans.sort("milliseconds", "start", descending=[True, False])
    shorter = spans.slice(MARKS_MAX)
    spans = spans.head(MARKS_MAX)
    drawn: alt.Chart = (
        alt.Chart(spans)
        .mark_rect(opacity=0.18)
        .encode(
            x=alt.X("start:Q", title="time (s)"),
            x2="end:Q",
            color=alt.Color("group:N", scale=group_scale(spans["group"]), title="waiting for"),
            tooltip=[
                "cause",
                alt.Tooltip("milliseconds:Q", format=",.3f", title="ms"),
                "transaction",
                "first_frame",
                "last_frame",
            ],
        )
    )
    if shorter.is_empty():
        return [drawn], ""
    return [drawn], f"{shorter.height:,} waits, none over {shorter['milliseconds'][0]:.3g} ms, are not shaded"


def _axis(field: str, top: float) -> alt.Y:
    import altair as alt

    return alt.Y(field, title="sequence number (bytes)", scale=alt.Scale(domain=[0, top], nice=False))


def _line_layer(lines: pl.DataFrame, top: float) -> alt.Chart:
    import altair as alt

    drawn: alt.Chart = (
        alt.Chart(lines)
        .mark_line(interpolate="step-after", strokeWidth=1, clip=True, point="transparent")
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            y=_axis("sequence:Q", top),
            color=alt.Color(
                "line:N",
                scale=alt.Scale(domain=list(_LINES), range=list(_LINES.values())),
                legend=alt.Legend(title="receiver", symbolType="stroke"),
            ),
            tooltip=[
                alt.Tooltip("time:Q", format=".6f", title="time (s)"),
                "line",
                alt.Tooltip("sequence:Q", format=","),
                "frame:Q",
                "ACKs:Q",
            ],
        )
    )
    return drawn


def _mark_layer(marks: pl.DataFrame, top: float) -> alt.Chart:
    import altair as alt

    drawn: alt.Chart = (
        alt.Chart(marks)
        .mark_rule(strokeCap="butt", clip=True)
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            y=_axis("low:Q", top),
            y2="high:Q",
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=list(_KINDS), range=list(_KINDS.values())), title="segments"
            ),
            # Reported ranges lie over sent data: both stay visible.
            strokeWidth=alt.condition("datum.kind === 'SACK'", alt.value(1), alt.value(2)),
            tooltip=[
                alt.Tooltip("time:Q", format=".6f", title="time (s)"),
                "kind",
                "low",
                "high",
                alt.Tooltip("frame:Q", title="first frame"),
                alt.Tooltip("last_frame:Q", title="last frame"),
                "segments",
            ],
        )
    )
    return drawn


def _labels(findings: pl.DataFrame, segments: pl.DataFrame, origin: Any, top: float) -> list[alt.Chart]:
    """Return the names of findings over their frames; with many findings, one name per kind.

    Near an end of the graph a name moves towards the middle, so that it stays inside.
    """
    import altair as alt
    import polars as pl

    found = _found(findings, segments.select("frame", seconds("time", origin).alias("time")))
    if found.is_empty():
        return []
    end = float(segments.select(seconds("time", origin).max()).item())
    at = (pl.col("start") + pl.col("end")) / 2
    labels = found.sort("start", "named").select(
        at.alias("time"),
        (top * (1 - _LABEL_STEP * (pl.int_range(pl.len()) % _LABEL_ROWS))).alias("sequence"),
        pl.format("{}: {} ms", "named", pl.col("lost").round(0).cast(pl.Int64)).alias("label"),
        pl.when(at < end * _NEAR_AN_END)
        .then(pl.lit("left"))
        .when(at > end * (1 - _NEAR_AN_END))
        .then(pl.lit("right"))
        .otherwise(pl.lit("center"))
        .alias("align"),
        "summary",
        "first_frame",
        "last_frame",
    )
    drawn: alt.Chart = (
        alt.Chart(labels)
        .mark_text(
            align=alt.ExprRef("datum.align"), baseline="top", fontSize=12, fontWeight="bold", color=_LABEL_COLOUR
        )
        .encode(x="time:Q", y="sequence:Q", text="label:N", tooltip=["summary", "first_frame", "last_frame"])
    )
    return [drawn]


def _found(findings: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Return the findings that cost time, from first to last frame; with many findings, one row per kind."""
    import polars as pl

    moments = (
        times.rename({"frame": f"{end}_frame", "time": name})
        for end, name in (("first", "start"), ("last", "end"))
    )
    found = findings.filter(pl.col("lost") > pl.duration()).select(
        pl.col("detector").cast(pl.String).alias("named"),
        milliseconds(pl.col("lost")).alias("lost"),
        "summary",
        "first_frame",
        "last_frame",
    )
    for of_frames in moments:
        found = found.join(of_frames, on=of_frames.columns[0])
    if found.height <= _LABELS_MAX:
        return found
    return (
        found.group_by("named", maintain_order=True)
        .agg(
            pl.len().alias("count"),
            pl.col("lost").sum(),
            pl.col("summary").first(),
            pl.col("first_frame", "start").min(),
            pl.col("last_frame", "end").max(),
        )
        .with_columns(named=pl.format("{} times {}", "count", "named"))
    )

"""The time-sequence graph of a flow: segments, ACK line and window line, with stalls shaded and labelled.

As tcptrace and Wireshark draw it (Shepard, "TCP packet trace analysis", MIT 1991), and Heidemann's
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

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_KINDS: Final = {"data": "#0072b2", "retransmission": "#d55e00", "out of order": "#cc79a7"}
_LINES: Final = {"ACK": "#009e73", "window": "#999999"}
#: Above the data there is room for labels, and for a window that limits.
_ROOM: Final = 1.3
_OTHER: Final = {"server_to_client": "client_to_server", "client_to_server": "server_to_client"}


def draw(
    segments: pl.DataFrame,
    waits: pl.DataFrame,
    findings: pl.DataFrame,
    *,
    flow: int,
    direction: str = "server_to_client",
) -> alt.LayerChart:
    """The graph of one direction of a flow.

    Of more segments than can be told apart those of an interval are one mark from the least to the greatest
    sequence number; retransmissions stay marks of their own kind.

    :raises ValueError: the flow has no segments, or there is no such direction.
    """
    import altair as alt
    import polars as pl

    if direction not in _OTHER:
        raise ValueError(f"there is no direction {direction!r}; it is one of {', '.join(_OTHER)}")
    own = segments.filter(flow=flow)
    if own.is_empty():
        raise ValueError(f"flow {flow} has no segments")
    origin = own["time"].min()
    is_sent = pl.col("direction").cast(pl.String) == direction
    sent = _sent(own.filter(is_sent, pl.col("payload_bytes") > 0), origin)
    lines = _lines(own.filter(~is_sent), origin)
    marks, note = _marks(sent)
    top = _top(marks, lines)
    layers = [
        *_shades(waits.filter(flow=flow), origin),
        _line_layer(lines, top),
        _mark_layer(marks, top),
        *_labels(findings.filter(flow=flow), origin, top),
    ]
    is_beyond = not lines.is_empty() and float(lines["sequence"].max()) > top  # type: ignore[arg-type]
    beyond = "The window line is above the graph in part" if is_beyond else ""
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT).resolve_scale(color="independent")
    return titled(chart, f"Time-sequence graph of flow {flow}, {direction.replace('_', ' ')}", note, beyond)


def _top(marks: pl.DataFrame, lines: pl.DataFrame) -> float:
    """The greatest sequence number drawn: that of the data with room above; the window may be far beyond."""
    known = (marks["high"].max(), lines.filter(line="ACK")["sequence"].max())
    return max((float(each) for each in known if each is not None), default=1.0) * _ROOM  # type: ignore[arg-type]


def _sent(segments: pl.DataFrame, origin: Any) -> pl.DataFrame:
    import polars as pl

    kind = (
        pl.when("is_retransmission")
        .then(pl.lit("retransmission"))
        .when("is_out_of_order")
        .then(pl.lit("out of order"))
        .otherwise(pl.lit("data"))
    )
    return segments.select(
        "frame",
        seconds("time", origin).alias("time"),
        pl.col("seq").alias("low"),
        (pl.col("seq") + pl.col("payload_bytes").cast(pl.Int64)).alias("high"),
        kind.alias("kind"),
    )


def _lines(acks: pl.DataFrame, origin: Any) -> pl.DataFrame:
    """The ACK line and the window line; where many ACKs are in one interval, the last of them."""
    import polars as pl

    points = acks.filter(pl.col("ack").is_not_null()).select(
        seconds("time", origin).alias("time"),
        pl.col("ack").cast(pl.Int64).alias("ACK"),
        (pl.col("ack").cast(pl.Int64) + pl.col("window_bytes").cast(pl.Int64)).alias("window"),
    )
    if points.height > MARKS_MAX:
        width = span(points["time"]) / MARKS_MAX
        points = points.group_by((pl.col("time") // width).alias("bin"), maintain_order=True).last().drop("bin")
    return points.unpivot(index="time", variable_name="line", value_name="sequence").drop_nulls()


def _marks(sent: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    import polars as pl

    if sent.height <= MARKS_MAX:
        return sent.with_columns(segments=pl.lit(1), last_frame=pl.col("frame")), ""
    width = span(sent["time"]) / MARKS_MAX
    bins = (pl.col("time") // width).alias("bin")
    marks = (
        sent.group_by(bins, "kind")
        .agg(
            pl.col("time").min(),
            pl.col("low").min(),
            pl.col("high").max(),
            pl.col("frame").min(),
            pl.col("frame").max().alias("last_frame"),
            pl.len().alias("segments"),
        )
        .drop("bin")
        .sort("time")
    )
    note = f"{sent.height:,} segments, drawn as {marks.height:,} intervals of {width * 1e3:.3g} ms"
    return marks, note


def _shades(waits: pl.DataFrame, origin: Any) -> list[alt.Chart]:
    """What the time of transactions went to, behind the segments; only what is long enough to be seen."""
    import altair as alt
    import polars as pl

    if waits.is_empty():
        return []
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
    spans = spans.sort("milliseconds", descending=True).head(MARKS_MAX)
    return [
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
    ]


def _axis(field: str, top: float) -> alt.Y:
    import altair as alt

    return alt.Y(field, title="sequence number (bytes)", scale=alt.Scale(domain=[0, top], nice=False))


def _line_layer(lines: pl.DataFrame, top: float) -> alt.Chart:
    import altair as alt

    drawn: alt.Chart = (
        alt.Chart(lines)
        .mark_line(interpolate="step-after", strokeWidth=1, clip=True)
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            y=_axis("sequence:Q", top),
            color=alt.Color(
                "line:N", scale=alt.Scale(domain=list(_LINES), range=list(_LINES.values())), title="receiver"
            ),
        )
    )
    return drawn


def _mark_layer(marks: pl.DataFrame, top: float) -> alt.Chart:
    import altair as alt

    drawn: alt.Chart = (
        alt.Chart(marks)
        .mark_rule(strokeWidth=2, strokeCap="butt")
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            y=_axis("low:Q", top),
            y2="high:Q",
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=list(_KINDS), range=list(_KINDS.values())), title="segments"
            ),
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


def _labels(findings: pl.DataFrame, origin: Any, top: float) -> list[alt.Chart]:
    """The names of what was found, over the time that it took; of many, one name for all of a kind."""
    import altair as alt
    import polars as pl

    found = findings.filter(pl.col("start").is_not_null(), pl.col("lost") > pl.duration()).select(
        pl.col("detector").cast(pl.String),
        seconds("start", origin).alias("start"),
        milliseconds(pl.col("lost")).alias("lost"),
        "summary",
        "first_frame",
        "last_frame",
    )
    if found.is_empty():
        return []
    if found.height > _LABELS_MAX:
        found = found.group_by("detector", maintain_order=True).agg(
            pl.format("{} times {}", pl.len(), pl.col("detector").first()).alias("named"),
            pl.col("start").min(),
            ((pl.col("start").max() - pl.col("start").min()) * 1e3 + pl.col("lost").last()).alias("over"),
            pl.col("lost").sum(),
            pl.col("summary").first(),
            pl.col("first_frame").min(),
            pl.col("last_frame").max(),
        )
    else:
        found = found.with_columns(named=pl.col("detector"), over=pl.col("lost"))
    labels = found.sort("start").select(
        (pl.col("start") + pl.col("over") / 2e3).alias("time"),
        (top * (1 - _LABEL_STEP * (pl.int_range(pl.len()) % _LABEL_ROWS))).alias("sequence"),
        pl.format("{}: {} ms", "named", pl.col("lost").round(0).cast(pl.Int64)).alias("label"),
        "summary",
        "first_frame",
        "last_frame",
    )
    drawn: alt.Chart = (
        alt.Chart(labels)
        .mark_text(align="center", baseline="top", fontSize=12, fontWeight="bold", color="#8a3c00")
        .encode(x="time:Q", y="sequence:Q", text="label:N", tooltip=["summary", "first_frame", "last_frame"])
    )
    return [drawn]


_LABELS_MAX: Final = 6
#: Labels of findings close together stand below each other.
_LABEL_ROWS: Final = 4
_LABEL_STEP: Final = 0.06

"""Payload over time: bytes per second of each direction of a flow, or of all flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import DIRECTION_COLOURS, HEIGHT, WIDTH, directed, seconds, titled
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_INTERVALS: Final = 200
#: Minimum interval of a rate: below it the rate is that of a burst on the link.
_INTERVAL_MIN_S: Final = 1e-3
_MEGA: Final = 1e6
_BITS: Final = 8


def draw(segments: pl.DataFrame, *, flow: int | None = None) -> alt.LayerChart:
    """Return megabits of payload per second, including retransmissions, in 200 intervals of the shown time.

    :raises NothingToDraw: no payload exists.
    """
    import altair as alt

    rates, width = _rates(segments, flow)
    chart = (
        alt.Chart(rates)
        .mark_bar(opacity=0.75)
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            x2="until:Q",
            y=alt.Y("rate:Q", title="payload (Mb/s)", stack=None),
            y2=alt.Y2Datum(0),
            color=alt.Color(
                "direction:N",
                scale=alt.Scale(domain=list(DIRECTION_COLOURS), range=list(DIRECTION_COLOURS.values())),
                title=None,
            ),
            tooltip=[
                alt.Tooltip("time:Q", format=".3f", title="time (s)"),
                alt.Tooltip("rate:Q", format=",.3f", title="Mb/s"),
                "bytes:Q",
                "direction",
                "segments:Q",
                alt.Tooltip("frame:Q", title="first frame"),
                alt.Tooltip("last_frame:Q", title="last frame"),
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    what = "all flows" if flow is None else f"flow {flow}"
    return titled(alt.layer(chart), f"Payload of {what}", f"Intervals of {width * 1e3:.3g} ms")


def _rates(segments: pl.DataFrame, flow: int | None) -> tuple[pl.DataFrame, float]:
    """Return one row per interval and direction, and the interval length in seconds."""
    import polars as pl

    own = segments.filter(pl.col("payload_bytes") > 0)
    own = own if flow is None else own.filter(flow=flow)
    if own.is_empty():
        raise NothingToDraw("there is no payload" if flow is None else f"flow {flow} has no payload")
    timed = own.select(
        "frame",
        seconds("time", own["time"].min()).alias("time"),
        pl.col("payload_bytes").cast(pl.Int64).alias("bytes"),
        directed("direction"),
    )
    width = max(float(timed["time"].max()) / _INTERVALS, _INTERVAL_MIN_S)  # type: ignore[arg-type]
    # The last moment belongs to the last interval.
    interval = (pl.col("time") // width).cast(pl.Int64).clip(upper_bound=_INTERVALS - 1).alias("bin")
    rates = timed.group_by(interval, "direction").agg(
        pl.col("bytes").sum(),
        pl.len().alias("segments"),
        pl.col("frame").min(),
        pl.col("frame").max().alias("last_frame"),
    )
    start = pl.col("bin") * width
    rate = pl.col("bytes") * _BITS / width / _MEGA
    # The larger direction comes first, so that the other one is in front of it.
    return rates.with_columns(time=start, until=start + width, rate=rate).sort(
        "direction", "bin", descending=[True, False]
    ), width

"""Payload over time: how many bytes a second each direction of a flow, or of all flows, carried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.charts._theme import HEIGHT, WIDTH, seconds, titled

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["draw"]

_INTERVALS: Final = 200
_COLOURS: Final = {"server to client": "#0072b2", "client to server": "#e69f00"}
_MEGA: Final = 1e6
_BITS: Final = 8


def draw(segments: pl.DataFrame, *, flow: int | None = None) -> alt.LayerChart:
    """Megabits of payload a second, retransmissions in them, in 200 intervals of the time shown.

    :raises ValueError: there is no payload.
    """
    import altair as alt
    import polars as pl

    own = segments.filter(pl.col("payload_bytes") > 0)
    own = own if flow is None else own.filter(flow=flow)
    if own.is_empty():
        raise ValueError("there is no payload" if flow is None else f"flow {flow} has no payload")
    origin = own["time"].min()
    timed = own.select(
        seconds("time", origin).alias("time"),
        pl.col("payload_bytes").cast(pl.Int64).alias("bytes"),
        pl.col("direction").cast(pl.String).str.replace_all("_", " ").alias("direction"),
    )
    width = max(float(timed["time"].max()) / _INTERVALS, 1e-6)  # type: ignore[arg-type]
    rates = (
        timed.group_by((pl.col("time") // width).cast(pl.Int64).alias("bin"), "direction")
        .agg(pl.col("bytes").sum())
        .with_columns(time=pl.col("bin") * width, rate=pl.col("bytes") * _BITS / width / _MEGA)
        .sort("direction", "bin")
    )
    chart = (
        alt.Chart(rates)
        .mark_bar()
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            y=alt.Y("rate:Q", title="payload (Mb/s)", stack=None),
            color=alt.Color(
                "direction:N", scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())), title=None
            ),
            tooltip=[
                alt.Tooltip("time:Q", format=".3f", title="time (s)"),
                alt.Tooltip("rate:Q", format=",.3f", title="Mb/s"),
                "bytes",
                "direction",
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    what = "all flows" if flow is None else f"flow {flow}"
    return titled(alt.layer(chart), f"Payload of {what}", f"Intervals of {width * 1e3:.3g} ms")

"""Charts of a report as Vega-Lite, with the library that draws them."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.errors import MissingExtra, NothingToDraw

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt

    from tcptrace_http.analysis import Analysis

__all__ = ["TITLES", "drawn", "library"]

#: Charts in order, with their titles.
TITLES: Final = {
    "waits": "Where the time went",
    "waterfall": "The slowest retrieval",
    "time-sequence": "The connection that lost the most",
    "wait-distribution": "Wait times of transactions",
}
#: Maximum number of packets for a time-sequence graph, which reads a connection's segments again.
_PACKETS_MAX: Final = 2_000_000


def drawn(analysis: Analysis) -> dict[str, Any]:
    """Return the charts with data."""
    if analysis.transactions.is_empty():
        return {}
    plots = analysis.plot
    wanted: dict[str, Callable[[], alt.LayerChart]] = {
        "waits": plots.waits,
        "wait-distribution": plots.wait_distribution,
    }
    retrieval = _slowest(analysis)
    if retrieval is not None:
        wanted["waterfall"] = lambda: plots.waterfall(retrieval=retrieval)
    if analysis.capture.packets <= _PACKETS_MAX:
        wanted["time-sequence"] = lambda: plots.time_sequence(flow=_worst_flow(analysis))
    made = {}
    for name, draw in wanted.items():
        # Transactions without a duration have no waits to draw.
        with suppress(NothingToDraw):
            made[name] = draw().to_dict()
    return made


def _slowest(analysis: Analysis) -> int | None:
    retrievals = analysis.retrievals
    return None if retrievals.is_empty() else int(retrievals.sort("elapsed", descending=True)["retrieval"][0])


def _worst_flow(analysis: Analysis) -> int:
    """Return the connection with the largest loss, or with the slowest transaction."""
    import polars as pl

    lost = analysis.findings.filter(pl.col("lost") > pl.duration(), pl.col("flow").is_not_null())
    if not lost.is_empty():
        return int(
            lost.group_by("flow")
            .agg(pl.col("lost").sum())
            .sort("lost", "flow", descending=[True, False])["flow"][0]
        )
    elapsed = pl.col("end_time") - pl.col("start_time")
    return int(analysis.transactions.sort(elapsed, descending=True, nulls_last=True)["flow"][0])


@cache
def library() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script for a self-contained page.

    :raises MissingExtra: vl-convert is not installed.
    """
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise MissingExtra("reports with charts need vl-convert", "charts") from None
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", "<\\/script")

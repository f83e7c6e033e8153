"""Figures of the thesis: ours as lines with intervals, the published figures as points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import altair as alt

    from reference_sim.papers.gurkan_1998.cells import Cell
    from reference_sim.reproduction.experiment import Results

__all__ = ["rates_by_ftp_clients"]

_WIDTH: Final = 320
_HEIGHT: Final = 240


def rates_by_ftp_clients(
    published: Mapping[Cell, float], results: Results, *, series: Callable[[Cell], str]
) -> alt.TopLevelMixin:
    """Draw Figures 4.8 to 4.13: retrieval rate over the number of FTP clients, one line per series."""
    import altair as alt

    rows = list(_rows(published, results, series))
    base = alt.Chart(alt.InlineData(values=rows), width=_WIDTH, height=_HEIGHT).encode(
        x=alt.X("FTP clients:O", title="FTP clients"),
        color=alt.Color("series:N", title=None, sort=None),
    )
    rate = alt.Y("ours:Q", title="retrieval rate, bytes/s")
    lines = base.mark_line().encode(y=rate)
    intervals = base.mark_rule().encode(y=alt.Y("low:Q", title=""), y2="high:Q")
    points = base.mark_point(filled=True, size=60, shape="diamond").encode(y=alt.Y("published:Q", title=""))
    return alt.layer(lines, intervals, points)


def _rows(
    published: Mapping[Cell, float], results: Results, series: Callable[[Cell], str]
) -> Iterator[dict[str, object]]:
    for cell, rate in published.items():
        ours = results.mean(cell.label, "rate")
        yield {
            "series": series(cell),
            "FTP clients": cell.ftps,
            "ours": ours.value,
            "low": ours.value if ours.low is None else ours.low,
            "high": ours.value if ours.high is None else ours.high,
            "published": rate,
        }

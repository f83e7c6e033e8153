"""Figures 5 and 6 as in the paper, and the gains with the ranges in its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_sim.papers.eggert_1999.bundles import PAGES, Bars, Situation, Transport
from reference_sim.reproduction.claim import claims

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import altair as alt

    from reference_sim.reproduction.experiment import Results

__all__ = ["figure_5", "figure_6"]

_CLAIMS: Final = {
    Situation.MODEL: "E1",
    Situation.CLIENT: "E2",
    Situation.NETWORK: "E3",
    Situation.REALISTIC: "E4",
}
#: Totals first: the HTML bars cover them, as in the paper.
_WHATS: Final = ("total", "html")
#: The paper also cuts bars off: only Reno's losses exceed this.
_TOP_S: Final = 8.0
_WIDTH: Final = 420
_HEIGHT: Final = 150
_GAINS_WIDTH: Final = 230
_PALE: Final = 0.35
_SHADE: Final = 0.15
_POINT_SIZE: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class _Access:
    """Bar of each page."""

    name: str
    transport: Transport
    again: bool = False


_FIRSTS: Final = tuple(_Access(name=str(transport), transport=transport) for transport in Transport)
_REPEATED: Final = _Access(name="repeated", transport=Transport.HTML_PRE, again=True)
_ACCESSES: Final = (
    _Access(name="Reno", transport=Transport.RENO),
    _Access(name="E-TCP", transport=Transport.HTML_PRE),
    _REPEATED,
)


def figure_5(situation: Situation) -> Callable[[Results], Mapping[str, alt.TopLevelMixin]]:
    """Return one graph of Figure 5: the times, and HTML-pre's gains in their published range."""

    def charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
        published = claims()[_CLAIMS[situation]].expect["html_gain"]
        return {
            f"Figure 5, {situation} scenario; right: HTML-pre's gains (shaded: published)": _graph(
                Bars(results), situation, _FIRSTS, published
            )
        }

    return charts


def figure_6(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    """Return the four graphs of Figure 6: Reno, the first and the repeated access."""
    published = claims()["E5"].expect["vs_reno_html"]
    return {
        f"Figure 6, {situation} scenario; right: gains of the repeated access (shaded: published)": _graph(
            Bars(results), situation, _ACCESSES, published[number]
        )
        for number, situation in enumerate(Situation)
    }


def _graph(
    bars: Bars, situation: Situation, accesses: Sequence[_Access], published: Sequence[float]
) -> alt.TopLevelMixin:
    """Return the times of all accesses, and the HTML gains of the last access."""
    import altair as alt

    return alt.HConcatChart(
        hconcat=[_times(bars, situation, accesses), _gains(bars, situation, accesses[-1], published)],
        title=f"{situation} scenario",
    )


def _times(bars: Bars, situation: Situation, accesses: Sequence[_Access]) -> alt.Chart:
    """Return grouped bars per page; the HTML bars cover the pale total bars."""
    import altair as alt

    rows = [
        {
            "page": page,
            "access": one.name,
            "what": what,
            "seconds": bars.time(what, situation, page, one.transport, again=one.again),
        }
        for page in PAGES
        for one in accesses
        for what in _WHATS
    ]
    names = [one.name for one in accesses]
    shades = alt.Scale(domain=["html", "total"], range=[1.0, _PALE])
    made = alt.Chart(alt.InlineData(values=rows), width=_WIDTH, height=_HEIGHT).mark_bar(clip=True)
    drawn: alt.Chart = made.encode(
        x=alt.X("page:N", sort=list(PAGES), title=None),
        xOffset=alt.XOffset("access:N", sort=names),
        y=alt.Y("seconds:Q", stack=None, scale=alt.Scale(domain=[0, _TOP_S]), title="s"),
        color=alt.Color("access:N", sort=names, title=None),
        opacity=alt.Opacity("what:N", scale=shades, title=None),
        tooltip=["page:N", "access:N", "what:N", alt.Tooltip("seconds:Q", format=".2f")],
    )
    return drawn


def _gains(bars: Bars, situation: Situation, one: _Access, published: Sequence[float]) -> alt.LayerChart:
    """Return gains over Reno as points, the paper's ranges as shaded bands."""
    import altair as alt

    rows = [
        {"page": page, "gain": bars.gain("html", situation, page, one.transport, again=one.again)}
        for page in PAGES
    ]
    low, high = published
    axis = alt.Axis(format="%")
    shaded = alt.Chart(alt.InlineData(values=[{"low": low, "high": high}])).mark_rect(opacity=_SHADE)
    shaded = shaded.encode(y=alt.Y("low:Q", title="HTML: gain over Reno", axis=axis), y2="high:Q")
    ours = alt.Chart(alt.InlineData(values=rows)).mark_point(filled=True, size=_POINT_SIZE)
    ours = ours.encode(
        x=alt.X("page:N", sort=list(PAGES), title=None),
        y="gain:Q",
        tooltip=["page:N", alt.Tooltip("gain:Q", format=".0%")],
    )
    return alt.LayerChart(layer=[shaded, ours], width=_GAINS_WIDTH, height=_HEIGHT)

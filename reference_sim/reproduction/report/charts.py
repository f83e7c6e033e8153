"""SVG charts: one variant for light and dark pages, one standalone variant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reference_sim.reproduction.work import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reference_sim.reproduction.runner import Outcome

__all__ = ["Drawing", "Drawings", "drawing_of", "drawn"]

#: Okabe and Ito, "Color Universal Design" (2008): distinguishable with every kind of colour vision, on white
#: and on black. Their yellow and black are not, and are omitted.
PALETTE: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")
# Placeholder for the surrounding text's colour; no chart uses this colour.
_INK: Final = "#010203"
_GRID: Final = "#8888884d"
_STANDALONE_INK: Final = "#1f2328"
_WIDTH: Final = 620
_HEIGHT: Final = 300
# Charts measure text with Liberation Sans, which has the widths of Arial and Helvetica.
_FONT: Final = "Arial, Liberation Sans, Helvetica, sans-serif"
_STYLE: Final[Mapping[str, Any]] = {
    "background": None,
    "font": _FONT,
    # The reader's font may be wider than the measured font.
    "padding": {"left": 24, "right": 16, "top": 8, "bottom": 12},
    "view": {"continuousWidth": _WIDTH, "continuousHeight": _HEIGHT, "stroke": _GRID},
    "axis": {
        "labelColor": _INK,
        "titleColor": _INK,
        "domainColor": _INK,
        "tickColor": _INK,
        "gridColor": _GRID,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 260,
        "labelSeparation": 8,
    },
    "axisY": {"titlePadding": 14},
    "axisXDiscrete": {"labelAngle": 0},
    "legend": {
        "labelColor": _INK,
        "titleColor": _INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 260,
    },
    "header": {"labelColor": _INK, "titleColor": _INK, "labelFontSize": 12, "titleFontSize": 12},
    "title": {"color": _INK, "subtitleColor": _INK, "fontSize": 13},
    "text": {"color": _INK},
    "rule": {"color": _INK},
    "range": {"category": list(PALETTE)},
}
# References to another element of the same drawing; a page has several drawings.
_REFERENCE: Final = re.compile(r'(\bid="|url\(#|href="#)')


@dataclass(frozen=True, slots=True)
class Drawing:
    """Drawn chart."""

    title: str
    #: For a page: on the page's own background, in its text colour.
    inline: str
    #: For a standalone file.
    file: str


@dataclass(frozen=True, slots=True)
class Drawings:
    """Charts of a claim, or the reason for their absence."""

    drawings: Sequence[Drawing] = ()
    failure: Failure | None = None


def drawn(outcome: Outcome) -> Drawings:
    """Return the charts of an outcome; none without a judgement."""
    if outcome.failures or outcome.experiment.charts is None:
        return Drawings()
    try:
        charts = outcome.experiment.charts(outcome.results)
        return Drawings(
            [
                drawing_of(title, chart.to_dict(), f"{outcome.claim.id}-{number}")
                for number, (title, chart) in enumerate(charts.items(), start=1)
            ]
        )
    except ModuleNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever is wrong with one claim's charts, the others are drawn
        return Drawings(failure=Failure(f"the charts of {outcome.claim.id}", f"{type(error).__name__}: {error}"))


def drawing_of(title: str, specification: dict[str, Any], name: str) -> Drawing:
    """Return the chart of a Vega-Lite specification; its element names begin with ``name``."""
    import vl_convert

    own = {key: value for key, value in specification.get("config", {}).items() if key != "view"}
    svg = vl_convert.vegalite_to_svg(specification | {"config": _merged(_STYLE, own)})
    standalone = svg.replace(_INK, _STANDALONE_INK)
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    head = standalone.index(">") + 1
    return Drawing(
        title,
        inline=_REFERENCE.sub(rf"\g<1>{name}-", svg.replace(_INK, "currentColor")),
        file=f"{standalone[:head]}{ground}{standalone[head:]}\n",
    )


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``over``, completed with the settings of ``base``."""
    made = dict(base)
    for key, value in over.items():
        known = made.get(key)
        made[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return made

"""Chart as a self-contained page with a menu for SVG and PNG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.html_page import html_page, script_json
from tcptrace_http.report.html.drawings import library

if TYPE_CHECKING:
    import altair as alt

__all__ = ["chart_page"]

#: Light colours only: saved charts are for documents.
_STYLE: Final = ":root { color-scheme: light; --ground: #fff; }\n"
_SCRIPT: Final = """const actions = {{ export: true, source: false, editor: false }};
vegaEmbed("#vis", {chart}, {{ renderer: "svg", actions }});
"""


def chart_page(chart: alt.LayerChart) -> str:
    """Return the page.

    :raises MissingExtra: the chart library is not installed.
    """
    specification = chart.to_dict()
    scripts = (library(), _SCRIPT.format(chart=script_json(specification)))
    title = specification["title"]["text"]
    return html_page(title, '<div id="vis"></div>', style=_STYLE, scripts=scripts)

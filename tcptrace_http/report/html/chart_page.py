"""One chart as a page that fetches nothing, with a menu that saves it as SVG or PNG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from tcptrace_http.html_page import script_json
from tcptrace_http.report.html.drawings import library

if TYPE_CHECKING:
    import altair as alt

__all__ = ["chart_page"]

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="vis"></div>
<script>{library}</script>
<script>
const actions = {{ export: true, source: false, editor: false }};
vegaEmbed("#vis", {chart}, {{ renderer: "svg", actions }});
</script>
</body>
</html>
"""


def chart_page(chart: alt.LayerChart) -> str:
    """The page.

    :raises MissingExtra: what draws charts is not installed.
    """
    specification = chart.to_dict()
    title = escape(specification["title"]["text"])
    return _PAGE.format(title=title, library=library(), chart=script_json(specification))

"""Page with charts that have tooltips, and tables that sort and filter.

The page fetches nothing: charts, scripts and styles are inside.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tcptrace_http.html_page import html_page, script_json, style_of
from tcptrace_http.report.html.drawings import library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

__all__ = ["chart_section", "interactive_page", "table_of", "table_section"]


def interactive_page(
    title: str, body: str, *, charts: Mapping[str, Any], tables: Mapping[str, Any], style: str = ""
) -> str:
    """Return the page; ``body`` has a section for each of the ``charts`` (Vega-Lite) and ``tables``.

    :raises MissingExtra: charts are requested, but the chart library is not installed.
    """
    data = f"const CHARTS = {script_json(charts)};\nconst TABLES = {script_json(tables)};\n"
    scripts = (library() if charts else "", data + _script())
    return html_page(title, body, style=style_of("tcptrace_http.report.html") + style, scripts=scripts)


def chart_section(name: str, title: str, *notes: str) -> str:
    """Return the section of a chart; ``notes`` are text before it."""
    told = "".join(f"<p>{escape(note)}</p>" for note in notes if note)
    return (
        f'<section id="chart-{name}"><h2>{escape(title)}</h2>{told}'
        f'<div class="chart" data-chart="{name}"></div></section>'
    )


def table_of(
    title: str, frame: pl.DataFrame, *, example: str = "flow=3", selected_by: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a table for the page's script.

    ``example`` is a sample filter. ``selected_by`` are columns shared with charts: a click on a chart's mark
    with all of them shows the rows with its values.
    """
    return {
        "title": title,
        "columns": frame.columns,
        "rows": frame.rows(),
        "example": example,
        "selected_by": list(selected_by),
    }


def table_section(name: str, table: Mapping[str, Any]) -> str:
    """Return the section of a table."""
    count = len(table["rows"])
    return (
        f'<section id="{name}"><h2>{escape(table["title"])} <small>{count:,}</small></h2>'
        f'<input type="search" placeholder="Filter: words, or {escape(table["example"])}"'
        f' aria-label="Filter {escape(table["title"])}">'
        f'<div class="scroll table"><table data-table="{name}"><thead></thead><tbody></tbody></table></div>'
        '<p class="quiet" data-shown></p></section>'
    )


@cache
def _script() -> str:
    return files("tcptrace_http.report.html").joinpath("report.js").read_text(encoding="utf-8")

"""A chart as a file: HTML, SVG, PNG or Vega-Lite, as its name says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.errors import MissingExtra

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

__all__ = ["check_chart_file", "save_chart"]

_SUFFIXES: Final = (".html", ".svg", ".png", ".json")


def check_chart_file(output: Path) -> None:
    """That a chart can be written to this file, before anything large is read.

    :raises click.UsageError: the name does not say what to write.
    :raises MissingExtra: what draws it is not installed.
    """
    from importlib.util import find_spec

    if output.suffix not in _SUFFIXES:
        raise click.UsageError(f"{output}: the file's name says what to write; end it with {', '.join(_SUFFIXES)}")
    for module in ("altair",) if output.suffix == ".json" else ("altair", "vl_convert"):
        if find_spec(module) is None:
            raise MissingExtra(f"{output.suffix} needs {module}: pip install 'tcptrace-http[charts]'")


def save_chart(drawn: alt.LayerChart, output: Path) -> None:
    """Write the file; HTML has all it needs in it."""
    if output.suffix == ".json":
        output.write_text(drawn.to_json(), encoding="utf-8")
    elif output.suffix == ".html":
        from tcptrace_http.report.html.chart_page import chart_page

        output.write_text(chart_page(drawn), encoding="utf-8")
    else:
        drawn.save(str(output), scale_factor=2 if output.suffix == ".png" else 1)

"""A chart as a file: HTML, SVG, PNG or Vega-Lite, as its name says."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

import click

from tcptrace_http.errors import MissingExtra
from tcptrace_http.output_file import write_bytes, write_text

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
        write_text(output, drawn.to_json())
    elif output.suffix == ".html":
        from tcptrace_http.report.html.chart_page import chart_page

        write_text(output, chart_page(drawn))
    else:
        kind: Any = output.suffix.removeprefix(".")
        made = io.StringIO() if kind == "svg" else io.BytesIO()
        drawn.save(made, format=kind, scale_factor=2 if kind == "png" else 1)
        content = made.getvalue()
        write_bytes(output, content if isinstance(content, bytes) else content.encode())

"""Chart file: HTML, SVG, PNG or Vega-Lite, by its name."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

import click

from tcptrace_http.errors import MissingExtra
from tcptrace_http.output_file import write_bytes, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import altair as alt

__all__ = ["check_chart_file", "check_charts", "save_chart"]

_SUFFIXES: Final = (".html", ".svg", ".png", ".json")
#: Packages that draw: vl-convert provides Vega for pages and makes images.
_DRAWERS: Final = ("altair", "vl_convert")


def check_chart_file(output: Path) -> None:
    """Check that the file can hold a chart, before any large read.

    :raises click.UsageError: the name has no known format.
    :raises MissingExtra: the chart library is not installed.
    """
    if output.suffix not in _SUFFIXES:
        raise click.UsageError(f"{output}: the suffix selects the format; use one of {', '.join(_SUFFIXES)}")
    if output.suffix == ".json":
        _check_installed(output.suffix, ("altair",))
    else:
        _check_installed(output.suffix, _DRAWERS)


def check_charts(format_name: str) -> None:
    """Check that a report of this format can have its charts, before any read or write.

    :raises MissingExtra: the chart library is not installed.
    """
    _check_installed(f"--format {format_name}", _DRAWERS)


def _check_installed(what: str, modules: Sequence[str]) -> None:
    from importlib.util import find_spec

    for module in modules:
        if find_spec(module) is None:
            raise MissingExtra(f"{what} needs {module}", "charts")


def save_chart(drawn: alt.LayerChart, output: Path) -> None:
    """Write the file; HTML is self-contained."""
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

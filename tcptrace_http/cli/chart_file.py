"""The file that a chart is written to: its name says whether it is HTML, SVG, PNG or Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.errors import MissingExtra

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

__all__ = ["check_name", "needs_extras", "save"]

_SUFFIXES: Final = (".html", ".svg", ".png", ".json")


def check_name(output: Path) -> None:
    """That the file's name says what to write.

    :raises click.UsageError: it does not.
    """
    if output.suffix not in _SUFFIXES:
        raise click.UsageError(f"{output}: the file's name says what to write; end it with {', '.join(_SUFFIXES)}")


def needs_extras(output: Path) -> None:
    """What draws must be there before a large capture is read.

    :raises MissingExtra: it is not installed.
    """
    from importlib.util import find_spec

    for module in ("altair",) if output.suffix == ".json" else ("altair", "vl_convert"):
        if find_spec(module) is None:
            raise MissingExtra(f"{output.suffix} needs {module}: pip install 'tcptrace-http[charts]'")


def save(drawn: alt.LayerChart, output: Path) -> None:
    """Write the file; HTML has all it needs in it."""
    if output.suffix == ".json":
        output.write_text(drawn.to_json(), encoding="utf-8")
    elif output.suffix == ".html":
        from tcptrace_http.report.html.chart_page import chart_page

        output.write_text(chart_page(drawn), encoding="utf-8")
    else:
        drawn.save(str(output), scale_factor=2 if output.suffix == ".png" else 1)

"""``tcptrace-http analyze``: what happened in captures, and what to change."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.cli.progress import Progress
from tcptrace_http.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from tcptrace_http.analysis import Analysis

__all__ = ["analyze"]

_EXIT_UNREADABLE: Final = 2
_STANDARD_OUTPUT: Final = "-"
#: Formats that show a whole analysis; the others write one table.
_WHOLE: Final = ("text", "json")
_FORMATS: Final = (*_WHOLE, "ndjson", "csv", "parquet")
_DEFAULT_TABLE: Final = "transactions"
_TABLE_OF_STATISTICS: Final = "flows"


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(_FORMATS),
    default="text",
    help="text and json show everything; ndjson, csv and parquet write one table. Default: text.",
)
@click.option(
    "--table",
    type=click.Choice(tuple(TABLES)),
    help="The table to write, and the one --where selects from. Default: transactions.",
)
@click.option("-o", "--output", default=_STANDARD_OUTPUT, metavar="PATH", help="Write to this file.")
@click.option(
    "--where",
    metavar="EXPR",
    help="Keep only rows of the table for which this SQL expression is true, and what belongs to them: "
    "\"status >= 500 and host = 'a.example'\". Times are Datetime, durations Duration.",
)
@click.option("--quiet", is_flag=True, help="No progress and no notices on standard error.")
def analyze(
    captures: tuple[str, ...], format_name: str, table: str | None, output: str, where: str | None, quiet: bool
) -> int:
    """Analyse captures: pcap or pcapng, also packed with gzip or zstd; - is standard input.

    Globs are expanded. Of several captures the readable ones are analysed; the exit code is 2 when
    none could be read.

    With --format json, one capture is one object and several (or a glob) are an array of objects.
    In a table of several captures the first column says which one a row is from.
    """
    if table is not None and format_name in _WHOLE and where is None:
        raise click.UsageError("--table needs --where, or a format that writes a table: ndjson, csv or parquet")
    table = table or _DEFAULT_TABLE
    paths = _capture_paths(captures, output)
    is_one = list(captures) == paths and len(paths) == 1
    # One after the other: the rows of many captures need not be in memory together.
    analyses = (made for path in paths if (made := _analysis(path, table, where, quiet=quiet)) is not None)
    first = next(analyses, None)
    if first is None:
        return _EXIT_UNREADABLE
    with _binary(output) as file:
        _writer(format_name, table, is_one=is_one)(chain([first], analyses), file)
    return 0


def _capture_paths(captures: tuple[str, ...], output: str) -> list[str]:
    """The files to read, none of which may be the one to write."""
    from tcptrace_http.capture import expand

    paths = list(expand(captures))
    if output != _STANDARD_OUTPUT and os.path.exists(output):
        for path in paths:
            if os.path.exists(path) and os.path.samefile(path, output):
                raise click.UsageError(f"the output {output} is one of the captures; it would be overwritten")
    return paths


def _analysis(path: str, table: str, where: str | None, *, quiet: bool) -> Analysis | None:
    """The analysis of one capture, or what is selected from it; None, with a message, where it cannot be read."""
    from tcptrace_http import analysis
    from tcptrace_http.errors import CaptureError

    try:
        with Progress(quiet=quiet) as progress:
            made = analysis.analyze(
                path, tables={table}, statistics=table == _TABLE_OF_STATISTICS, progress=progress
            )
    except CaptureError as error:
        click.echo(f"tcptrace-http: {error}", err=True)
        return None
    if made.capture.truncated and not quiet:
        click.echo(f"tcptrace-http: {path}: the capture is cut short; analysed as far as it goes", err=True)
    return made if where is None else made.where(where, table=table)


def _writer(format_name: str, table: str, *, is_one: bool) -> Callable[[Iterable[Analysis], BinaryIO], None]:
    if format_name == "text":
        from tcptrace_http.report import text

        return lambda analyses, file: text.write(analyses, file, width=_width(), colour=_wants_colour(file))
    if format_name == "json":
        from tcptrace_http.report import json

        return lambda analyses, file: json.write(analyses, file, is_one=is_one)
    from tcptrace_http.report import tables

    return lambda analyses, file: tables.write(analyses, file, table, format_name, is_one=is_one)


def _width() -> int | None:
    """The width of the terminal, or what COLUMNS says; None where neither is there."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    import shutil

    return shutil.get_terminal_size().columns


def _wants_colour(file: BinaryIO) -> bool:
    # An empty NO_COLOR counts as unset (no-color.org).
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def _binary(output: str) -> Iterator[BinaryIO]:
    if output == _STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open(output, "wb") as file:
        yield file

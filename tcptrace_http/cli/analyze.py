"""``tcptrace-http analyze``: analysis of captures, with remedies."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tcptrace_http.capture_stream import STANDARD_INPUT
from tcptrace_http.cli.completion import files
from tcptrace_http.cli.dataset import dataset_part, write_table
from tcptrace_http.cli.key_log import key_log_option
from tcptrace_http.cli.output import STANDARD_OUTPUT, check_outputs, opened
from tcptrace_http.cli.progress import Progress, Working
from tcptrace_http.interruption import interruptible
from tcptrace_http.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.corpus.part import Part
    from tcptrace_http.errors import CaptureError

__all__ = ["analyze"]

_EXIT_UNREADABLE: Final = 2
#: Formats of a whole analysis; the others write one table.
_WHOLE: Final = ("text", "json", "html", "har", "xplot")
_FORMATS: Final = (*_WHOLE, "ndjson", "csv", "csv-safe", "parquet")
_WITH_SEGMENTS: Final = ("html", "xplot")
_DEFAULT_TABLE: Final = "transactions"
_TABLE_OF_STATISTICS: Final = "flows"


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True, shell_complete=files)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(_FORMATS),
    default="text",
    help="text, json and html show everything, har is for browser tools, xplot one graph per flow into the"
    " folder of --output; ndjson, csv and parquet write one table. csv-safe is csv for spreadsheets:"
    " cells that begin"
    " with = + - @ get an apostrophe, and control characters are escaped. Default: text.",
)
@click.option(
    "--table",
    type=click.Choice(tuple(TABLES)),
    metavar="TABLE",
    help="The table to write, and the one --where selects from; explain lists them. Default: transactions.",
)
@click.option(
    "-o",
    "--output",
    default=STANDARD_OUTPUT,
    metavar="PATH",
    shell_complete=files,
    help="Write to this file.",
)
@click.option(
    "--where",
    metavar="EXPR",
    help="Keep only rows of the table for which this SQL expression is true, with their related rows: "
    "\"status >= 500 and host = 'a.example'\", \"elapsed > '40 ms'\".",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Threads for a large capture (one reads ahead, the others share the flows), or captures read at"
    " once. The rows are the same for any number. Default: one for each core.",
)
@click.option(
    "--follow",
    "follows",
    is_flag=True,
    help="Write rows (ndjson or csv) as transactions end, of a pipe or a growing file, until SIGINT or SIGTERM.",
)
@key_log_option
@click.option("--redact", is_flag=True, help="Replace query values, Referer, Location and users of URLs.")
@click.option("--quiet", is_flag=True, help="No progress and no notices on standard error.")
def analyze(  # noqa: PLR0913, PLR0917 -- one parameter an option
    captures: tuple[str, ...],
    format_name: str,
    table: str | None,
    output: str,
    where: str | None,
    jobs: int | None,
    follows: bool,
    keylog: str | None,
    redact: bool,
    quiet: bool,
) -> int:
    r"""Analyse captures: pcap or pcapng, optionally packed with gzip or zstd; - is standard input.

    Ctrl-C (SIGINT or SIGTERM) ends standard input, and the report covers the packets read so far.

    Globs are expanded. Unreadable captures are skipped; the exit code is 2 if no capture is readable.

    With --format json, one capture is one object, and several captures (or a glob) are an array of objects.
    In a table of several captures, the first column names the capture.

    A dataset (see corpus) can replace a capture, also in part: DATASET@2026-11-23..2026-11-24.

    \b
    Examples:
      tcptrace-http analyze slow.pcapng
      tcptrace-http analyze --format html -o slow.html slow.pcapng
      tcptrace-http analyze --format csv --table waits *.pcap
      tcptrace-http analyze --where "status >= 500" slow.pcapng
      tcpdump -U -w - tcp | tcptrace-http analyze --follow --format ndjson -
    """
    if table is not None and format_name in _WHOLE and where is None:
        raise click.UsageError("--table needs --where, or a format that writes a table: ndjson, csv or parquet")
    if format_name == "xplot" and output == STANDARD_OUTPUT:
        raise click.UsageError("--format xplot writes several files; name a folder with -o")
    table = table or _DEFAULT_TABLE
    _keep_within(jobs)
    paths = _capture_paths(captures, output, keylog)
    if format_name == "html":
        _check_page(paths)
    if follows:
        from tcptrace_http.cli.follow import follow

        if where is not None or output != STANDARD_OUTPUT:
            raise click.UsageError("--follow writes all rows to standard output: leave out --where and -o")
        return follow(paths, table, format_name, keylog=keylog, redact=redact, quiet=quiet)
    is_one = list(captures) == paths and len(paths) == 1
    if format_name not in _WHOLE and (part := dataset_part(paths[0])) is not None:
        if len(paths) > 1 or redact:
            raise click.UsageError("write one dataset at a time, without --redact")
        write_table(part, table, where, format_name, output)
        return 0
    made = _Reading(format_name, table, where, jobs, keylog, redact, quiet).each(paths)
    first = next(made, None)
    if first is None:
        return _EXIT_UNREADABLE
    if format_name == "xplot":
        return _graphs(chain([first], made), Path(output))
    drawing = Working("drawing the charts", quiet=quiet) if format_name == "html" else nullcontext()
    with opened(output) as file, drawing:
        _writer(format_name, table, is_one=is_one)(chain([first], made), file)
    return 0


def _check_page(paths: Sequence[str]) -> None:
    """Check that a page can be written, before any read."""
    from tcptrace_http.cli.chart_file import check_charts

    if len(paths) > 1:
        raise click.UsageError("--format html writes a page of one capture")
    check_charts("html")


def _keep_within(jobs: int | None) -> None:
    """Limit the native libraries, which are not loaded yet, to this number of threads and to little memory.

    Small memory pages can be returned when unused. The user's settings take precedence.
    """
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
    if jobs is not None:
        os.environ.setdefault("POLARS_MAX_THREADS", str(jobs))


def _graphs(analyses: Iterable[Analysis], folder: Path) -> int:
    """Write the graphs of each capture, in one folder per capture if there are several."""
    from tcptrace_http.report import xplot

    all_of_them = list(analyses)
    for analysis in all_of_them:
        own = folder if len(all_of_them) == 1 else folder / Path(analysis.capture.path).name
        xplot.write(analysis, own)
    return 0


def _capture_paths(captures: tuple[str, ...], output: str, keylog: str | None) -> list[str]:
    """Return the files to read; none of them may be the output."""
    from tcptrace_http.capture import expand

    paths = list(expand(captures))
    check_outputs([output], [*paths, keylog])
    return paths


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reading of captures: the requested result, and the number of threads."""

    format_name: str
    table: str
    where: str | None
    jobs: int | None
    keylog: str | None
    redact: bool
    quiet: bool

    def each(self, paths: Sequence[str]) -> Iterator[Any]:
        """Yield the result of each readable capture in order, and the message of the others.

        Several small captures are read at once; large ones one by one, by all threads.
        """
        from tcptrace_http.capture import cores, is_small

        jobs = self.jobs or cores()
        if len(paths) == 1 or jobs == 1:
            each: Iterator[Any] = map(self._made, paths)
        else:
            from tcptrace_http.cli.in_order import in_order

            each = in_order(paths, self._made, jobs=jobs, is_apart=lambda path: not is_small(path))
        for made in each:
            if isinstance(made, Exception):
                click.echo(f"tcptrace-http: {made}", err=True)
            else:
                yield made

    def _made(self, path: str) -> Analysis | Iterator[bytes] | CaptureError:
        from tcptrace_http.errors import CaptureError

        try:
            with Progress(quiet=self.quiet) as progress:
                return self._interruptibly(progress) if path == STANDARD_INPUT else self._read(path, progress)
        except CaptureError as error:
            return error

    def _interruptibly(self, progress: Progress) -> Analysis | Iterator[bytes]:
        """Read standard input to its end, or until a signal."""
        with interruptible() as interruption:
            made = self._read(STANDARD_INPUT, progress)
        if interruption.is_ended and not self.quiet:
            click.echo("tcptrace-http: interrupted; analysed as far as standard input was read", err=True)
        return made

    def _read(self, path: str, progress: Progress) -> Analysis | Iterator[bytes]:
        from tcptrace_http import analysis

        if (part := dataset_part(path)) is not None:
            return self._of_dataset(part)
        if self.format_name == "json" and self.where is None and not self.redact:
            from tcptrace_http.report import json

            return json.document(
                self._noticed(
                    analysis.analyze_in_batches(path, jobs=self.jobs, progress=progress, keylog=self.keylog)
                )
            )
        whole = analysis.analyze(
            path,
            tables={"segments"} if self.format_name in _WITH_SEGMENTS else {self.table},
            statistics=self.table == _TABLE_OF_STATISTICS,
            jobs=self.jobs,
            progress=progress,
            keylog=self.keylog,
        )
        (whole,) = self._noticed([whole])
        if self.where is not None:
            whole = whole.where(self.where, table=self.table)
        if self.redact:
            whole = whole.redacted()
        if self.format_name == "json":
            from tcptrace_http.report import json

            return json.document([whole])
        return whole

    def _of_dataset(self, part: Part) -> Analysis | Iterator[bytes]:
        from tcptrace_http.corpus.merged import merged

        whole: Analysis = merged(part, self.where, table=self.table)
        whole = whole.redacted() if self.redact else whole
        if self.format_name == "json":
            from tcptrace_http.report import json

            return json.document([whole])
        return whole

    def _noticed(self, batches: Iterable[Analysis]) -> Iterator[Analysis]:
        """Yield the batches, and warn if the last one reports an incomplete capture."""
        for batch in batches:
            yield batch
            capture = batch.capture
            # The next batch is made while this one is released.
            del batch
        if capture.truncated and not self.quiet:
            click.echo(
                f"tcptrace-http: {capture.path}: the capture is cut short; analysed as far as it goes", err=True
            )


def _writer(format_name: str, table: str, *, is_one: bool) -> Callable[[Iterable[Any], BinaryIO], None]:
    if format_name == "text":
        from tcptrace_http.report import text

        return lambda analyses, file: text.write(analyses, file, width=_width(), colour=_wants_colour(file))
    if format_name == "json":
        from tcptrace_http.report import json

        return lambda documents, file: json.write(documents, file, is_one=is_one)
    if format_name == "html":
        from tcptrace_http.report import html

        return html.write
    if format_name == "har":
        from tcptrace_http.report import har

        return har.write
    from tcptrace_http.report import tables

    return lambda analyses, file: tables.write(analyses, file, table, format_name, is_one=is_one)


def _width() -> int | None:
    """Return the width of the terminal, or of COLUMNS; None without either."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    import shutil

    return shutil.get_terminal_size().columns


def _wants_colour(file: BinaryIO) -> bool:
    # An empty NO_COLOR counts as unset (no-color.org).
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

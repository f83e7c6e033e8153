"""``tcptrace-http corpus report``: report on a dataset of many captures."""

from __future__ import annotations

import re
import shutil
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.cli.output import STANDARD_OUTPUT, check_outputs, write
from tcptrace_http.cli.progress import Working

if TYPE_CHECKING:
    from tcptrace_http.corpus_report import CorpusReport

__all__ = ["report"]

_WIDTH: Final = 100
_AGO: Final = re.compile(r"(\d{1,5})([hdw])")
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class _Since(click.ParamType[datetime | timedelta]):
    """Day or time in UTC, or a duration before the last transaction."""

    name = "since"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> datetime | timedelta:
        ago = _AGO.fullmatch(str(value))
        if ago:
            return int(ago[1]) * _UNITS[ago[2]]
        try:
            time = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is neither a date (2026-11-30, 2026-11-30T08:00) nor 12h, 7d or 2w", param, ctx)
        return time if time.tzinfo else time.replace(tzinfo=UTC)


@click.command()
@click.argument("dataset", metavar="DATASET")
@click.option(
    "--since",
    type=_Since(),
    metavar="TIME",
    help="Start of the new findings: a date, a time (UTC), or 12h, 7d, 2w before the last transaction."
    " Default: the last day.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", "json", "html")),
    default="text",
    help="text, json, or html: a page with a trend chart. Default: text.",
)
@click.option("-o", "--output", default=STANDARD_OUTPUT, metavar="PATH", help="Write to this file.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def report(dataset: str, since: datetime | timedelta | None, format_name: str, output: str, quiet: bool) -> None:
    r"""Report the time losses of a dataset, the new findings, and their first day.

    Findings are grouped by detector, host, path and server software. A trend is the share of a host's
    transactions with the finding per day (per hour, if the dataset is shorter than three days). Notes
    (severity info) are left out.

    \b
    Examples:
      tcptrace-http corpus report dataset
      tcptrace-http corpus report --since 7d s3://bucket/dataset
      tcptrace-http corpus report --format html -o report.html dataset
    """
    from tcptrace_http.corpus import corpus
    from tcptrace_http.corpus_report import corpus_report

    check_outputs([output], [])
    with Working("summing up", quiet=quiet):
        made = corpus_report(corpus(dataset), name=dataset, since=since)
        content = _rendered(made, format_name)
    write(output, content.encode("utf-8", errors="replace"))


def _rendered(made: CorpusReport, format_name: str) -> str:
    if format_name == "html":
        from tcptrace_http.corpus_report.page import page

        return page(made)
    if format_name == "json":
        from tcptrace_http.corpus_report.json import document

        return document(made) + "\n"
    from tcptrace_http.corpus_report.text import rendered

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    return rendered(made, width=width)

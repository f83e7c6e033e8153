"""``tcptrace-http diff``: differences between two captures or scenarios, with their causes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.cli.chart_file import check_chart_file, check_charts, save_chart
from tcptrace_http.cli.completion import sides
from tcptrace_http.cli.dataset import dataset_part
from tcptrace_http.cli.key_log import key_log_option
from tcptrace_http.cli.output import check_outputs, write
from tcptrace_http.cli.progress import Working
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    from tcptrace_http.corpus.part import Part
    from tcptrace_http.difference import Difference

__all__ = ["diff"]

#: Copy of ``CHARTS`` of :mod:`tcptrace_http.difference.plots`; a test compares them. That import is slow.
CHART_NAMES: Final = ("causes", "transactions", "sequence")
_PAIR: Final = ":"
_WIDTH: Final = 80


class _Numbers(click.ParamType[int | tuple[int, int]]):
    """Number ``N``, or pair ``LEFT:RIGHT``."""

    name = "numbers"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int | tuple[int, int]:
        parts = str(value).split(_PAIR)
        if len(parts) > 2 or not all(part.isascii() and part.isdigit() for part in parts):  # noqa: PLR2004
            self.fail(f"{value!r} is neither a number nor LEFT:RIGHT", param, ctx)
        numbers = tuple(map(int, parts))
        return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


@click.command()
@click.argument("left", metavar="MEASURED", shell_complete=sides)
@click.argument("right", metavar="MODELLED", shell_complete=sides)
@click.option(
    "--retrieval",
    type=_Numbers(),
    metavar="N[:M]",
    help="Only this retrieval of the left side, with its partner or retrieval M of the right side.",
)
@click.option(
    "--flow",
    type=_Numbers(),
    metavar="N[:M]",
    help="The flows to compare segment by segment. Default: those that differ most.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", "json", "html")),
    default="text",
    help="text, json, or html: a report with charts. Default: text.",
)
@click.option(
    "--chart",
    type=click.Choice(CHART_NAMES),
    help="One chart in place of the text, to the file of --output: .html, .svg, .png or .json.",
)
@click.option("-o", "--output", default="-", metavar="PATH", help="Write to this file.")
@key_log_option
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def diff(  # noqa: PLR0913, PLR0917 -- one parameter an option
    left: str,
    right: str,
    retrieval: int | tuple[int, int] | None,
    flow: int | tuple[int, int] | None,
    format_name: str,
    chart: str | None,
    output: str,
    keylog: str | None,
    quiet: bool,
) -> None:
    r"""Compare two sides, and split the time difference exactly by cause.

    Each side is a capture (pcap or pcapng) or a scenario file (.toml). A scenario is simulated and captured
    at its client. One side may be the name of a strategy (simulate --list), of a fix (whatif --list), or of
    several (http11+no-nagle). The path, hosts and page of the simulation are then inferred from the other
    side. The name "inferred" is the unchanged inference. Differences are left minus right. One key log holds
    the secrets of both sides. The exit code is 0 for any difference, and 2 if a side cannot be read or
    modelled.

    \b
    Examples:
      tcptrace-http diff before.pcap after.pcap
      tcptrace-http diff measured.pcapng model.toml --retrieval 0
      tcptrace-http diff measured.pcapng http11-pipelined
      tcptrace-http diff measured.pcapng no-nagle
      tcptrace-http diff --format html -o report.html before.pcap after.pcap
      tcptrace-http diff --chart causes -o causes.svg before.pcap after.pcap
      tcptrace-http diff week@2026-11-23..2026-11-23 week@2026-11-24..2026-11-24
    """
    from tcptrace_http.difference import diff as compared

    check_outputs([output], [left, right, keylog])
    parts = [part for part in map(dataset_part, (left, right)) if part is not None]
    if parts:
        if len(parts) == 1:
            raise click.UsageError(
                "a dataset is compared with a dataset, or with another time of it (DATASET@A..B)"
            )
        if format_name == "html" or chart is not None or retrieval is not None or flow is not None:
            raise click.UsageError(
                "datasets are compared as a whole, as text or json: leave out the other options"
            )
        _compare_datasets(parts[0], parts[1], format_name, output, quiet=quiet)
        return
    if chart is not None:
        check_chart_file(Path(output))
    elif format_name == "html":
        check_charts(format_name)
    with Working("comparing", quiet=quiet):
        difference = compared(left, right, retrieval=retrieval, flow=flow, keylog=keylog)
        if chart is not None:
            _draw(difference, chart, Path(output))
            return
        content = _rendered(difference, format_name)
    write(output, content)


def _compare_datasets(left: Part, right: Part, format_name: str, output: str, *, quiet: bool) -> None:
    from tcptrace_http.corpus.difference import compare

    with Working("comparing", quiet=quiet):
        difference = compare(left, right)
        text = difference.json() if format_name == "json" else difference.text()
    write(output, text.encode("utf-8", errors="surrogateescape"))


def _draw(difference: Difference, chart: str, output: Path) -> None:
    try:
        save_chart(difference.plot.chart(chart), output)
    except NothingToDraw as error:
        raise click.UsageError(str(error)) from None


def _rendered(difference: Difference, format_name: str) -> bytes:
    """Return the document as bytes; file names may have undecodable bytes, but a page may not."""
    if format_name == "html":
        return difference.html().encode("utf-8", errors="replace")
    text = difference.json() if format_name == "json" else difference.text(width=_WIDTH)
    return text.encode("utf-8", errors="surrogateescape")

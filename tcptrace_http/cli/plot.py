"""``tcptrace-http plot``: chart of a capture, or comparison of several, as HTML, SVG, PNG or Vega-Lite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tcptrace_http.cli.chart_file import check_chart_file, save_chart
from tcptrace_http.cli.completion import files
from tcptrace_http.cli.dataset import dataset_part
from tcptrace_http.cli.key_log import key_log_option
from tcptrace_http.cli.output import check_outputs
from tcptrace_http.cli.progress import Progress, Working
from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt

    from tcptrace_http.analysis import Analysis

__all__ = ["plot"]

#: Copy of ``CHARTS`` of :mod:`tcptrace_http.charts`; a test compares them. That import is slow.
CHART_NAMES: Final = (
    *("time-sequence", "window", "rtt", "throughput"),
    *("waterfall", "waits", "wait-distribution", "comparison"),
)
_OF_FLOWS: Final = ("time-sequence", "window", "rtt", "throughput")
_WITH_DIRECTION: Final = ("time-sequence", "window")
_COMPARISON: Final = "comparison"


@click.command()
@click.argument("chart", type=click.Choice(CHART_NAMES), metavar="CHART")
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True, shell_complete=files)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="A file .html, .svg, .png or .json."
)
@click.option("--flow", type=click.IntRange(min=0), help="Which connection. Default: the first one.")
@click.option(
    "--retrieval", type=click.IntRange(min=0), help="Which retrieval, of the waterfall. Default: the first one."
)
@click.option(
    "--direction",
    type=click.Choice(("server_to_client", "client_to_server")),
    help="Whose segments. Default: the server's.",
)
@key_log_option
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def plot(  # noqa: PLR0913, PLR0917 -- one parameter an option
    chart: str,
    captures: tuple[str, ...],
    output: Path,
    flow: int | None,
    retrieval: int | None,
    direction: str | None,
    keylog: str | None,
    quiet: bool,
) -> None:
    r"""Draw one chart of a capture, or a comparison of two to four.

    \b
    time-sequence      segments, ACKs and windows of a flow, with its stalls
    window             bytes in flight of a flow, and the receive window
    rtt                time from each segment of a flow to its ACK
    throughput         payload per second, of a flow or (without --flow) of all
    waterfall          the transactions of a retrieval, with the critical path
    waits              wait causes of each transaction
    wait-distribution  wait times of transactions, by cause
    comparison         wait causes of transactions in several captures

    \b
    Examples:
      tcptrace-http plot time-sequence slow.pcapng -o slow.html
      tcptrace-http plot waterfall page.pcap --retrieval 2 -o page.svg
      tcptrace-http plot comparison before.pcap after.pcap -o change.png
    """
    check_chart_file(output)
    check_outputs([output], [*captures, keylog])
    if chart != _COMPARISON and len(captures) > 1:
        raise click.UsageError(f"the chart {chart} takes one capture; comparison takes several")
    options = _options(chart, flow=flow, retrieval=retrieval, direction=direction)
    analyses = [_analysed(capture, chart, keylog, quiet=quiet) for capture in captures]
    with Working("drawing the chart", quiet=quiet):
        try:
            drawn = (
                _compared(captures, analyses) if chart == _COMPARISON else analyses[0].plot.chart(chart, **options)
            )
        except NothingToDraw as error:
            raise click.UsageError(f"{', '.join(captures)}: {error}") from None
        save_chart(drawn, output)


def _analysed(capture: str, chart: str, keylog: str | None, *, quiet: bool) -> Analysis:
    from tcptrace_http import analysis

    if (part := dataset_part(capture)) is not None:
        from tcptrace_http.corpus.merged import merged

        return merged(part)
    tables = {"segments"} if chart in _OF_FLOWS else set()
    with Progress(quiet=quiet) as progress:
        return analysis.analyze(capture, tables=tables, statistics=False, progress=progress, keylog=keylog)


def _compared(captures: tuple[str, ...], analyses: list[Analysis]) -> alt.LayerChart:
    """Return the comparison with file names as labels, or with paths if two names are equal."""
    from tcptrace_http.charts import comparison

    names = [Path(capture).name for capture in captures]
    names = names if len(set(names)) == len(names) else list(captures)
    return comparison.draw({name: each.waits for name, each in zip(names, analyses, strict=True)})


def _options(chart: str, **requested: Any) -> dict[str, Any]:
    """Return the given options; an option without a use in the chart is an error."""
    used = {
        "flow": chart in _OF_FLOWS,
        "retrieval": chart == "waterfall",
        "direction": chart in _WITH_DIRECTION,
    }
    given = {name: value for name, value in requested.items() if value is not None}
    for name in given:
        if not used[name]:
            raise click.UsageError(f"--{name} does not apply to the chart {chart}")
    return given

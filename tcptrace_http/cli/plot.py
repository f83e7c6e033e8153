"""``tcptrace-http plot``: one chart of a capture, as HTML, SVG, PNG or Vega-Lite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tcptrace_http.cli.progress import Progress
from tcptrace_http.errors import MissingExtra

if TYPE_CHECKING:
    import altair as alt

__all__ = ["plot"]

#: As ``CHARTS`` of :mod:`tcptrace_http.charts` has them; a test compares. Importing it takes time.
CHART_NAMES: Final = (
    *("time-sequence", "window", "rtt", "throughput"),
    *("waterfall", "waits", "wait-distribution"),
)
_OF_FLOWS: Final = ("time-sequence", "window", "rtt", "throughput")
_WITH_DIRECTION: Final = ("time-sequence", "window")
_SUFFIXES: Final = (".html", ".svg", ".png", ".json")


@click.command()
@click.argument("chart", type=click.Choice(CHART_NAMES), metavar="CHART")
@click.argument("capture", metavar="CAPTURE")
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
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def plot(  # noqa: PLR0913, PLR0917 -- one parameter an option
    chart: str,
    capture: str,
    output: Path,
    flow: int | None,
    retrieval: int | None,
    direction: str | None,
    quiet: bool,
) -> None:
    r"""Draw one chart of a capture.

    \b
    time-sequence      segments, ACKs and windows of a flow, with stalls shaded and labelled
    window             bytes in flight of a flow, and the receive window
    rtt                how long each segment of a flow took to be acknowledged
    throughput         payload a second, of a flow or (without --flow) of all
    waterfall          the transactions of a retrieval, with the critical path
    waits              what each transaction waited for
    wait-distribution  how long transactions waited, by cause

    \b
    Examples:
      tcptrace-http plot time-sequence slow.pcapng -o slow.html
      tcptrace-http plot waterfall page.pcap --retrieval 2 -o page.svg
    """
    if output.suffix not in _SUFFIXES:
        raise click.UsageError(f"{output}: the file's name says what to write; end it with {', '.join(_SUFFIXES)}")
    options = _options(chart, flow=flow, retrieval=retrieval, direction=direction)
    from tcptrace_http import analysis

    with Progress(quiet=quiet) as progress:
        whole = analysis.analyze(capture, tables={"segments"}, statistics=False, progress=progress)
    try:
        drawn = whole.plot.chart(chart, **options)
    except ValueError as error:
        raise click.UsageError(f"{capture}: {error}") from None
    _save(drawn, output)


def _options(chart: str, **asked: Any) -> dict[str, Any]:
    """The options that were given; one that the chart has no use for is an error."""
    used = {
        "flow": chart in _OF_FLOWS,
        "retrieval": chart == "waterfall",
        "direction": chart in _WITH_DIRECTION,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    for name in given:
        if not used[name]:
            raise click.UsageError(f"--{name} is nothing to the chart {chart}")
    return given


def _save(drawn: alt.LayerChart, output: Path) -> None:
    """Write the file; HTML has all it needs in it."""
    from importlib.util import find_spec

    if output.suffix == ".json":
        output.write_text(drawn.to_json(), encoding="utf-8")
        return
    if find_spec("vl_convert") is None:
        raise MissingExtra(f"{output.suffix} needs vl-convert: pip install 'tcptrace-http[charts]'")
    if output.suffix == ".html":
        drawn.save(str(output), inline=True)
    else:
        drawn.save(str(output), scale_factor=2 if output.suffix == ".png" else 1)

"""``tcptrace-http whatif``: predictions for a captured retrieval."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.cli.chart_file import check_chart_file, save_chart
from tcptrace_http.cli.completion import files, fixes, part_of_simulation
from tcptrace_http.cli.key_log import key_log_option
from tcptrace_http.cli.output import check_outputs, write
from tcptrace_http.cli.progress import Working

if TYPE_CHECKING:
    from tcptrace_http.what_if import WhatIf

__all__ = ["whatif"]

_ALL: Final = "all"
_WIDTH: Final = 80


@click.command()
@click.argument("capture", metavar="[CAPTURE]", required=False, shell_complete=files)
@click.option(
    "--fix",
    "fix_names",
    multiple=True,
    metavar="NAME",
    shell_complete=fixes,
    help="A fix, also NAME+NAME for both; repeatable; all. Default: all fixes with an effect.",
)
@part_of_simulation(
    "--strategy",
    "strategy",
    about="Another way to fetch the page; repeatable; all. Default: all.",
    name="strategy_names",
    multiple=True,
)
@click.option("--rtt", metavar="DURATION", help='Another round trip, such as "100 ms".')
@click.option("--rate", metavar="RATE", help='Another rate of the path, such as "1.5 Mb/s".')
@click.option(
    "--retrieval", type=click.IntRange(min=0), help="Which retrieval. Default: the one with most transactions."
)
@click.option("--session", is_flag=True, help="Include all visits of the retrieval's client to its server.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", "json")),
    default="text",
    help="text or json. Default: text.",
)
@click.option("-o", "--output", default="-", metavar="PATH", help="Write to this file.")
@click.option(
    "--chart", type=click.Path(path_type=Path), help="Also draw a chart to this file: .html, .svg, .png or .json."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Number of parallel simulations. Default: one per CPU."
)
@key_log_option
@click.option("--list", "lists", is_flag=True, help="List the fixes, and do nothing else.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def whatif(  # noqa: PLR0913, PLR0917 -- one parameter an option
    capture: str | None,
    fix_names: tuple[str, ...],
    strategy_names: tuple[str, ...],
    rtt: str | None,
    rate: str | None,
    retrieval: int | None,
    session: bool,
    format_name: str,
    output: str,
    chart: Path | None,
    jobs: int | None,
    keylog: str | None,
    lists: bool,
    quiet: bool,
) -> None:
    r"""Predict the page time with each fix or strategy.

    The program infers a scenario from the capture and simulates it again with each change. The first line
    gives the deviation of the scenario from the capture. Each change has its saving, the range of the saving
    over the open assumptions, and the causes that lose or gain time; in JSON these sum exactly to the
    difference.

    \b
    Examples:
      tcptrace-http whatif slow.pcapng
      tcptrace-http whatif slow.pcapng --fix no-nagle --fix one-write+no-nagle
      tcptrace-http whatif page.pcapng --strategy http11-pipelined --rtt "100 ms"
      tcptrace-http whatif page.pcapng --session --chart whatif.html
    """
    if lists:
        click.echo(_listing())
        return
    if capture is None:
        raise click.UsageError("say which CAPTURE (--list shows the fixes)")
    check_outputs([output, chart], [capture, keylog])
    if chart is not None:
        check_chart_file(chart)
    prediction = _predicted(
        capture,
        fix_names,
        strategy_names,
        rtt=rtt,
        rate=rate,
        retrieval=retrieval,
        session=session,
        jobs=jobs,
        keylog=keylog,
        quiet=quiet,
    )
    if chart is not None:
        save_chart(prediction.chart(), chart)
    every = bool(fix_names or strategy_names)
    text = prediction.json() if format_name == "json" else prediction.text(width=_WIDTH, every=every)
    write(output, text.encode("utf-8", errors="surrogateescape"))


def _predicted(  # noqa: PLR0913 -- as the command has them
    capture: str,
    fix_names: tuple[str, ...],
    strategy_names: tuple[str, ...],
    *,
    rtt: str | None,
    rate: str | None,
    retrieval: int | None,
    session: bool,
    jobs: int | None,
    keylog: str | None,
    quiet: bool,
) -> WhatIf:
    """Return the prediction; unknown names and invalid quantities are usage errors."""
    from reference_sim.quantities import bits_per_second, nanoseconds
    from reference_sim.strategies import named_strategy
    from tcptrace_http.analysis import analyze
    from tcptrace_http.errors import ScenarioError, UnknownName
    from tcptrace_http.inference import NEEDED_TABLES
    from tcptrace_http.what_if import fix_named
    from tcptrace_http.what_if import whatif as predicted

    try:
        for name in fix_names:
            if name != _ALL:
                fix_named(name)
        for name in strategy_names:
            if name != _ALL:
                named_strategy(name)
        rtt_ns = None if rtt is None else nanoseconds(rtt)
        bits = None if rate is None else bits_per_second(rate)
    except (ScenarioError, UnknownName) as error:
        raise click.UsageError(str(error)) from None
    with Working("simulating", quiet=quiet):
        return predicted(
            analyze(capture, tables=NEEDED_TABLES, keylog=keylog),
            fixes=_names(fix_names),
            strategies=_names(strategy_names),
            rtt=rtt_ns,
            rate=bits,
            retrieval=retrieval,
            session=session,
            jobs=jobs or os.cpu_count() or 1,
        )


def _names(given: tuple[str, ...]) -> tuple[str, ...] | str | None:
    return _ALL if _ALL in given else given or None


def _listing() -> str:
    from tcptrace_http.what_if import FIXES

    width = max(map(len, FIXES))
    lines = [f"{name:<{width}}  {fix.side:<6}  {fix.about}" for name, fix in FIXES.items()]
    return "\n".join(lines)

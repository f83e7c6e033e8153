"""``tcptrace-http infer``: simulator scenario from a capture."""

from __future__ import annotations

import click

from tcptrace_http.cli.completion import files
from tcptrace_http.cli.key_log import key_log_option
from tcptrace_http.cli.output import check_outputs
from tcptrace_http.cli.progress import Progress
from tcptrace_http.output_file import write_text

__all__ = ["infer"]


@click.command()
@click.argument("capture", metavar="CAPTURE", shell_complete=files)
@click.option("-o", "--output", metavar="FILE", help="Write the scenario, in TOML with comments; - is stdout.")
@click.option(
    "--retrieval", type=click.IntRange(min=0), help="Which retrieval. Default: the one with most transactions."
)
@click.option("--session", is_flag=True, help="Include all visits of the retrieval's client to its server.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", "json")),
    default="text",
    help="Format of the figures on standard output. Default: text.",
)
@key_log_option
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def infer(  # noqa: PLR0913, PLR0917 -- one parameter an option
    capture: str,
    output: str | None,
    retrieval: int | None,
    session: bool,
    format_name: str,
    keylog: str | None,
    quiet: bool,
) -> None:
    r"""Infer the path, the stacks, the page and the strategy of a captured retrieval.

    Each figure has its range, its confidence, and its frames. Figures that the capture cannot show are listed
    as assumptions. The command simulate --scenario FILE runs the scenario and makes the capture again. A
    longer retrieval is modelled up to its first 10,000 segments. If the capture has no HTTP, the scenario
    describes its FTP files.

    \b
    Examples:
      tcptrace-http infer page.pcapng
      tcptrace-http infer page.pcapng -o page.toml && tcptrace-http simulate --scenario page.toml -o again.pcapng
    """
    from tcptrace_http.analysis import analyze
    from tcptrace_http.inference import NEEDED_TABLES, infer_files
    from tcptrace_http.inference import infer as inferred
    from tcptrace_http.inference.report import as_json, as_text, as_toml

    check_outputs([output], [capture, keylog])
    with Progress(quiet=quiet) as progress:
        analysis = analyze(capture, tables=NEEDED_TABLES, progress=progress, keylog=keylog)
        if analysis.retrievals.is_empty() and not analysis.transfers.is_empty():
            inference = infer_files(analysis)
        else:
            inference = inferred(analysis, retrieval=retrieval, session=session)
    if output == "-":
        click.echo(as_toml(inference, capture), nl=False)
        return
    if output is not None:
        write_text(output, as_toml(inference, capture))
    click.echo(as_json(inference) if format_name == "json" else as_text(inference))

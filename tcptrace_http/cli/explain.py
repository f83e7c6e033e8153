"""``tcptrace-http explain``: meanings of report names, and the constraints of a segment."""

from __future__ import annotations

from difflib import get_close_matches

import click

from tcptrace_http.cli.completion import names_to_explain
from tcptrace_http.cli.key_log import key_log_option
from tcptrace_http.errors import UnknownName
from tcptrace_http.peers import PEERS

__all__ = ["explain"]


@click.command()
@click.argument("name", required=False, metavar="[NAME|CAPTURE]", shell_complete=names_to_explain)
@click.option("--peer", type=click.Choice(PEERS), help="Show which columns hold the fields of this tool.")
@click.option(
    "--frame",
    type=click.IntRange(min=1),
    is_eager=True,
    metavar="N",
    help="Explain the segment in frame N of CAPTURE: when each constraint allowed it, and which one bound it.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", "json")),
    help="Format of --frame. Default: text.",
)
@key_log_option
def explain(
    name: str | None, peer: str | None, frame: int | None, format_name: str | None, keylog: str | None
) -> None:
    r"""Explain NAME: a detector, a cause, a table, a column, a need, a kind of anomaly or flaw; a term of the
    field or a column of a text report; a metric or a preset of policies; a fix; a part of a simulation
    (strategy, page, network, TCP stack); or a claim of a paper (G3).

    Without NAME, list all names. With --peer, list the fields of that tool (or only NAME), the equivalent
    columns, and the differences.

    With --frame, explain one segment of a capture: the release times of its constraints in order, the binding
    constraint, and the file of the core that decides each.

    \b
    Examples:
      tcptrace-http explain short-initial-segment
      tcptrace-http explain transactions
      tcptrace-http explain cwnd
      tcptrace-http explain --peer tcptrace
      tcptrace-http explain --frame 12 slow.pcapng
    """
    from tcptrace_http import glossary

    if frame is not None:
        if name is None or peer is not None:
            raise click.UsageError("--frame takes one capture and no --peer: explain --frame 12 slow.pcapng")
        click.echo(_segment(name, frame, format_name, keylog))
    elif format_name is not None:
        raise click.UsageError("--format belongs to --frame: explain --frame 12 --format json slow.pcapng")
    elif peer is not None:
        click.echo(glossary.explain_peer(peer, name))
    elif name is None:
        from reference_sim.reproduction import claim
        from tcptrace_http.check import listing
        from tcptrace_http.cli.catalogue import names_listed
        from tcptrace_http.what_if import meaning

        of_each = (
            glossary.listing(),
            listing.names_listed(),
            meaning.names_listed(),
            names_listed(),
            claim.names_listed(),
        )
        click.echo("\n\n".join(of_each))
    else:
        click.echo(_meaning(name))


def _segment(capture: str, frame: int, format_name: str | None, keylog: str | None) -> str:
    """Return the constraints of the segment in that frame."""
    from tcptrace_http.explained_segment import explain_frame
    from tcptrace_http.report.explained_segment import as_json, as_text

    explained = explain_frame(capture, frame, keylog=keylog)
    return as_json(explained) if format_name == "json" else as_text(explained)


def _meaning(name: str) -> str:
    """Return all meanings of the name: in reports, policies, predictions and simulations."""
    from reference_sim import catalogue
    from reference_sim.reproduction import claim
    from tcptrace_http import glossary
    from tcptrace_http.check import listing
    from tcptrace_http.what_if import FIXES, meaning

    # A preset of policies may share its name with a simulation network, and a fix with a term or a strategy.
    in_policy = (listing.settings(name), listing.meaning(name))
    others = (*in_policy, meaning.meaning(name), catalogue.explain(name), claim.explain(name))
    try:
        meanings = [glossary.explain(name), *others]
    except UnknownName as unknown:
        if any(others):
            return "\n\n".join(filter(None, others))
        near = get_close_matches(name, [*FIXES, *(entry.name for entry in catalogue.entries())], n=1)
        if near and "did you mean" not in str(unknown):
            raise UnknownName(f"nothing is called {name!r}; did you mean {near[0]}?") from None
        raise
    return "\n\n".join(filter(None, meanings))

"""``tcptrace-http explain``: what a name in a report means."""

from __future__ import annotations

import click

from tcptrace_http.peers import PEERS

__all__ = ["explain"]


@click.command()
@click.argument("name", required=False)
@click.option("--peer", type=click.Choice(PEERS), help="Show which columns hold the fields of this tool.")
def explain(name: str | None, peer: str | None) -> None:
    """Say what NAME means: a detector, a cause, a table, a column, a need, a kind of anomaly or of flaw.

    Without NAME, list all names. With --peer, list the fields of that tool (only NAME's, where it is
    given), the columns that hold the same, and what differs.
    """
    from tcptrace_http import glossary

    if peer is not None:
        click.echo(glossary.explain_peer(peer, name))
    else:
        click.echo(glossary.listing() if name is None else glossary.explain(name))

"""``tcptrace-http explain``: what a name in a report means."""

from __future__ import annotations

from difflib import get_close_matches

import click

from tcptrace_http.cli.completion import names_to_explain
from tcptrace_http.errors import UnknownName
from tcptrace_http.peers import PEERS

__all__ = ["explain"]


@click.command()
@click.argument("name", required=False, shell_complete=names_to_explain)
@click.option("--peer", type=click.Choice(PEERS), help="Show which columns hold the fields of this tool.")
def explain(name: str | None, peer: str | None) -> None:
    r"""Say what NAME means: a detector, a cause, a table, a column, a need, a kind of anomaly or of flaw,
    a metric or a preset of policies; or what a simulation is made of: a strategy, a page, a network, a TCP stack.

    Without NAME, list all names. With --peer, list the fields of that tool (only NAME's, where it is
    given), the columns that hold the same, and what differs.

    \b
    Examples:
      tcptrace-http explain short-initial-segment
      tcptrace-http explain transactions
      tcptrace-http explain --peer tcptrace
    """
    from tcptrace_http import glossary

    if peer is not None:
        click.echo(glossary.explain_peer(peer, name))
    elif name is None:
        from tcptrace_http.check import listing
        from tcptrace_http.cli.catalogue import names_listed

        click.echo(f"{glossary.listing()}\n\n{listing.names_listed()}\n\n{names_listed()}")
    else:
        click.echo(_meaning(name))


def _meaning(name: str) -> str:
    """What the name means in a report, and in a policy; else in a policy or in a simulation."""
    from tcptrace_http import glossary
    from tcptrace_http.check import listing

    in_policy = listing.meaning(name)
    try:
        return "\n\n".join(filter(None, (glossary.explain(name), listing.settings(name), in_policy)))
    except UnknownName as unknown:
        from reference_sim import catalogue

        # A preset of policies may be called as a network of simulations is.
        meanings = [each for each in (in_policy, catalogue.explain(name)) if each is not None]
        if meanings:
            return "\n\n".join(meanings)
        near = get_close_matches(name, [entry.name for entry in catalogue.entries()], n=1)
        if near and "did you mean" not in str(unknown):
            raise UnknownName(f"nothing is called {name!r}; did you mean {near[0]}?") from None
        raise

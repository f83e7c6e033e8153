"""``tcptrace-http explain``: what a name in a report means."""

from __future__ import annotations

import click

__all__ = ["explain"]


@click.command()
@click.argument("name", required=False)
def explain(name: str | None) -> None:
    """Say what NAME means: a detector, a cause, a table, a column or a kind of anomaly.

    Without NAME, list all names.
    """
    from tcptrace_http import glossary

    click.echo(glossary.listing() if name is None else glossary.explain(name))

"""Completions for a shell: captures are files, and names are the known ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["claim_names", "files", "fixes", "names_to_explain", "part_of_simulation", "sides"]


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leave files to the shell, which completes them best."""
    del context, parameter
    return [CompletionItem(incomplete, type="file")]


def claim_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the papers' claims with their subjects."""
    del context, parameter
    from reference_sim.reproduction.claim import claims

    of_prefix = (one for one in claims().values() if one.id.startswith(incomplete.upper()))
    return [CompletionItem(one.id, help=one.system) for one in of_prefix]


def fixes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the fixes with their descriptions."""
    del context, parameter
    from tcptrace_http.what_if import FIXES

    return [CompletionItem(name, help=fix.about) for name, fix in FIXES.items() if name.startswith(incomplete)]


def sides(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return a file, or the strategies and fixes that begin with the typed text."""
    found = files(context, parameter, incomplete)
    if incomplete:
        from tcptrace_http.difference.modelled import names

        # The names come after the file: a shell drops earlier entries.
        found += [CompletionItem(name) for name in names() if name.startswith(incomplete)]
    return found


def names_to_explain(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return detectors, causes, tables, columns, fixes and simulation parts; with --frame a file."""
    if context.params.get("frame") is not None:
        return files(context, parameter, incomplete)
    from reference_sim import catalogue
    from reference_sim.reproduction.claim import claims
    from tcptrace_http import glossary
    from tcptrace_http.what_if import FIXES

    names = {*glossary.names(), *FIXES, *(entry.name for entry in catalogue.entries()), *claims()}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def part_of_simulation(
    option: str, kind: str, *, about: str, name: str | None = None, multiple: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an option that takes the name of a strategy, page, network, stack or TLS (``kind``)."""

    def names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del context, parameter
        from reference_sim import catalogue

        return [
            CompletionItem(entry.name, help=entry.about)
            for entry in catalogue.entries()
            if entry.kind == kind and entry.name.startswith(incomplete)
        ]

    declared = (option,) if name is None else (option, name)
    return click.option(*declared, metavar="NAME", multiple=multiple, shell_complete=names, help=about)

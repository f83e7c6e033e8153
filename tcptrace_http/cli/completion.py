"""What a shell is told that completes a command line: captures are files, and names those that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

__all__ = ["claim_names", "files", "fixes", "names_to_explain", "parts_of_simulations", "sides"]


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The shell completes files better than we could."""
    del context, parameter
    return [CompletionItem(incomplete, type="file")]


def claim_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The papers' claims, each with what it is about."""
    del context, parameter
    from reference_sim.reproduction.claim import claims

    of_prefix = (one for one in claims().values() if one.id.startswith(incomplete.upper()))
    return [CompletionItem(one.id, help=one.system) for one in of_prefix]


def fixes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The fixes that can be asked for, each with what it is."""
    del context, parameter
    from tcptrace_http.what_if import FIXES

    return [CompletionItem(name, help=fix.about) for name, fix in FIXES.items() if name.startswith(incomplete)]


def sides(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A file, or once something is typed, the names of strategies and fixes that begin with it."""
    found = files(context, parameter, incomplete)
    if incomplete:
        from tcptrace_http.difference.modelled import names

        # After the file: a shell would drop what it was told before that.
        found += [CompletionItem(name) for name in names() if name.startswith(incomplete)]
    return found


def names_to_explain(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Detectors, causes, tables and columns, fixes, and what simulations are made of; with --frame a file."""
    if context.params.get("frame") is not None:
        return files(context, parameter, incomplete)
    from reference_sim import catalogue
    from reference_sim.reproduction.claim import claims
    from tcptrace_http import glossary
    from tcptrace_http.what_if import FIXES

    names = {*glossary.names(), *FIXES, *(entry.name for entry in catalogue.entries()), *claims()}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def parts_of_simulations(
    kind: str,
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """The names of that kind, each with what it is."""

    def of_kind(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del context, parameter
        from reference_sim import catalogue

        return [
            CompletionItem(entry.name, help=entry.about)
            for entry in catalogue.entries()
            if entry.kind == kind and entry.name.startswith(incomplete)
        ]

    return of_kind

"""Option for TLS secrets."""

from __future__ import annotations

import os
from typing import Final

import click

from tcptrace_http.cli.completion import files

__all__ = ["key_log_option"]

#: Environment variable with the key log of TLS libraries.
_VARIABLE: Final = "SSLKEYLOGFILE"


def _named(_context: click.Context, _parameter: click.Parameter, path: str | None) -> str | None:
    """Return the file of the option, or the file of the environment if it is not empty."""
    named = os.environ.get(_VARIABLE)
    if path is None and named and os.path.exists(named):
        return named
    return path


key_log_option = click.option(
    "--keylog",
    metavar="FILE",
    shell_complete=files,
    callback=_named,
    help=f"Decrypt TLS with the secrets of this key log. Default: the file that {_VARIABLE} names.",
)

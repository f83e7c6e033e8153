"""``analyze --follow``: final rows of a growing capture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.interruption import interruptible

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["follow"]

_TABLES: Final = ("transactions", "waits", "flows")
_FORMATS: Final = ("ndjson", "csv", "csv-safe")


def follow(
    paths: Sequence[str], table: str, format_name: str, *, keylog: str | None, redact: bool, quiet: bool
) -> int:
    """Write the rows of a table until the input ends; a growing file is followed until a signal.

    :raises click.UsageError: rows of that table or format cannot be written one by one.
    """
    if len(paths) != 1 or table not in _TABLES or format_name not in _FORMATS:
        names, formats = ", ".join(_TABLES), ", ".join(_FORMATS)
        raise click.UsageError(f"--follow takes one capture, a table of {names}, and a --format of {formats}")
    from tcptrace_http.analysis import analyze_in_batches
    from tcptrace_http.redaction import redacted_frame
    from tcptrace_http.report import tables

    is_first = True
    with interruptible(follows=True) as interruption:
        for part in analyze_in_batches(paths[0], jobs=1, rows_in_a_batch=1, follows=True, keylog=keylog):
            rows = part.table(table)
            if is_first or rows.height:
                frame = redacted_frame(rows) if redact else rows
                tables.write_rows(frame, sys.stdout.buffer, table, format_name, header=is_first)
                sys.stdout.buffer.flush()
                is_first = False
    if interruption.is_ended and not quiet:
        click.echo(f"tcptrace-http: {paths[0]}: interrupted; all that was read is written", err=True)
    return 0

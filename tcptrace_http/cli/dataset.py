"""Datasets in place of captures; the name of a capture needs no import."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tcptrace_http.corpus.part import Part

__all__ = ["dataset_part", "write_table"]

#: Suffixes that a dataset's URL never has.
_CAPTURE_SUFFIXES: Final = (".pcap", ".pcapng", ".cap", ".gz", ".zst", ".bz2", ".xz", ".lz4")


def dataset_part(path: str) -> Part | None:
    """Return the named dataset or part; None for a capture.

    :raises DatasetError: the times of the part are invalid.
    """
    is_folder = os.path.isdir(path)
    is_named_part = "@" in path and ".." in path and not os.path.exists(path)
    is_url = "://" in path and not path.endswith(_CAPTURE_SUFFIXES)
    if not (is_folder or is_named_part or is_url):
        return None
    from tcptrace_http.corpus.part import part_of

    return part_of(path)


def write_table(part: Part, table: str, expression: str | None, format_name: str, output: str) -> None:
    """Write the rows of a table of a dataset.

    :raises FilterError: the expression does not fit the table.
    :raises UnknownName: a dataset has no such table.
    """
    from tcptrace_http.cli.output import opened
    from tcptrace_http.report.tables import write_rows

    frame = part.rows(table, expression).drop("unit", "day")
    with opened(output) as file:
        write_rows(frame, file, table, format_name)

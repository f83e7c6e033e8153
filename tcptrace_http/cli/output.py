"""Output of commands: standard output or a file, never an input."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.output_file import conflict, replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

__all__ = ["STANDARD_OUTPUT", "check_outputs", "opened", "write"]

STANDARD_OUTPUT: Final = "-"


def check_outputs(
    outputs: Iterable[str | os.PathLike[str] | None], inputs: Iterable[str | os.PathLike[str] | None]
) -> None:
    """Refuse an output that is an input or another output, before any read.

    :raises click.UsageError: an output is an input or another output.
    """
    files = (None if path == STANDARD_OUTPUT else path for path in outputs)
    found = conflict(files, inputs)
    if found is not None:
        raise click.UsageError(found)


@contextmanager
def opened(output: str) -> Iterator[BinaryIO]:
    """Open standard output, or a file that appears only when complete."""
    if output == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(output) as file:
        yield file


def write(output: str, content: bytes) -> None:
    """Write a complete output."""
    with opened(output) as file:
        file.write(content)

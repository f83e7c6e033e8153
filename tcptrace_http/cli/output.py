"""Where commands write to: standard output or a file, which is never one of their inputs."""

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
    """Refuse an output that is an input or another output, before anything is read.

    :raises click.UsageError: there is one.
    """
    files = (None if path == STANDARD_OUTPUT else path for path in outputs)
    found = conflict(files, inputs)
    if found is not None:
        raise click.UsageError(found)


@contextmanager
def opened(output: str) -> Iterator[BinaryIO]:
    """Open standard output, or a file that is there once it is written whole."""
    if output == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(output) as file:
        yield file


def write(output: str, content: bytes) -> None:
    """Write all of an output."""
    with opened(output) as file:
        file.write(content)

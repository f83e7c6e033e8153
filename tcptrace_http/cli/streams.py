"""Standard streams that may be closed or lose their reader."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["broken_pipe_ends", "prepare_streams"]

_STANDARD_OUTPUT: Final = 1
_STANDARD_ERROR: Final = 2


class _Unfailing(io.FileIO):
    """File that ignores its errors: if messages cannot be written, the exit code still reports the result."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Prepare the streams: no file takes the place of a closed one, writes to a closed output fail, messages
    never fail.
    """
    # The next opened file would get the number of a closed stream. Each stream is opened with the wrong
    # direction, as in coreutils: reads from standard input and writes to standard output then fail.
    for number, way in ((0, os.O_WRONLY), (_STANDARD_OUTPUT, os.O_RDONLY), (_STANDARD_ERROR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, way)
    if sys.stdout is None:
        sys.stdout = open(_STANDARD_OUTPUT, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    raw = io.BufferedWriter(_Unfailing(_STANDARD_ERROR, "w", closefd=False))  # type: ignore[type-var]
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    sys.stderr = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", line_buffering=True)
    signal.signal(signal.SIGTERM, _terminated)


def _terminated(number: int, frame: FrameType | None) -> None:
    """End by an exception, so that incomplete files are removed; the code is the one that a shell reports."""
    del frame
    raise SystemExit(128 + number)


@contextmanager
def broken_pipe_ends() -> Iterator[None]:
    """End like every filter when the reader of standard output goes away."""
    try:
        yield
    except BrokenPipeError as error:
        if error.filename is not None:
            raise
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.raise_signal(signal.SIGPIPE)

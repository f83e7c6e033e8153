"""Output files: each file is complete or absent, and no output replaces an input."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

__all__ = ["PRIVATE", "conflict", "errors_kept", "replacing", "write_bytes", "write_text"]

#: Mode of a file that only its owner may read: a capture holds user data.
PRIVATE: Final = 0o600


@contextmanager
def replacing(path: str | os.PathLike[str], *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that replaces ``path`` at the end, if no error occurs.

    A device or a pipe is written directly. ``mode`` is the mode of the new file, by default that of the
    replaced file.
    """
    # This import is slow, and no other output needs it.
    import tempfile

    # A link stays a link: the output replaces its target.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    with _named(path):
        number, name = tempfile.mkstemp(prefix=".tcptrace-http-", dir=target.parent)
    temporary = Path(name)
    try:
        with _named(path), os.fdopen(number, "wb") as file:
            os.fchmod(number, _mode_of(target) if mode is None else mode)
            yield file
        with _named(path):
            temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


class _Sink:
    """File that keeps the reason of a failed write."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        with self._remembered():
            return self._file.write(data)

    def flush(self) -> None:
        with self._remembered():
            self._file.flush()

    @contextmanager
    def _remembered(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = error
            raise


@contextmanager
def errors_kept(file: BinaryIO) -> Iterator[Any]:
    """Raise the file's own error instead of the library's wrapped error."""
    sink = _Sink(file)
    try:
        yield sink
    except BaseException:
        if sink.error is not None:
            raise sink.error from None
        raise


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make errors name the requested file, not the temporary one."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise


def _mode_of(target: Path) -> int:
    """Return the permissions of the file, or those of a new file."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a complete file."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a complete file in UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def conflict(
    outputs: Iterable[str | os.PathLike[str] | None], inputs: Iterable[str | os.PathLike[str] | None]
) -> str | None:
    """Return a complaint if an output would replace an input or another output, by any name or link."""
    read = [_identity(path) for path in inputs if path is not None]
    written: set[object] = set()
    for path in outputs:
        identity = None if path is None else _identity(path)
        if identity is None:
            continue
        if identity in read:
            return f"the output {os.fspath(path or '')} is one of the inputs; it would be overwritten"
        if identity in written:
            return f"two outputs go to {os.fspath(path or '')}"
        written.add(identity)
    return None


def _identity(path: str | os.PathLike[str]) -> object | None:
    """Return an identity that all names of a file share; None for a pipe, a device or a folder."""
    try:
        status = Path("/dev/stdin" if path == "-" else path).stat()
    except (OSError, ValueError):
        return os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None

"""Output files: each is whole or absent, and none replaces an input."""

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

#: A file that only its owner may read: a capture holds what its users sent.
PRIVATE: Final = 0o600


@contextmanager
def replacing(path: str | os.PathLike[str], *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that takes its place at the end, if there is no error.

    A device or a pipe is written to as it is. ``mode`` is the new file's; by default that of the file it replaces.
    """
    # Importing it takes time that no other output needs.
    import tempfile

    # A link stays a link: the file that it names is replaced.
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
    """A file that remembers why it could not be written."""

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
    """Have a library that makes errors of its own of those of the file raise these."""
    sink = _Sink(file)
    try:
        yield sink
    except BaseException:
        if sink.error is not None:
            raise sink.error from None
        raise


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have errors name the file that was asked for, not the temporary one."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise


def _mode_of(target: Path) -> int:
    """Give the permissions of the file, or those of a new one."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a whole file."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file in UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def conflict(
    outputs: Iterable[str | os.PathLike[str] | None], inputs: Iterable[str | os.PathLike[str] | None]
) -> str | None:
    """Say which output would replace an input or another output, by whichever name or link."""
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
    """Give what two names of one file have in common; None of a pipe, a device or a folder."""
    try:
        status = Path("/dev/stdin" if path == "-" else path).stat()
    except (OSError, ValueError):
        return os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None

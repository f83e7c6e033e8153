"""Bytes of captures from files, standard input or memory, unpacked according to their content."""

from __future__ import annotations

import io
import os
import stat
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import CaptureError
from tcptrace_http.filled import filled, filled_ahead
from tcptrace_http.interruption import InterruptibleFile, is_followed
from tcptrace_http.packing import packing_of
from tcptrace_http.remote import RemoteFile, is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any, Protocol, Self, TypeAlias

    from tcptrace_http.packing import Packing

    #: Source of a capture: a path, a URL, ``-`` for standard input, or the bytes.
    Source: TypeAlias = str | os.PathLike[str] | bytes

    class _FillAll(Protocol):
        def __call__(self, fill: Callable[[memoryview], int], /) -> Iterator[memoryview]: ...


__all__ = ["CHUNK_BYTES", "SHARED_CHUNK_BYTES", "STANDARD_INPUT", "CaptureStream", "Strangeness"]

STANDARD_INPUT: Final = "-"

# Read size. Reads of 256 KiB are as fast as a mapped file and also serve pipes. Larger reads leave the cache.
CHUNK_BYTES: Final = 256 * 1024
# Read size for threads that wait for each other after every chunk.
SHARED_CHUNK_BYTES: Final = 1024 * 1024
#: Path name of a capture in memory.
_IN_MEMORY: Final = "<bytes>"
_MAGIC_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Strangeness:
    """Anomaly of a file's packing: a row of ``anomalies`` unknown to the core."""

    kind: str
    offset: int
    detail: str


class _Source(io.RawIOBase):
    """File that counts the bytes read and lets a caller peek at its first bytes."""

    def __init__(self, file: io.RawIOBase | io.BytesIO) -> None:
        self._file = file
        self._ahead = b""
        self.position = 0

    def peek(self, length: int) -> bytes:
        while len(self._ahead) < length:
            more = self._file.read(length - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # the buffer protocol has no name before Python 3.12
        if self._ahead:
            count = min(len(buffer), len(self._ahead))
            buffer[:count], self._ahead = self._ahead[:count], self._ahead[count:]
        else:
            count = self._file.readinto(buffer) or 0
        self.position += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class CaptureStream:
    """Unpacked bytes of a capture; a context manager.

    A truncated or damaged packed file yields all bytes that can be unpacked. ``strangeness`` then describes
    the damage.
    """

    def __init__(self, source: Source) -> None:
        self.path = _IN_MEMORY if isinstance(source, bytes) else os.fspath(source)
        self.strangeness: list[Strangeness] = []
        #: Size of the file on disk; None for a pipe.
        self.total: int | None = None
        if isinstance(source, bytes):
            self.total = len(source)
            self._source = _Source(io.BytesIO(source))
        else:
            self._source = _Source(self._open())

    def _open(self) -> io.RawIOBase:
        if is_remote(self.path):
            remote = RemoteFile(self.path)
            self.total = remote.total
            return remote
        if self.path == STANDARD_INPUT:
            if sys.stdin is None:
                raise CaptureError(self.path, "standard input is closed")
            if sys.stdin.isatty():
                raise CaptureError(
                    self.path, "standard input is a terminal; pipe a capture into it, as tcpdump -w - does"
                )
            return InterruptibleFile(sys.stdin.fileno(), closefd=False)
        try:
            file = InterruptibleFile(self.path) if is_followed() else io.FileIO(self.path)
        except FileNotFoundError:
            raise CaptureError(self.path, "no such file") from None
        except PermissionError:
            raise CaptureError(self.path, "no permission to read it") from None
        except IsADirectoryError:
            raise CaptureError(self.path, "is a directory; name the capture files in it") from None
        except (OSError, ValueError) as error:
            raise CaptureError(self.path, f"cannot be opened: {_reason(error)}") from None
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            self.total = status.st_size
        return file

    @property
    def position(self) -> int:
        """Return the number of bytes read from the file on disk."""
        return self._source.position

    def chunks(self, *, chunk_bytes: int = CHUNK_BYTES, ahead: bool = False) -> Iterator[memoryview]:
        """Yield the bytes. Each chunk is valid until the next request.

        With ``ahead``, a thread reads and unpacks the next chunks in parallel.
        """
        fill_all = partial(filled_ahead if ahead else filled, chunk_bytes=chunk_bytes)
        try:
            packing = packing_of(self._source.peek(_MAGIC_BYTES))
            if packing is None:
                yield from fill_all(self._source.readinto)
            else:
                yield from self._unpacked(packing, fill_all)
        except OSError as error:
            raise CaptureError(
                self.path, f"cannot be read after {self.position} bytes: {_reason(error)}"
            ) from None

    def _unpacked(self, packing: Packing, fill_all: _FillAll) -> Iterator[memoryview]:
        unpacked, damage = packing.unpacked(io.BufferedReader(self._source, CHUNK_BYTES))
        try:
            yield from fill_all(unpacked.readinto1)
        except EOFError:
            self._strange("capture_cut_short", f"the {packing.name} data ends early")
        except damage as error:
            self._strange("malformed_block", f"the {packing.name} data is damaged ({error})")

    def _strange(self, kind: str, detail: str) -> None:
        self.strangeness.append(Strangeness(kind, self.position, detail))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._source.close()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

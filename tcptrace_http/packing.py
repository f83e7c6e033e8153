"""Packing formats of captures: detection by the first bytes, unpacking in bounded memory with the standard
library.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import bz2
    import lzma
    from collections.abc import Callable
    from typing import Any, TypeAlias

    #: Unpacked stream, and the errors that damaged data raises. Truncated data raises EOFError.
    Unpacked: TypeAlias = tuple[io.BufferedIOBase, tuple[type[Exception], ...]]

__all__ = ["Packing", "packing_of"]

# Maximum window of a zstd frame, which needs that much memory: 128 MiB, as in the command zstd without --long
# (ZSTD_WINDOWLOG_LIMIT_DEFAULT).
_ZSTD_WINDOW_LOG_MAX: Final = 27
# Maximum memory for xz. The command xz needs 65 MiB for data packed at its highest level (-9).
_XZ_MEMORY_MAX: Final = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Packing:
    """Packing format: its magic number and its unpacker."""

    name: str
    magic: bytes
    unpacked: Callable[[io.BufferedReader], Unpacked]


class _Damaged(Exception):
    """Data that violates its format."""


class _Streams(io.RawIOBase):
    """Reader of consecutive packed streams; zero bytes between them are padding."""

    def __init__(
        self, packed: io.BufferedReader, begin: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
    ) -> None:
        self._packed = packed
        self._begin = begin
        self._stream = begin()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # the buffer protocol has no name before Python 3.12
        while True:
            more = b""
            if self._stream.eof:
                more = self._next_stream()
                if not more:
                    return 0
                self._stream = self._begin()
            elif self._stream.needs_input:
                more = self._packed.read1()
                if not more:
                    raise EOFError
            if unpacked := self._unpack(more, len(buffer)):
                buffer[: len(unpacked)] = unpacked
                return len(unpacked)

    def _next_stream(self) -> bytes:
        """Return the first bytes after a stream and its padding; nothing at the end of the file."""
        more = self._stream.unused_data.lstrip(b"\0")
        while not more:
            read = self._packed.read1()
            if not read:
                break
            more = read.lstrip(b"\0")
        return more

    def _unpack(self, packed: bytes, most: int) -> bytes:
        import lzma

        try:
            return self._stream.decompress(packed, most)
        except (OSError, lzma.LZMAError) as error:
            raise _Damaged(str(error)) from None


def _gunzip(packed: io.BufferedReader) -> Unpacked:
    import gzip
    import zlib

    return gzip.GzipFile(fileobj=packed), (gzip.BadGzipFile, zlib.error)


def _unzstd(packed: io.BufferedReader) -> Unpacked:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG_MAX}
    return zstd.ZstdFile(packed, options=options), (zstd.ZstdError,)


def _unxz(packed: io.BufferedReader) -> Unpacked:
    import lzma

    def begin() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_MAX)

    return io.BufferedReader(_Streams(packed, begin)), (_Damaged,)


def _bunzip2(packed: io.BufferedReader) -> Unpacked:
    import bz2

    return io.BufferedReader(_Streams(packed, bz2.BZ2Decompressor)), (_Damaged,)


_PACKINGS: Final = (
    Packing("gzip", b"\x1f\x8b", _gunzip),  # RFC 1952, section 2.3.1
    Packing("zstd", b"\x28\xb5\x2f\xfd", _unzstd),  # RFC 8878, section 3.1.1
    Packing("xz", b"\xfd7zX", _unxz),  # The .xz File Format, section 2.1.1.1
    Packing("bzip2", b"BZh", _bunzip2),
)


def packing_of(start: bytes) -> Packing | None:
    """Return the packing of data with these first bytes; None for an unsupported one."""
    return next((each for each in _PACKINGS if start.startswith(each.magic)), None)

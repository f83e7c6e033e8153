"""Capture files as streams of bytes: by path or from standard input, unpacked by their content."""

from __future__ import annotations

import glob
import io
import os
import stat
import sys
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import CaptureError, MalformedCapture, UnknownFormat, UnsupportedLinkType
from tcptrace_http.filled import filled, filled_ahead
from tcptrace_http.schema import TABLES
from tcptrace_http.trace import Provenance, Trace, frame_of, native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Any, Protocol, Self

    import polars as pl

    from tcptrace_http.schema import Table

    class _FillAll(Protocol):
        def __call__(self, fill: Callable[[memoryview], int], /) -> Iterator[memoryview]: ...


__all__ = [
    "STANDARD_INPUT",
    "CaptureStream",
    "Decoded",
    "Strangeness",
    "anomalies_of",
    "batches",
    "blocks",
    "cores",
    "decode",
    "expand",
    "is_glob",
    "is_small",
    "read",
    "text_of",
]

STANDARD_INPUT: Final = "-"

# Reads of 256 KiB are as fast as a mapped file, and serve pipes too; larger ones leave the cache.
CHUNK_BYTES: Final = 256 * 1024
# Threads that wait for each other after every chunk get larger ones.
SHARED_CHUNK_BYTES: Final = 1024 * 1024
# A smaller capture is read before a second thread has begun.
SHARED_FROM_BYTES: Final = 32 * 1024 * 1024
#: Rows after which those that are final leave the core: some ten megabytes.
ROWS_IN_A_BATCH: Final = 24_576
_MAGIC_BYTES: Final = 4
_GZIP_MAGIC: Final = b"\x1f\x8b"  # RFC 1952, section 2.3.1
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"  # RFC 8878, section 3.1.1

# A zstd frame says how far back it refers, and that is memory: 128 MiB, as the command zstd allows
# without --long (ZSTD_WINDOWLOG_LIMIT_DEFAULT).
_ZSTD_WINDOW_LOG_MAX: Final = 27

_ERRORS: Final[dict[str, type[CaptureError]]] = {
    "unknown_format": UnknownFormat,
    "unsupported_link_type": UnsupportedLinkType,
    "malformed": MalformedCapture,
}


@dataclass(frozen=True, slots=True)
class Strangeness:
    """What was strange about the packing of a file: a row of ``anomalies`` that the core cannot know."""

    kind: str
    offset: int
    detail: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """Rows of a capture as the core gave them: all of them, or those that were final by then."""

    rows: native.Rows
    on_request: frozenset[str]
    #: Whether ``flows`` has its statistics.
    statistics: bool
    #: What is known of the capture by then.
    provenance: Provenance
    strangeness: tuple[Strangeness, ...]
    #: Whether no more rows of the capture come.
    is_last: bool = True


def is_glob(path: str) -> bool:
    """Whether a path stands for several files; an existing path is never taken for a glob."""
    return path != STANDARD_INPUT and glob.has_magic(path) and not os.path.lexists(path)


def text_of(path: str) -> str:
    """The path with the bytes escaped that are no UTF-8: a column of text has no place for them."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def expand(patterns: Iterable[str]) -> Iterator[str]:
    """The files that paths and globs name, in order."""
    for pattern in patterns:
        if not is_glob(pattern):
            yield pattern
            continue
        matches = sorted(glob.glob(pattern, recursive=True))
        if not matches:
            raise CaptureError(pattern, "no file matches this pattern")
        yield from matches


class _Source(io.RawIOBase):
    """A file that counts what was read from it, and whose first bytes can be looked at before."""

    def __init__(self, file: io.RawIOBase) -> None:
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
    """The bytes of a capture file, unpacked; a context manager.

    A packed file that ends early or is damaged gives all that could be unpacked, and then says so
    in ``strangeness``.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.strangeness: list[Strangeness] = []
        #: Size of the file as it lies on the disk; None for a pipe.
        self.total: int | None = None
        self._source = _Source(self._open())

    def _open(self) -> io.FileIO:
        if self.path == STANDARD_INPUT:
            if sys.stdin is None or sys.stdin.isatty():
                raise CaptureError(
                    self.path, "standard input is a terminal; pipe a capture into it, as tcpdump -w - does"
                )
            return io.FileIO(sys.stdin.fileno(), closefd=False)
        try:
            file = io.FileIO(self.path)
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
        """Bytes read from the file as it lies on the disk."""
        return self._source.position

    def chunks(self, *, chunk_bytes: int = CHUNK_BYTES, ahead: bool = False) -> Iterator[memoryview]:
        """The bytes; each chunk is valid until the next one is asked for.

        ``ahead`` lets a thread read (and unpack) the next chunks meanwhile.
        """
        fill_all = partial(filled_ahead if ahead else filled, chunk_bytes=chunk_bytes)
        try:
            magic = self._source.peek(_MAGIC_BYTES)
            if magic.startswith(_GZIP_MAGIC):
                yield from self._unpacked("gzip", fill_all)
            elif magic.startswith(_ZSTD_MAGIC):
                yield from self._unpacked("zstd", fill_all)
            else:
                yield from fill_all(self._source.readinto)
        except OSError as error:
            raise CaptureError(
                self.path, f"cannot be read after {self.position} bytes: {_reason(error)}"
            ) from None

    def _unpacked(self, packing: str, fill_all: _FillAll) -> Iterator[memoryview]:
        packed = io.BufferedReader(self._source, CHUNK_BYTES)
        unpacked, damage = _gunzip(packed) if packing == "gzip" else _unzstd(packed)
        try:
            yield from fill_all(unpacked.readinto1)
        except EOFError:
            self._strange("capture_cut_short", f"the {packing} data ends early")
        except damage as error:
            self._strange("malformed_block", f"the {packing} data is damaged ({error})")

    def _strange(self, kind: str, detail: str) -> None:
        self.strangeness.append(Strangeness(kind, self.position, detail))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._source.close()


def _gunzip(packed: io.BufferedReader[_Source]) -> tuple[io.BufferedIOBase, tuple[type[Exception], ...]]:
    import gzip
    import zlib

    return gzip.GzipFile(fileobj=packed), (gzip.BadGzipFile, zlib.error)


def _unzstd(packed: io.BufferedReader[_Source]) -> tuple[io.BufferedIOBase, tuple[type[Exception], ...]]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG_MAX}
    return zstd.ZstdFile(packed, options=options), (zstd.ZstdError,)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def decode(
    path: str | os.PathLike[str],
    *,
    on_request: frozenset[str] = frozenset(),
    statistics: bool = False,
    jobs: int | None = None,
    progress: Callable[[CaptureStream], None] | None = None,
) -> Decoded:
    """All rows of a capture; ``progress`` is called after every chunk."""
    *_, last = batches(
        path, on_request=on_request, statistics=statistics, jobs=jobs, progress=progress, rows_in_a_batch=None
    )
    return last


def batches(
    path: str | os.PathLike[str],
    *,
    on_request: frozenset[str] = frozenset(),
    statistics: bool = False,
    jobs: int | None = None,
    progress: Callable[[CaptureStream], None] | None = None,
    rows_in_a_batch: int | None = ROWS_IN_A_BATCH,
) -> Iterator[Decoded]:
    """The rows of a capture, those that are final whenever there are many; at the end the rest.

    Memory is bounded by what is read between two batches, and by the flows that are open.
    """
    with CaptureStream(os.fspath(path)) as stream:
        jobs = 1 if on_request else _jobs(stream, jobs)
        core = native.Analyzer(
            packets="packets" in on_request,
            segments="segments" in on_request,
            statistics=statistics,
            threads=max(1, jobs - 1),
        )
        for _ in _fed(core, stream, ahead=jobs > 1, rows=rows_in_a_batch):
            if progress is not None:
                progress(stream)
            if rows_in_a_batch is not None and core.pending_rows() >= rows_in_a_batch:
                provenance = _provenance(stream, core)
                yield Decoded(core.take(), on_request, statistics, provenance, (), is_last=False)
        provenance = _provenance(stream, core)
        yield Decoded(core.take(), on_request, statistics, provenance, tuple(stream.strangeness))


def _jobs(stream: CaptureStream, jobs: int | None) -> int:
    """The threads that a capture is worth, one of which reads ahead: a single one for a small capture,
    and for a pipe, which may be slow.
    """
    if stream.total is None or stream.total < SHARED_FROM_BYTES:
        return 1
    return jobs if jobs is not None else cores()


def is_small(path: str) -> bool:
    """Whether a capture is a file that is read by one thread in an instant."""
    try:
        status = os.stat(path)
    except OSError:
        return True  # it cannot be opened, and that is said soon
    return path != STANDARD_INPUT and stat.S_ISREG(status.st_mode) and status.st_size < SHARED_FROM_BYTES


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def blocks(
    path: str | os.PathLike[str], table: Table, columns: Sequence[str], *, block_rows: int
) -> Iterator[native.ArrowTable]:
    """The rows of a table of ``schema.ON_REQUEST``, ``block_rows`` at a time (the last time fewer).

    Only the named columns are made, and no other table. The file is open while the iterator is; it
    may be closed early. Raises :class:`CaptureError` where the capture cannot be read on.
    """
    core = native.Analyzer(
        packets=columns if table.name == "packets" else False,
        segments=columns if table.name == "segments" else False,
        others=False,
        block_rows=block_rows,
    )
    with CaptureStream(os.fspath(path)) as stream:
        for _ in _fed(core, stream):
            while (block := core.take_block(table.name)) is not None:
                yield block


def _fed(
    core: native.Analyzer, stream: CaptureStream, *, ahead: bool = False, rows: int | None = None
) -> Iterator[None]:
    """Feed a whole capture to the core, with a stop after every chunk, after every so many rows of the flows
    that were open at its end, and one when all is finished.
    """
    chunk_bytes = SHARED_CHUNK_BYTES if ahead else CHUNK_BYTES
    try:
        for chunk in stream.chunks(chunk_bytes=chunk_bytes, ahead=ahead):
            core.feed(chunk)
            yield
        while not core.finish(rows):
            yield
    except native.CaptureFault as fault:
        raise _error(stream, fault) from None
    yield


def read(path: str | os.PathLike[str]) -> Trace:
    """Read a capture into a trace: every packet's headers, and what was strange.

    >>> import tcptrace_http
    >>> trace = tcptrace_http.read("sample_traces/heidemann_1996_figure2.pcap")
    >>> trace.provenance.packets, trace.packets["payload_bytes"].max()
    (9, 1460)

    :raises CaptureError: the file is no capture, or cannot be read.
    """
    decoded = decode(path, on_request=frozenset({"packets"}))
    return Trace(
        packets=frame_of(decoded.rows.table("packets"), TABLES["packets"]),
        anomalies=anomalies_of(decoded),
        provenance=decoded.provenance,
    )


def anomalies_of(decoded: Decoded) -> pl.DataFrame:
    """The anomalies that the core saw, and those of the packing."""
    import polars as pl

    seen = frame_of(decoded.rows.table("anomalies"), TABLES["anomalies"])
    rows = [asdict(one) for one in decoded.strangeness]
    return pl.concat([seen, pl.DataFrame(rows, schema=seen.schema)]) if rows else seen


def _error(stream: CaptureStream, fault: native.CaptureFault) -> CaptureError:
    kind, what = fault.args
    for one in stream.strangeness:
        what = f"{one.detail}, and what could be unpacked is no capture: {what}"
    return _ERRORS[kind](stream.path, what)


def _provenance(stream: CaptureStream, core: native.Analyzer) -> Provenance:
    fields = core.provenance()
    return Provenance(
        path=stream.path,
        format=fields["format"],
        packets=fields["packets"],
        tcp_packets=fields["tcp_packets"],
        first_time_ns=fields["first_time_ns"],
        last_time_ns=fields["last_time_ns"],
        truncated=fields["truncated"] or bool(stream.strangeness),
        link_types=tuple(fields["link_types"]),
        bytes_read=fields["bytes_read"],
    )

"""Captures read: their bytes fed to the core, whose rows come out, all together or as soon as they are final."""

from __future__ import annotations

import glob
import os
import shlex
import stat
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from tcptrace_http.capture_stream import CHUNK_BYTES, SHARED_CHUNK_BYTES, STANDARD_INPUT, CaptureStream
from tcptrace_http.errors import CaptureError, MalformedCapture, UnknownFormat, UnsupportedLinkType
from tcptrace_http.made_ahead import made_ahead
from tcptrace_http.remote import is_remote, is_web, matching
from tcptrace_http.schema import ON_REQUEST, TABLES
from tcptrace_http.trace import Provenance, Trace, frame_of, native

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from typing import Any

    import polars as pl

    from tcptrace_http.capture_stream import Source, Strangeness
    from tcptrace_http.schema import Table

__all__ = [
    "Decoded",
    "anomalies_of",
    "batches",
    "blocks",
    "cores",
    "decode",
    "error_of",
    "expand",
    "is_glob",
    "is_small",
    "new_core",
    "provenance_of",
    "read",
    "text_of",
]

# A smaller capture is read before a second thread has begun.
SHARED_FROM_BYTES: Final = 32 * 1024 * 1024
#: Rows after which those that are final leave the core: some ten megabytes.
ROWS_IN_A_BATCH: Final = 24_576
_ERRORS: Final[dict[str, type[CaptureError]]] = {
    "unknown_format": UnknownFormat,
    "unsupported_link_type": UnsupportedLinkType,
    "malformed": MalformedCapture,
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """Rows of a capture as the core gave them: all of them, or those that were final by then."""

    #: What they were read from.
    source: Source
    rows: native.Rows
    on_request: frozenset[str]
    #: Whether ``flows`` has its statistics.
    statistics: bool
    #: What is known of the capture by then.
    provenance: Provenance
    strangeness: tuple[Strangeness, ...]
    #: Whether no more rows of the capture come.
    is_last: bool = True
    #: What there is of the frame that was asked for.
    asked: native.AskedFields | None = None
    #: The key log that it was read with.
    keylog: str | os.PathLike[str] | None = None


def is_glob(path: str) -> bool:
    """Whether a path stands for several files; an existing path is never taken for a glob."""
    # The "?" of a web server's URL begins its query.
    return path != STANDARD_INPUT and glob.has_magic(path) and not is_web(path) and not os.path.lexists(path)


def text_of(path: str) -> str:
    """The path with the bytes escaped that are no UTF-8: a column of text has no place for them."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def expand(patterns: Iterable[str]) -> Iterator[str]:
    """The files that paths and globs name, in order."""
    for pattern in patterns:
        if not is_glob(pattern):
            yield pattern
            continue
        matches = list(matching(pattern)) if is_remote(pattern) else sorted(glob.glob(pattern, recursive=True))
        if not matches:
            raise CaptureError(pattern, "no file matches this pattern")
        yield from matches


def decode(
    source: Source,
    *,
    on_request: frozenset[str] = frozenset(),
    statistics: bool = False,
    jobs: int | None = None,
    progress: Callable[[CaptureStream], None] | None = None,
    keylog: str | os.PathLike[str] | None = None,
) -> Decoded:
    """All rows of a capture; ``progress`` is called after every chunk."""
    *_, last = batches(
        source,
        on_request=on_request,
        statistics=statistics,
        jobs=jobs,
        progress=progress,
        rows_in_a_batch=None,
        keylog=keylog,
    )
    return last


def batches(  # noqa: PLR0913 -- what there is to ask for
    source: Source,
    *,
    on_request: frozenset[str] = frozenset(),
    statistics: bool = False,
    jobs: int | None = None,
    progress: Callable[[CaptureStream], None] | None = None,
    rows_in_a_batch: int | None = ROWS_IN_A_BATCH,
    asked_frame: int | None = None,
    follows: bool = False,
    keylog: str | os.PathLike[str] | None = None,
) -> Iterator[Decoded]:
    """The rows of a capture, those that are final whenever there are many; at the end the rest.

    ``asked_frame`` is that of a segment which is explained in full: :attr:`Decoded.asked`. With
    ``follows`` a transaction comes as soon as it is acknowledged, though more of its connection may show.
    ``keylog`` is a file with the secrets of TLS connections, beside those that the capture has itself.
    Memory is bounded by what is read between two batches, and by the flows that are open.
    """
    with CaptureStream(source) as stream:
        jobs = 1 if on_request or asked_frame is not None else _jobs(stream, jobs)
        core = new_core(
            keylog,
            **{name: name in on_request for name in ON_REQUEST},
            statistics=statistics,
            threads=max(1, jobs - 1),
            asked_frame=asked_frame,
            follows=follows,
        )
        if stream.total is not None:
            core.take_secrets(source)
        parts = _parts(core, stream, jobs, progress, rows_in_a_batch)
        for rows, provenance, asked, is_last in made_ahead(parts) if jobs > 1 else parts:
            strangeness = tuple(stream.strangeness) if is_last else ()
            yield Decoded(
                *(source, rows, on_request, statistics, provenance, strangeness),
                is_last=is_last,
                asked=asked,
                keylog=keylog,
            )
            # The next rows are made while these may go.
            del rows


def new_core(keylog: str | os.PathLike[str] | None, **asked: Any) -> native.Analyzer:
    """The core, with the secrets of a key log; :raises CaptureError: that cannot be read."""
    path = None if keylog is None else os.fspath(keylog)
    try:
        return native.Analyzer(keylog=path, **asked)
    except OSError as error:
        # The core says what is wrong as the system does, with a number behind.
        what = str(error).partition(" (os error")[0]
        raise CaptureError(str(path), f"the key log cannot be read: {what}") from None


def _parts(
    core: native.Analyzer,
    stream: CaptureStream,
    jobs: int,
    progress: Callable[[CaptureStream], None] | None,
    rows_in_a_batch: int | None,
) -> Generator[tuple[native.Rows, Provenance, native.AskedFields | None, bool]]:
    """The rows that are final whenever there are many, and at the end the rest, with what is known by then."""
    for _ in _fed(core, stream, ahead=jobs > 1, rows=rows_in_a_batch):
        if progress is not None:
            progress(stream)
        if rows_in_a_batch is not None and core.pending_rows() >= rows_in_a_batch:
            provenance, asked = provenance_of(stream.path, core, is_damaged=bool(stream.strangeness)), core.asked()
            yield core.take(), provenance, asked, False
    provenance, asked = provenance_of(stream.path, core, is_damaged=bool(stream.strangeness)), core.asked()
    yield core.take(), provenance, asked, True


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
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS


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
        tls_records=columns if table.name == "tls_records" else False,
        h2_windows=columns if table.name == "h2_windows" else False,
        others=False,
        block_rows=block_rows,
    )
    with CaptureStream(path) as stream:
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
        raise error_of(fault, stream) from None
    yield


def read(source: Source) -> Trace:
    """Read a capture into a trace: every packet's headers, and what was strange.

    ``source`` is a path, ``-`` for standard input, or the bytes of a capture themselves.

    >>> import tcptrace_http
    >>> trace = tcptrace_http.read("sample_traces/heidemann_1996_figure2.pcap")
    >>> trace.provenance.packets, trace.packets["payload_bytes"].max()
    (9, 1460)

    :raises CaptureError: the file is no capture, or cannot be read.
    """
    decoded = decode(source, on_request=frozenset({"packets"}))
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


def error_of(fault: native.CaptureFault, stream: CaptureStream) -> CaptureError:
    """What the core says of a capture that cannot be read, as an error that names the file."""
    kind, what = fault.args
    if kind == "unknown_format":
        # A command that converts the file names it.
        what = what.replace("{file}", shlex.quote(stream.path))
    for one in stream.strangeness:
        what = f"{one.detail}, and what could be unpacked is no capture: {what}"
    return _ERRORS[kind](stream.path, what)


def provenance_of(path: str, core: native.Analyzer, *, is_damaged: bool) -> Provenance:
    """What the core knows of the capture so far."""
    fields = core.provenance()
    return Provenance(
        path=path,
        format=fields["format"],
        packets=fields["packets"],
        tcp_packets=fields["tcp_packets"],
        first_time_ns=fields["first_time_ns"],
        last_time_ns=fields["last_time_ns"],
        truncated=fields["truncated"] or is_damaged,
        link_types=tuple(fields["link_types"]),
        bytes_read=fields["bytes_read"],
    )

"""Capture reading: the core receives the bytes and returns the rows, all together or as soon as they are final."""

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

# Minimum capture size for a second thread. The first thread finishes a smaller capture before the second one
# starts.
SHARED_FROM_BYTES: Final = 32 * 1024 * 1024
#: Number of rows, about ten megabytes, after which the final rows leave the core.
ROWS_IN_A_BATCH: Final = 24_576
_ERRORS: Final[dict[str, type[CaptureError]]] = {
    "unknown_format": UnknownFormat,
    "unsupported_link_type": UnsupportedLinkType,
    "malformed": MalformedCapture,
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """Rows of a capture from the core: all rows, or the rows that are final so far."""

    #: Source of the rows.
    source: Source
    rows: native.Rows
    on_request: frozenset[str]
    #: True if ``flows`` has its statistics.
    statistics: bool
    #: Facts known of the capture so far.
    provenance: Provenance
    strangeness: tuple[Strangeness, ...]
    #: True if no more rows of the capture follow.
    is_last: bool = True
    #: Fields of the requested frame.
    requested: native.AskedFields | None = None
    #: Key log of the analysis.
    keylog: str | os.PathLike[str] | None = None


def is_glob(path: str) -> bool:
    """Return whether a path is a glob. An existing path never is."""
    # The "?" of a web server's URL begins its query.
    return path != STANDARD_INPUT and glob.has_magic(path) and not is_web(path) and not os.path.lexists(path)


def text_of(path: str) -> str:
    """Return the path with bytes outside UTF-8 escaped: a text column cannot hold them."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def expand(patterns: Iterable[str]) -> Iterator[str]:
    """Yield the files that paths and globs name, in order."""
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
    """Return all rows of a capture. ``progress`` is called after every chunk."""
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
    """Yield the rows of a capture in batches of final rows; the last batch has the rest.

    ``asked_frame`` is the frame of a segment to explain: :attr:`Decoded.asked`. With ``follows``, a
    transaction is yielded once it is acknowledged, although its connection continues. ``keylog`` is a file
    with TLS secrets, in addition to the secrets in the capture. The bytes between two batches and the open
    flows bound the memory.
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
        for rows, provenance, requested, is_last in made_ahead(parts) if jobs > 1 else parts:
            strangeness = tuple(stream.strangeness) if is_last else ()
            yield Decoded(
                *(source, rows, on_request, statistics, provenance, strangeness),
                is_last=is_last,
                requested=requested,
                keylog=keylog,
            )
            # The core makes the next rows while these are released.
            del rows


def new_core(keylog: str | os.PathLike[str] | None, **requested: Any) -> native.Analyzer:
    """Return the core with the secrets of a key log.

    :raises CaptureError: the key log cannot be read.
    """
    path = None if keylog is None else os.fspath(keylog)
    try:
        return native.Analyzer(keylog=path, **requested)
    except OSError as error:
        # The core reports the system's error text with a number behind it.
        what = str(error).partition(" (os error")[0]
        raise CaptureError(str(path), f"the key log cannot be read: {what}") from None


def _parts(
    core: native.Analyzer,
    stream: CaptureStream,
    jobs: int,
    progress: Callable[[CaptureStream], None] | None,
    rows_in_a_batch: int | None,
) -> Generator[tuple[native.Rows, Provenance, native.AskedFields | None, bool]]:
    """Yield the final rows in batches, and the rest at the end, with the facts known so far."""
    for _ in _fed(core, stream, ahead=jobs > 1, rows=rows_in_a_batch):
        if progress is not None:
            progress(stream)
        if rows_in_a_batch is not None and core.pending_rows() >= rows_in_a_batch:
            provenance, requested = (
                provenance_of(stream.path, core, is_damaged=bool(stream.strangeness)),
                core.asked(),
            )
            yield core.take(), provenance, requested, False
    provenance, requested = provenance_of(stream.path, core, is_damaged=bool(stream.strangeness)), core.asked()
    yield core.take(), provenance, requested, True


def _jobs(stream: CaptureStream, jobs: int | None) -> int:
    """Return the number of threads for a capture, one of which reads ahead.

    A small capture gets one thread, and so does a pipe, which may be slow.
    """
    if stream.total is None or stream.total < SHARED_FROM_BYTES:
        return 1
    return jobs if jobs is not None else cores()


def is_small(path: str) -> bool:
    """Return whether a capture is a file small enough for one thread."""
    try:
        status = os.stat(path)
    except OSError:
        return True  # a later step reports the unreadable file
    return path != STANDARD_INPUT and stat.S_ISREG(status.st_mode) and status.st_size < SHARED_FROM_BYTES


def cores() -> int:
    """Return the number of CPU cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS


def blocks(
    path: str | os.PathLike[str], table: Table, columns: Sequence[str], *, block_rows: int
) -> Iterator[native.ArrowTable]:
    """Yield the rows of a table of ``schema.ON_REQUEST``, ``block_rows`` per block (fewer in the last).

    Only the named columns are made, and no other table. The file is open during the iteration and may be
    closed early.

    :raises CaptureError: the capture cannot be read further.
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
    """Feed a whole capture to the core.

    The generator stops after every chunk, after every ``rows`` rows of the flows that are still open, and at
    the end.
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
    """Read a capture into a trace: every packet's headers, and the anomalies.

    ``source`` is a path, ``-`` for standard input, or the bytes of a capture.

    >>> import tcptrace_http
    >>> trace = tcptrace_http.read("sample_traces/heidemann_1996_figure2.pcap")
    >>> trace.provenance.packets, trace.packets["payload_bytes"].max()
    (9, 1460)

    :raises CaptureError: the file is not a capture, or is unreadable.
    """
    decoded = decode(source, on_request=frozenset({"packets"}))
    return Trace(
        packets=frame_of(decoded.rows.table("packets"), TABLES["packets"]),
        anomalies=anomalies_of(decoded),
        provenance=decoded.provenance,
    )


def anomalies_of(decoded: Decoded) -> pl.DataFrame:
    """Return the anomalies of the traffic and of the packing."""
    import polars as pl

    seen = frame_of(decoded.rows.table("anomalies"), TABLES["anomalies"])
    rows = [asdict(one) for one in decoded.strangeness]
    return pl.concat([seen, pl.DataFrame(rows, schema=seen.schema)]) if rows else seen


def error_of(fault: native.CaptureFault, stream: CaptureStream) -> CaptureError:
    """Return the core's fault as an error that names the file."""
    kind, what = fault.args
    if kind == "unknown_format":
        # The suggested conversion command names the file.
        what = what.replace("{file}", shlex.quote(stream.path))
    for one in stream.strangeness:
        what = f"{one.detail}, and its unpacked part is no capture: {what}"
    return _ERRORS[kind](stream.path, what)


def provenance_of(path: str, core: native.Analyzer, *, is_damaged: bool) -> Provenance:
    """Return the core's facts of the capture so far."""
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

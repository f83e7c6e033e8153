"""Rotated captures: the files of one capture point, which are one stream, whole or by windows.

A flow over the edge of two files is one flow. A stream that is too long for one worker is cut into windows of
files; each worker reads the window before and the one after, too, so that every flow is told once, by the window
that has its SYN (``native/analysis/src/window.rs`` says how).
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcptrace_http.capture import ROWS_IN_A_BATCH, Decoded, error_of, new_core, provenance_of
from tcptrace_http.capture_stream import CaptureStream
from tcptrace_http.errors import CaptureError
from tcptrace_http.schema import ON_REQUEST
from tcptrace_http.trace import native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tcptrace_http.capture_stream import Strangeness

__all__ = ["FileRead", "rotated_batches"]


@dataclass(frozen=True, slots=True)
class FileRead:
    """What was read of one file of a stream."""

    path: str
    #: Number of its first frame in the stream, or in the window.
    first_frame: int
    packets: int
    #: Greatest capture time of the stream at the end of the file, in nanoseconds.
    last_time_ns: int | None
    #: Whether the file ends inside a record, or is damaged.
    is_cut_short: bool
    #: Why it, or its rest, could not be read.
    error: str | None


def rotated_batches(  # noqa: PLR0913 -- what there is to ask for
    paths: Sequence[str],
    on_file: Callable[[FileRead], None],
    *,
    label: str,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    keylog: str | os.PathLike[str] | None = None,
    rows_in_a_batch: int = ROWS_IN_A_BATCH,
) -> Iterator[Decoded]:
    """The rows of the files as of one capture, which is called ``label``: as
    :func:`~tcptrace_http.capture.batches` gives them. ``on_file`` is told of each file at its end.

    ``before`` and ``after`` are the files of the windows around. A file that cannot be read is passed over, and
    the stream goes on with the next one.
    """
    core = new_core(keylog, **dict.fromkeys(ON_REQUEST, False))
    stream = _Stream(core, label, keylog, rows_in_a_batch)
    if before:
        core.lead_in()
        for path in before:
            yield from stream.read(path)
        core.begin_window()
    for path in paths:
        yield from stream.read(path, on_file)
    stream.ends_window()
    if after:
        core.end_window()
        for path in after:
            yield from stream.read(path)
    while not core.finish(rows_in_a_batch):
        yield stream.decoded()
    yield stream.decoded(is_last=True)


class _Stream:
    """The files as they are fed to the core one after the other."""

    def __init__(
        self,
        core: native.Analyzer,
        label: str,
        keylog: str | os.PathLike[str] | None,
        rows_in_a_batch: int,
    ) -> None:
        self._core = core
        self._label = label
        self._keylog = keylog
        self._rows_in_a_batch = rows_in_a_batch
        self._strangeness: list[Strangeness] = []
        self._is_own = True
        self._provenance = provenance_of(label, core, is_damaged=False)

    def read(self, path: str, on_file: Callable[[FileRead], None] | None = None) -> Iterator[Decoded]:
        """Feed a file, with a stop where many rows are final."""
        packets = self._core.provenance()["packets"]
        is_whole, error = True, None
        damage: list[Strangeness] = []
        try:
            with CaptureStream(path) as stream:
                yield from self._fed(stream)
                damage = stream.strangeness
                is_whole = self._core.next_file() and not damage
        except native.CaptureFault as fault:
            error = str(error_of(fault, stream))
        except CaptureError as failure:
            error = str(failure)
            # What was read of it stays; the stream goes on with the next file.
            is_whole = self._ends_early()
        if on_file is None:
            return
        fields = self._core.provenance()
        self._strangeness += damage
        on_file(
            FileRead(
                path=path,
                first_frame=packets + 1,
                packets=fields["packets"] - packets,
                last_time_ns=fields["last_time_ns"],
                is_cut_short=not is_whole,
                error=error,
            )
        )

    def _fed(self, stream: CaptureStream) -> Iterator[Decoded]:
        if os.path.isfile(stream.path):
            self._core.take_secrets(stream.path)
        try:
            for chunk in stream.chunks():
                self._core.feed(chunk)
                if self._core.pending_rows() >= self._rows_in_a_batch:
                    yield self.decoded()
        except native.CaptureFault:
            self._ends_early()
            raise

    def _ends_early(self) -> bool:
        with suppress(native.CaptureFault):
            self._core.next_file()
        return False

    def ends_window(self) -> None:
        """What is known of the capture is what is known by now."""
        self._provenance = provenance_of(self._label, self._core, is_damaged=bool(self._strangeness))
        self._is_own = False

    def decoded(self, *, is_last: bool = False) -> Decoded:
        """The rows that are final."""
        if self._is_own:
            self._provenance = provenance_of(self._label, self._core, is_damaged=bool(self._strangeness))
        return Decoded(
            self._label,
            self._core.take(),
            frozenset(),
            False,
            self._provenance,
            tuple(self._strangeness) if is_last else (),
            is_last=is_last,
            keylog=self._keylog,
        )

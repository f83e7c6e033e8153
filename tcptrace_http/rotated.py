"""Rotated captures: files of one capture point as one stream, whole or in windows.

A flow across two files is one flow. A stream that is too long for one worker is cut into windows of files.
Each worker also reads the windows before and after. The window with the SYN reports the flow, so every flow
is reported once (``native/analysis/src/window.rs``).
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
    """Facts of one file of a stream."""

    path: str
    #: Number of its first frame in the stream or window.
    first_frame: int
    packets: int
    #: Maximum capture time of the stream up to the end of the file, in nanoseconds.
    last_time_ns: int | None
    #: True if the file ends inside a record, or is damaged.
    is_cut_short: bool
    #: Reason why the file, or its rest, is unreadable.
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
    """Yield the rows of the files as of one capture with the name ``label``, as
    :func:`~tcptrace_http.capture.batches` does.

    ``on_file`` is called at the end of each file. ``before`` and ``after`` are the files of the adjacent
    windows. An unreadable file is skipped, and the stream continues with the next file.
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
    stream.end_window()
    if after:
        core.end_window()
        for path in after:
            yield from stream.read(path)
    while not core.finish(rows_in_a_batch):
        yield stream.decoded()
    yield stream.decoded(is_last=True)


class _Stream:
    """Files that are fed to the core one after the other."""

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
        """Feed a file, with a stop whenever many rows are final."""
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
            # The rows read so far stay valid; the stream continues with the next file.
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

    def end_window(self) -> None:
        """Fix the facts of the capture as they are now."""
        self._provenance = provenance_of(self._label, self._core, is_damaged=bool(self._strangeness))
        self._is_own = False

    def decoded(self, *, is_last: bool = False) -> Decoded:
        """Return the final rows."""
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

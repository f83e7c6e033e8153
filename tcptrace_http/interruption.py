"""Standard input that a signal ends: the input read so far is kept."""

from __future__ import annotations

import io
import os
import select
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["InterruptibleFile", "Interruption", "interruptible", "is_followed"]

#: Grace period after a signal: the writer of a pipe (tcpdump gets the signal too) may still flush its buffer.
_GRACE_SECONDS: Final = 1.0
#: Interval between two looks at a growing file.
_GROWTH_SECONDS: Final = 0.2
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """State of an input that a signal ends: the first signal after a grace period, the second at once."""

    def __init__(self, *, follows: bool) -> None:
        #: True if the end of a growing file is not the end of the input.
        self.follows = follows
        self._woken, self._wake = os.pipe()
        self._signals = 0
        self._deadline = 0.0

    @property
    def is_ended(self) -> bool:
        """Return whether a signal came."""
        return self._signals > 0

    def note(self, *_signal: object) -> None:
        """Wake up the thread that waits for input."""
        os.write(self._wake, b"\0")

    def wait_for_input(self, file: int) -> bool:
        """Wait for input or its end; return False if a signal ends the input."""
        while self._signals <= 1:
            left = self._deadline - time.monotonic() if self._signals else None
            if left is not None and left <= 0:
                return False
            ready = self._ready([file, self._woken], left)
            if self._woken in ready:
                os.read(self._woken, 1)
                self._signals += 1
                self._deadline = time.monotonic() + _GRACE_SECONDS
            elif file in ready:
                return True
        return False

    def wait_at_end(self) -> bool:
        """Wait a moment for a file to grow; return False if the input does not wait."""
        if not self.follows or self._signals:
            return False
        self._ready([self._woken], _GROWTH_SECONDS)
        return True

    def _ready(self, files: list[int], seconds: float | None) -> list[int]:
        """Wait for the files, and accept signals meanwhile."""
        before = signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        try:
            return select.select(files, [], [], seconds)[0]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        """Close both ends of the pipe."""
        os.close(self._woken)
        os.close(self._wake)


_current: Interruption | None = None


class InterruptibleFile(io.FileIO):
    """Standard input or a followed file, ended as :func:`interruptible` describes."""

    def readinto(self, buffer: Any) -> int | None:
        """Read, unless the input has ended."""
        current = _current
        if current is None:
            return super().readinto(buffer)
        while current.wait_for_input(self.fileno()):
            count = super().readinto(buffer)
            # A pipe without a writer does not grow.
            if count or not self.seekable() or not current.wait_at_end():
                return count
        return 0

    def read(self, size: int | None = -1) -> bytes:
        """Read at most ``size`` bytes with :meth:`readinto`."""
        if size is None or size < 0:
            return self.readall()
        buffer = bytearray(size)
        return bytes(buffer[: self.readinto(buffer) or 0])


def is_followed() -> bool:
    """Return whether files are followed as they grow."""
    return _current is not None and _current.follows


@contextmanager
def interruptible(*, follows: bool = False) -> Iterator[Interruption]:
    """Let SIGINT and SIGTERM end the input instead of the program. With ``follows``, only signals end a file."""
    global _current  # noqa: PLW0603 -- signals are of the process, too
    made = Interruption(follows=follows)
    before = {}
    # Signals stay blocked otherwise: polars has its own handler and would abort its work.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, made.note) for number in _SIGNALS}
    _current = made
    try:
        yield made
    finally:
        _current = None
        # Pending signals are noted, not raised.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
        made.close()

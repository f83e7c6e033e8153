"""Standard input that a signal ends: what was read until then is kept."""

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

#: After a signal the writer of a pipe (tcpdump gets the signal, too) may still write what it has buffered.
_GRACE_SECONDS: Final = 1.0
#: How often a file that grows is looked at.
_GROWTH_SECONDS: Final = 0.2
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether a signal has ended the input: the first after a grace period, the second at once."""

    def __init__(self, *, follows: bool) -> None:
        #: Whether a file is waited for at its end, for it grows.
        self.follows = follows
        self._woken, self._wake = os.pipe()
        self._signals = 0
        self._deadline = 0.0

    @property
    def is_ended(self) -> bool:
        """Whether there was a signal."""
        return self._signals > 0

    def note(self, *_signal: object) -> None:
        """Wake up who waits for input."""
        os.write(self._wake, b"\0")

    def lets_read(self, file: int) -> bool:
        """Wait until there is something to read, or the end; False where the input ends by a signal."""
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

    def waits_at_end(self) -> bool:
        """Wait a moment for a file to grow; False where there is no waiting, any more."""
        if not self.follows or self._signals:
            return False
        self._ready([self._woken], _GROWTH_SECONDS)
        return True

    def _ready(self, files: list[int], seconds: float | None) -> list[int]:
        """Wait, and take signals meanwhile."""
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
    """Standard input, or a file that is followed, which ends where :func:`interruptible` says."""

    def readinto(self, buffer: Any) -> int | None:
        """Read, if the input has not ended."""
        current = _current
        if current is None:
            return super().readinto(buffer)
        while current.lets_read(self.fileno()):
            count = super().readinto(buffer)
            # A pipe without a writer does not grow.
            if count or not self.seekable() or not current.waits_at_end():
                return count
        return 0

    def read(self, size: int | None = -1) -> bytes:
        """Read so many bytes at most, by :meth:`readinto`."""
        if size is None or size < 0:
            return self.readall()
        buffer = bytearray(size)
        return bytes(buffer[: self.readinto(buffer) or 0])


def is_followed() -> bool:
    """Whether files are read on as they grow."""
    return _current is not None and _current.follows


@contextmanager
def interruptible(*, follows: bool = False) -> Iterator[Interruption]:
    """Have SIGINT and SIGTERM end the input, instead of the program; with ``follows`` only they end a file."""
    global _current  # noqa: PLW0603 -- signals are of the process, too
    made = Interruption(follows=follows)
    before = {}
    # At other times they wait: polars, which has a handler of its own, would end what it is doing.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, made.note) for number in _SIGNALS}
    _current = made
    try:
        yield made
    finally:
        _current = None
        # Those that waited are noted, not raised.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
        made.close()

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

__all__ = ["Interruption", "StandardInput", "interruptible"]

#: After a signal the writer of a pipe (tcpdump gets the signal, too) may still write what it has buffered.
_GRACE_SECONDS: Final = 1.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether a signal has ended the input: the first after a grace period, the second at once."""

    def __init__(self) -> None:
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
            ready, _, _ = select.select([file, self._woken], [], [], left)
            if self._woken in ready:
                os.read(self._woken, 1)
                self._signals += 1
                self._deadline = time.monotonic() + _GRACE_SECONDS
            elif file in ready:
                return True
        return False

    def close(self) -> None:
        """Close both ends of the pipe."""
        os.close(self._woken)
        os.close(self._wake)


_current: Interruption | None = None


class StandardInput(io.FileIO):
    """Standard input, which ends where :func:`interruptible` says."""

    def readinto(self, buffer: Any) -> int | None:
        """Read, if the input has not ended."""
        if _current is not None and not _current.lets_read(self.fileno()):
            return 0
        return super().readinto(buffer)


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Have SIGINT and SIGTERM end standard input, instead of the program."""
    global _current  # noqa: PLW0603 -- signals are of the process, too
    made = Interruption()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, made.note) for number in _SIGNALS}
    _current = made
    try:
        yield made
    finally:
        _current = None
        for number, handler in before.items():
            signal.signal(number, handler)
        made.close()

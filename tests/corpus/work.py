"""What workers do in tests: modules that they can import."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def double(number: int) -> int:
    return 2 * number


def fail(number: int) -> int:
    raise ValueError(f"{number} is wrong")


def fail_without_pickle(_: int) -> int:
    class LocalError(Exception):
        pass

    raise LocalError("it cannot be pickled")


def killed_by_threes(number: int) -> int:
    if number % 3 == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def killed_once(path: str) -> str:
    """The first process that works on it is killed, and leaves the file as its trace."""
    trace = Path(path)
    if not trace.exists():
        trace.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return path


def process(_: object) -> int:
    return os.getpid()


def hold(size: int) -> int:
    return len(bytearray(size)) and os.getpid()

"""Work of test workers, in importable modules."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcptrace_http.corpus.store import LocalStore

if TYPE_CHECKING:
    from collections.abc import Callable


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
    """Kill the first process that works on it, and leave the file as a trace."""
    trace = Path(path)
    if not trace.exists():
        trace.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return path


def killed_after_two_objects(trace: str, function: Callable[[Any], Any], task: Any) -> Any:
    """Kill the first process once two objects are written; later processes finish the work."""
    try:
        Path(trace).touch(exist_ok=False)
    except FileExistsError:
        return function(task)
    write, written = LocalStore.write, []

    def write_and_die(self: LocalStore, key: str, content: bytes) -> None:
        write(self, key, content)
        written.append(key)
        if len(written) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    LocalStore.write = write_and_die
    return function(task)


def process(_: object) -> int:
    return os.getpid()


def hold(size: int) -> int:
    return len(bytearray(size)) and os.getpid()

"""Executors for tests: inline work, and a worker that dies on certain units."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from tcptrace_http.corpus.executors import WorkerKilled

if TYPE_CHECKING:
    from collections.abc import Callable


class Inline(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 -- it is raised again where the result is asked for
            future.set_exception(error)
        return future


class Deadly(Inline):
    """Executor that kills the workers of units with this capture."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.killed = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        (task,) = args
        if self.path not in {file.path for file in task.unit.files}:
            return super().submit(fn, *args, **kwargs)
        self.killed += 1
        future: Future[Any] = Future()
        future.set_exception(WorkerKilled("its process was ended by SIGKILL"))
        return future

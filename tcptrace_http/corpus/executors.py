"""Executors for the units of a dataset: local processes, a Dask cluster, or any Python executor.

A unit whose worker is killed is repeated once, without effect on other units. A unit that has killed two
workers is set aside with the error :class:`WorkerKilled`.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from tcptrace_http._version import __version__
from tcptrace_http.errors import ExecutorError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Done", "LocalProcesses", "WorkerKilled", "map_units", "open_executor"]

Unit = TypeVar("Unit")
Result = TypeVar("Result")

DASK: Final = "dask://"
#: Maximum number of workers that a unit may kill: the first may have another reason.
KILLS_MAX: Final = 2
#: Maximum number of submitted units: each worker of a cluster has one and finds a next one.
IN_FLIGHT: Final = 256
#: Maximum peak memory of a worker. A worker above it is replaced, because it does not return freed memory to
#: the system.
WORKER_BYTES_MAX: Final = 200 * 1024 * 1024
_CONNECT_SECONDS: Final = 10
_SIGNALS: Final = {one.value: one.name for one in signal.Signals}
_RESUMABLE: Final = "complete units are kept, the rest can be resumed"


class WorkerKilled(Exception):
    """Worker process that ended before its unit was complete."""


@dataclass(frozen=True, slots=True)
class Done(Generic[Unit, Result]):
    """Completed unit with its result or its error."""

    unit: Unit
    result: Result | None
    error: BaseException | None
    #: Number of killed workers of the unit.
    kills: int


def map_units(
    work: Callable[[Unit], Result],
    units: Iterable[Unit],
    executor: Executor,
    *,
    kills_max: int = KILLS_MAX,
) -> Iterator[Done[Unit, Result]]:
    """Yield the results of all units as they complete.

    :raises ExecutorError: the executor accepts no more work; completed units are kept.
    """
    waiting: dict[Future[Result], tuple[Unit, int]] = {}
    left = iter(units)
    while True:
        for unit in islice(left, IN_FLIGHT - len(waiting)):
            waiting[_submitted(executor, work, unit)] = (unit, 0)
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            unit, kills = waiting.pop(future)
            error = _error(future)
            kills += _is_killed(error)
            if _is_killed(error) and kills < kills_max:
                waiting[_submitted(executor, work, unit)] = (unit, kills)
            else:
                yield Done(unit, None if error else future.result(), error, kills)


def _submitted(executor: Executor, work: Callable[[Unit], Result], unit: Unit) -> Future[Result]:
    try:
        return executor.submit(work, unit)
    except (BrokenExecutor, RuntimeError) as error:
        raise ExecutorError(f"the executor takes no more work: {error}") from None


def _error(future: Future[Any]) -> BaseException | None:
    try:
        error = future.exception()
    except CancelledError:
        raise ExecutorError(
            "the executor dropped its work; complete units are kept, the rest can be resumed"
        ) from None
    if isinstance(error, BrokenExecutor):
        # All work of the executor's processes fails, because the fatal unit is unknown.
        raise ExecutorError(f"a process of the executor was killed ({error}); {_RESUMABLE}") from None
    return error


def _is_killed(error: BaseException | None) -> bool:
    # Dask has then tried the unit several times. Dask is optional.
    return isinstance(error, WorkerKilled) or type(error).__name__ == "KilledWorker"


@contextmanager
def open_executor(executor: str | Executor | None, *, jobs: int) -> Iterator[Executor]:
    """Yield the given executor, the one of a Dask cluster (``dask://HOST:PORT``), or ``jobs`` processes.

    :raises ExecutorError: no cluster answers at the address, or its workers have another version.
    :raises MissingExtra: Dask is requested but not installed.
    """
    if isinstance(executor, Executor):
        yield executor
    elif executor is None:
        with LocalProcesses(jobs) as processes:
            yield processes
    elif executor.startswith(DASK):
        with _dask(executor) as cluster:
            yield cluster
    else:
        raise ExecutorError(f"{executor}: no executor; it is {DASK}HOST:PORT")


@contextmanager
def _dask(url: str) -> Iterator[Executor]:
    try:
        import distributed
    except ImportError:
        raise MissingExtra(f"{url} needs Dask", "dask") from None
    address = f"tcp://{url.removeprefix(DASK)}"
    try:
        client: Any = distributed.Client(  # type: ignore[no-untyped-call]
            address, timeout=_CONNECT_SECONDS
        )
    except (OSError, ValueError) as error:
        raise ExecutorError(f"{url}: no scheduler of Dask answers: {error}") from None
    with client:
        _check_workers(url, client)
        # A retried unit is a new task: Dask remembers the result of the first.
        yield client.get_executor(pure=False)


def _check_workers(url: str, client: Any) -> None:
    """Refuse workers of another version, which would write other content."""
    try:
        versions = set(client.run(_version).values())
    except Exception as error:  # noqa: BLE001 -- whatever a worker could not do
        raise ExecutorError(f"{url}: its workers cannot import tcptrace_http {__version__}: {error}") from None
    if versions - {__version__}:
        others = ", ".join(sorted(versions - {__version__}))
        raise ExecutorError(f"{url}: its workers have tcptrace_http {others}; install {__version__} there")


def _version() -> str:
    return __version__


class LocalProcesses(Executor):
    """Local processes. A killed process is replaced, and the others continue.

    The processes do not import the calling script, which needs no guard (``if __name__ == "__main__"``). The
    called function must be in another module.
    """

    def __init__(self, jobs: int) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._workers = [_Worker(self._tasks) for _ in range(jobs)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in the next free process."""
        future: Future[Any] = Future()
        self._tasks.put(_Task(future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes after all work, or at once with ``cancel_futures``."""
        for worker in self._workers:
            self._tasks.put(None)
            if cancel_futures:
                worker.kill()
        if wait:
            for worker in self._workers:
                worker.join()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for running work, except after an error."""
        self.shutdown(cancel_futures=kind is not None)


@dataclass(frozen=True, slots=True)
class _Task:
    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class _Worker(Thread):
    """Thread that gives tasks to one process after the other."""

    def __init__(self, tasks: SimpleQueue[_Task | None]) -> None:
        super().__init__(daemon=True)
        self._tasks = tasks
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._is_killed = False
        self.start()

    def run(self) -> None:
        while (task := self._tasks.get()) is not None:
            if self._is_killed:
                task.future.cancel()
            elif task.future.set_running_or_notify_cancel():
                self._work(task)
        self._end()

    def _work(self, task: _Task) -> None:
        try:
            connection = self._connected()
            connection.send(task.call)
            result, failure, is_last = connection.recv()
        except (EOFError, ConnectionError):
            task.future.set_exception(WorkerKilled(self._how_it_ended()))
            return
        except Exception as error:  # noqa: BLE001 -- a call that cannot be pickled is the caller's error
            task.future.set_exception(error)
            return
        if is_last:
            self._end()
        if failure is None:
            task.future.set_result(result)
        else:
            task.future.set_exception(failure)

    def _connected(self) -> Connection:
        """Return the connection to a live process."""
        if self._connection is None or self._process is None or self._process.poll() is not None:
            self._end()
            self._connection, far_end = Pipe()
            number = far_end.fileno()
            command = [sys.executable, "-c", _WORKER, str(number), *sys.path]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[number])  # noqa: S603
            if self._is_killed:
                self._process.kill()
            # The process then has the only other end: its exit ends the connection.
            far_end.close()
        return self._connection

    def _how_it_ended(self) -> str:
        process = self._process
        self._end()
        code = None if process is None else process.returncode
        if code is None or code >= 0:
            return f"its process ended with exit code {code}"
        return f"its process was ended by {_SIGNALS.get(-code, f'signal {-code}')}"

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.wait()
        self._connection = self._process = None

    def kill(self) -> None:
        self._is_killed = True
        process = self._process
        if process is not None:
            process.kill()


#: Program of a process; its arguments are the number of its connection and the module path.
_WORKER: Final = (
    "import sys; number, sys.path[:] = int(sys.argv[1]), sys.argv[2:];"
    " from tcptrace_http.corpus.executors import serve; serve(number)"
)


def serve(number: int) -> None:
    """Work in a separate process until its connection ends or the process is too large."""
    connection = Connection(number)
    # Ctrl-C reaches all processes of a terminal; the waiting parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    is_last = False
    while not is_last:
        try:
            call = connection.recv_bytes()
        except EOFError:
            return
        result, error = None, None
        try:
            # The call comes from the parent process. Its modules are imported here.
            function, args, kwargs = pickle.loads(call)  # noqa: S301
            result = function(*args, **kwargs)
        except Exception as caught:  # noqa: BLE001 -- it is raised again where the result is asked for
            error = caught
        is_last = _peak_bytes() > WORKER_BYTES_MAX
        try:
            connection.send((result, error, is_last))
        except (AttributeError, TypeError) as unsent:  # the function's result cannot be pickled
            connection.send((None, TypeError(f"{type(error or result).__name__}: {error or unsent}"), is_last))


def _peak_bytes() -> int:
    """Return the peak memory of this process (the rusage of a child starts with its parent's)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024

"""Addition of captures to a dataset: plan, analysis by an executor, and report."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tcptrace_http.capture import cores
from tcptrace_http.corpus.dataset import create, read_state, write_plan
from tcptrace_http.corpus.digests import digest
from tcptrace_http.corpus.executors import WorkerKilled, map_units, open_executor
from tcptrace_http.corpus.plan import Plan, planned
from tcptrace_http.corpus.series import AUTO, WINDOW_BYTES
from tcptrace_http.corpus.sources import find_captures
from tcptrace_http.corpus.store import open_store
from tcptrace_http.corpus.unit import Task, analyze_unit, write_failure
from tcptrace_http.errors import CaptureError, TcptraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from concurrent.futures import Executor

    from tcptrace_http.corpus.dataset import State
    from tcptrace_http.corpus.plan import Unit

__all__ = ["Added", "Progress", "add_captures", "retry"]

_WHOLE = (0, 1)
#: Environment of a worker: one polars thread, because several workers share the cores, and return of freed
#: memory.
_WORKER_ENVIRONMENT = {"POLARS_MAX_THREADS": "1", "MIMALLOC_ALLOW_THP": "0"}


@dataclass(slots=True)
class Progress:
    """Progress of all workers."""

    units: int
    total_bytes: int
    done: int = 0
    done_bytes: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def bytes_per_second(self) -> float:
        """Return the analysed bytes per second."""
        return self.done_bytes / max(time.monotonic() - self.started, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Return the remaining seconds at this rate; None before the first result."""
        rate = self.bytes_per_second
        return (self.total_bytes - self.done_bytes) / rate if rate else None


@dataclass(slots=True)
class Added:
    """Result of the analysed units."""

    #: Number of units to analyse.
    units: int = 0
    captures: int = 0
    bytes: int = 0
    rows: int = 0
    #: Captures that are readable only in part or not at all: path and reason.
    strange: dict[str, str] = field(default_factory=dict)
    #: Failed units: name and reason.
    failed: dict[str, str] = field(default_factory=dict)
    #: Units that killed their workers: name and reason.
    poisonous: dict[str, str] = field(default_factory=dict)


def add_captures(  # noqa: PLR0913 -- what there is to ask for
    sources: Iterable[str | os.PathLike[str]],
    *,
    into: str | os.PathLike[str],
    series: str = AUTO,
    window_bytes: int = WINDOW_BYTES,
    shard: tuple[int, int] = _WHOLE,
    jobs: int | None = None,
    keylog: str | os.PathLike[str] | None = None,
    executor: str | Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Added:
    """Add captures to a dataset, and make the dataset if necessary.

    Captures already in the dataset are skipped, and interrupted units are completed. ``sources`` are paths,
    globs, folders and URLs. ``series`` selects the files of one stream: ``auto`` by names and times, ``file``
    for separate files, or a regular expression. ``shard`` is this machine's part, ``(number, count)`` from 0;
    every machine receives the same sources. ``executor`` is ``dask://HOST:PORT`` or an executor of
    :mod:`concurrent.futures`; the default is ``jobs`` processes.

    >>> import tempfile, tcptrace_http
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
    ...     sources = ["sample_traces/lan_hdrsep_small.pcap", "sample_traces/rtt20_hdrsep.pcap"]
    ...     tcptrace_http.add_captures(sources, into=f"{folder}/week", executor=pool).captures
    2

    :raises CaptureError: a source names no file, or the key log is unreadable.
    :raises DatasetError: the location holds other data.
    :raises ExecutorError: the executor accepts no work; completed units are kept.
    """
    location = os.fspath(into)
    store = open_store(location)
    store.sweep()
    create(store)
    state = read_state(location)
    secrets = None if keylog is None else _digest_of(keylog)
    plan = planned(
        find_captures(sources),
        list(state.units.values()),
        series=series,
        keylog=secrets,
        window_bytes=window_bytes,
    )
    if plan.units:
        write_plan(state, plan)
        state = read_state(location)
    return _done(state, ("missing", "stale"), shard, jobs, keylog, executor, progress)


def retry(
    location: str | os.PathLike[str],
    *,
    shard: tuple[int, int] = _WHOLE,
    jobs: int | None = None,
    keylog: str | os.PathLike[str] | None = None,
    executor: str | Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Added:
    """Analyse failed, poisonous, stale and missing units again.

    :raises DatasetError: the location has no dataset.
    """
    state = read_state(os.fspath(location))
    state.store.sweep()
    wanted = ("missing", "stale", "failed", "poisonous")
    return _done(state, wanted, shard, jobs, keylog, executor, progress)


def _digest_of(keylog: str | os.PathLike[str]) -> str:
    try:
        with open(keylog, "rb") as file:
            return digest(file.read())
    except OSError as error:
        raise CaptureError(os.fspath(keylog), f"the key log cannot be read: {error.strerror}") from None


def _done(  # noqa: PLR0913, PLR0917 -- what there is to ask for
    state: State,
    wanted: Collection[str],
    shard: tuple[int, int],
    jobs: int | None,
    keylog: str | os.PathLike[str] | None,
    executor: str | Executor | None,
    progress: Callable[[Progress], None] | None,
) -> Added:
    """Analyse the units with one of the wanted statuses."""
    number, count = shard
    if not 0 <= number < count:
        raise TcptraceError(f"there is no shard {number} of {count}; they are 0 to {count - 1}")
    units = [
        unit
        for unit in state.units.values()
        if state.status_of(unit) in wanted and int(unit.id, 16) % count == number
    ]
    missing = {unit.keylog for unit in units} - {None if keylog is None else _digest_of(keylog), None}
    if missing:
        raise TcptraceError(f"{state.store.location}: units need the key log that they were added with: --keylog")
    added = Added(units=len(units))
    if not units:
        return added
    # The largest come first: a large unit at the end would leave the other workers idle.
    units.sort(key=lambda unit: (-unit.size, unit.id))
    told = Progress(len(units), sum(unit.size for unit in units))
    path = None if keylog is None else os.path.abspath(keylog)
    with _workers(), open_executor(executor, jobs=jobs or cores()) as pool:
        while units:
            deadly: list[Unit] = []
            tasks = (Task(state.store.location, unit, None if unit.keylog is None else path) for unit in units)
            for done in map_units(analyze_unit, tasks, pool):
                unit = done.unit.unit
                if _is_killed(done.error) and unit.key is None and len(unit.files) > 1:
                    deadly.append(unit)
                    continue
                _note(added, state, unit, done.result, done.error)
                told.done += 1
                told.done_bytes += unit.size
                if progress is not None:
                    progress(told)
            units = _halves(state.store.location, deadly)
            told.units += len(units) - len(deadly)
    return added


def _is_killed(error: BaseException | None) -> bool:
    # Dask's error has that name; Dask is optional.
    return isinstance(error, WorkerKilled) or type(error).__name__ == "KilledWorker"


def _halves(location: str, deadly: Sequence[Unit]) -> list[Unit]:
    """Plan the halves of batches that killed their workers, until the fatal capture is alone."""
    halves = []
    for unit in sorted(deadly, key=lambda unit: unit.id):
        middle = len(unit.files) // 2
        halves += [replace(unit, files=unit.files[:middle]), replace(unit, files=unit.files[middle:])]
    if halves:
        write_plan(read_state(location), Plan(tuple(halves), tuple(unit.slot for unit in deadly)))
    return halves


def _note(
    added: Added, state: State, unit: Unit, marker: dict[str, Any] | None, error: BaseException | None
) -> None:
    """Record the result of a unit. A unit that killed its workers also gets a marker, which the dead workers
    cannot write.
    """
    if _is_killed(error):
        marker = write_failure(state.store, unit, "poisonous", str(error))
    if marker is None:
        added.failed[unit.name] = f"{type(error).__name__}: {error}"
    elif marker["status"] == "poisonous":
        added.poisonous[unit.name] = marker["error"]
    elif marker["status"] == "failed":
        added.failed[unit.name] = marker["error"]
    else:
        added.captures += len(unit.files)
        added.bytes += unit.size
        added.rows += sum(one["rows"] for one in marker["objects"].values())
        added.strange |= marker["strange"]


@contextmanager
def _workers() -> Iterator[None]:
    """Limit new processes to their part of the machine; the user's settings take precedence."""
    own = {name: value for name, value in _WORKER_ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            del os.environ[name]

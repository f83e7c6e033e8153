"""Simulates runs on several processes, the costly ones first, in batches that are worth sending.

Theory of operation. A run takes from a millisecond to a minute, and nobody knows before which. Runs are
grouped (by claim and measure); of each group one is simulated first, and then its cost is known: batches are
made to take about as long as :data:`_BATCH_SECONDS`, from the costliest group down, so that the last ones are
short. Whatever stops the program, at most the batches in the processes are lost.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for_process
from typing import TYPE_CHECKING, Any, Final

from reference_sim.reproduction.store import Measured
from reference_sim.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reference_sim.reproduction.experiment import Measure

__all__ = ["Failure", "Queue", "Task", "work"]

#: Sending a batch takes a millisecond or so; what an interruption loses is to be little.
_BATCH_SECONDS: Final = 0.5
#: Batches per process: one in work and one that waits for it.
_BATCHES_EACH: Final = 2


@dataclass(frozen=True, slots=True)
class Task:
    """One run to simulate."""

    identity: str
    #: Runs that cost about the same.
    group: str
    label: str
    document: Mapping[str, Any]
    measure: Measure


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that could not be: what it is of, and the error."""

    label: str
    error: str


class Queue:
    """Tasks that are still to be sent, and what those of their groups took."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._waiting: dict[str, deque[Task]] = {}
        for task in tasks:
            self._waiting.setdefault(task.group, deque()).append(task)
        #: Also those that are on their way.
        self._unfinished = Counter({group: len(tasks) for group, tasks in self._waiting.items()})
        self._sampled: set[str] = set()
        self._spent: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self) -> list[Task]:
        """The next batch: one of a group whose cost nobody knows, or some of the costliest."""
        group = next((group for group in self._waiting if group not in self._sampled), None)
        if group is None:
            group = max(self._waiting, key=lambda group: self._cost(group) or 0.0)
        self._sampled.add(group)
        cost = self._cost(group)
        tasks = self._waiting[group]
        number = 1 if cost is None else max(1, int(_BATCH_SECONDS / max(cost, 1e-6)))
        batch = [tasks.popleft() for _ in range(min(number, len(tasks)))]
        if not tasks:
            del self._waiting[group]
        return batch

    def finish(self, task: Task, found: Measured | Failure) -> None:
        """Take note that a task is done, and of what it took."""
        self._unfinished[task.group] -= 1
        if isinstance(found, Measured):
            spent, count = self._spent.get(task.group, (0.0, 0))
            self._spent[task.group] = (spent + found.seconds, count + 1)

    @property
    def seconds_left(self) -> float | None:
        """Processor seconds of the tasks that are not done; None where nothing is known."""
        total = sum(count for _, count in self._spent.values())
        if not total:
            return None
        typical = sum(spent for spent, _ in self._spent.values()) / total
        costs = ((self._cost(group), count) for group, count in self._unfinished.items())
        return sum((typical if cost is None else cost) * count for cost, count in costs)

    def _cost(self, group: str) -> float | None:
        if group not in self._spent:
            return None
        spent, count = self._spent[group]
        return spent / count


def work(queue: Queue, *, jobs: int) -> Iterator[tuple[Task, Measured | Failure]]:
    """Simulate all tasks of the queue, in this process or in so many others; in no certain order.

    A task that fails gives a :class:`Failure`, and the others go on; so do those whose process dies.
    """
    if jobs > 1:
        while queue:
            yield from _in_processes(queue, jobs)
    while queue:
        for task in queue.take():
            found = _done(task)
            queue.finish(task, found)
            yield task, found


def _in_processes(queue: Queue, jobs: int) -> Iterator[tuple[Task, Measured | Failure]]:
    """Until the queue is empty or a process died."""
    # Spawned: a fork copies locks that the threads of polars hold.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare_process)
    sent: dict[Future[list[Measured | Failure]], list[Task]] = {}
    is_done = False
    try:
        while queue or sent:
            while queue and len(sent) < jobs * _BATCHES_EACH:
                batch = queue.take()
                with _interrupts_held():
                    sent[_submitted(pool, batch)] = batch
            ready, _ = wait(sent, return_when=FIRST_COMPLETED)
            for future in ready:
                batch = sent.pop(future)
                for task, found in zip(batch, _results(future, batch), strict=True):
                    queue.finish(task, found)
                    yield task, found
                if isinstance(future.exception(), BrokenProcessPool):
                    # All that were sent are lost, and the pool with them.
                    for task in (task for batch in sent.values() for task in batch):
                        queue.finish(task, _lost(task))
                        yield task, _lost(task)
                    return
        is_done = True
    finally:
        pool.shutdown(wait=is_done, cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, batch: list[Task]) -> Future[list[Measured | Failure]]:
    """The batch on its way; a pool that broke meanwhile is found by its future, like any other."""
    try:
        return pool.submit(_all_done, batch)
    except BrokenProcessPool as error:
        broken: Future[list[Measured | Failure]] = Future()
        broken.set_exception(error)
        return broken


def _results(future: Future[list[Measured | Failure]], batch: Sequence[Task]) -> Sequence[Measured | Failure]:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, BrokenProcessPool):
        return [_lost(task) for task in batch]
    # What cannot be sent to another process: a measure that is no function of a module.
    return [Failure(task.label, f"{type(error).__name__}: {error}") for task in batch]


def _lost(task: Task) -> Failure:
    return Failure(task.label, "a process that simulated died (out of memory?)")


def _all_done(tasks: list[Task]) -> list[Measured | Failure]:
    return [_done(task) for task in tasks]


def _done(task: Task) -> Measured | Failure:
    start = time.process_time()
    try:
        figures = {name: float(value) for name, value in task.measure(simulate(task.document)).items()}
    except Exception as error:  # noqa: BLE001 -- whatever is wrong with one run, the others go on
        return Failure(task.label, f"{type(error).__name__}: {error}")
    return Measured(figures, time.process_time() - start)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C is for this process: those that are started here never see it, and here it comes afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare_process() -> None:
    """One thread for a process's frames, and no life after the process that asks."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_process([parent.sentinel])
        os._exit(1)

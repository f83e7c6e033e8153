"""Pool of processes that simulates runs in batches, costly runs first.

Theory of operation. A run takes from a millisecond to a minute, which is unknown in advance. Runs are grouped
by claim and measure. One run of each group is simulated first, to measure its cost. Batches take about
:data:`_BATCH_SECONDS` each, from the costliest group down, so that the last batches are short. If the program
stops, at most the batches in the processes are lost. A process that dies loses its own batch, and a new
process takes its place. (The pools of the standard library abandon all sent work if a process dies, and leave
semaphores behind after an interrupt.)
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import wait as wait_for
from typing import TYPE_CHECKING, Final

from reference_sim.reproduction.store import Measured
from reference_sim.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnContext

    from reference_sim.reproduction.experiment import Measure

__all__ = ["Failure", "Queue", "Task", "work"]

#: Sending a batch takes about a millisecond; an interrupt must lose little work.
_BATCH_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Task:
    """One run to simulate."""

    identity: str
    #: Group of runs with about the same cost.
    group: str
    label: str
    #: Scenario document as text: thousands wait at a time.
    text: str
    measure: Measure


@dataclass(frozen=True, slots=True)
class Failure:
    """Failed run: its label, and the error."""

    label: str
    error: str


class Queue:
    """Tasks to send, and the measured costs of their groups."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._waiting: dict[str, deque[Task]] = {}
        for task in tasks:
            self._waiting.setdefault(task.group, deque()).append(task)
        #: Includes tasks in progress.
        self._unfinished = Counter({group: len(tasks) for group, tasks in self._waiting.items()})
        self._sampled: set[str] = set()
        self._spent: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self) -> list[Task]:
        """Return the next batch: one task of an unmeasured group, or several of the costliest group."""
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
        """Record a finished task and its cost."""
        self._unfinished[task.group] -= 1
        if isinstance(found, Measured):
            spent, count = self._spent.get(task.group, (0.0, 0))
            self._spent[task.group] = (spent + found.seconds, count + 1)

    @property
    def seconds_left(self) -> float | None:
        """Return the processor seconds of the unfinished tasks; None while unknown."""
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
    """Simulate all tasks of the queue, in this process or in several others, in any order.

    A failed task gives a :class:`Failure`, and the others continue, even if a process dies.
    """
    for task, found in _in_processes(queue, jobs) if jobs > 1 else _here(queue):
        queue.finish(task, found)
        yield task, found


def _here(queue: Queue) -> Iterator[tuple[Task, Measured | Failure]]:
    while queue:
        for task in queue.take():
            yield task, _done(task)


def _in_processes(queue: Queue, jobs: int) -> Iterator[tuple[Task, Measured | Failure]]:
    # Spawn, not fork: a fork copies locks that threads of polars hold.
    context = multiprocessing.get_context("spawn")
    # The first process would start the tracker, which unblocks interrupts.
    resource_tracker.ensure_running()
    workers: list[_Worker] = []
    try:
        while queue or workers:
            while queue and len(workers) < jobs:
                # An interrupt between both would leave a process behind.
                with _interrupts_held():
                    workers.append(_Worker(context))
                yield from workers[-1].send(queue.take())
            ready = wait_for([worker.connection for worker in workers])
            for worker in [worker for worker in workers if worker.connection in ready]:
                yield from worker.receive()
                if worker.is_alive and queue:
                    yield from worker.send(queue.take())
                else:
                    workers.remove(worker)
                    worker.end()
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """Process that simulates the batches sent to it."""

    def __init__(self, context: SpawnContext) -> None:
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._batch: list[Task] = []
        self.is_alive = True

    def send(self, batch: list[Task]) -> Iterator[tuple[Task, Measured | Failure]]:
        """Send the batch to the process; a batch that cannot be sent fails at once."""
        self._batch = batch
        if not self._process.is_alive():
            return  # to be received; a program that dies of broken pipes must not write to it
        try:
            self.connection.send(batch)
        except OSError:
            pass  # the process is gone: to be received
        except Exception as error:  # noqa: BLE001 -- pickling raises what it likes
            self._batch = []
            self.connection.send([])
            yield from ((task, _failure(task, error)) for task in batch)

    def receive(self) -> Iterator[tuple[Task, Measured | Failure]]:
        """Yield the results of the batch."""
        try:
            found = self.connection.recv()
        except (EOFError, OSError):
            self.is_alive = False
            found = [Failure(task.label, "a simulating process died (out of memory?)") for task in self._batch]
        yield from zip(self._batch, found, strict=True)

    def end(self) -> None:
        """Kill the process: its results are no longer needed."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection) -> None:
    """Simulate batches in a worker process, one after the other."""
    # One thread for frames: the other cores have processes of their own.
    os.environ["POLARS_MAX_THREADS"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):  # nobody waits any more
        while True:
            connection.send([_done(task) for task in connection.recv()])


def _end_with_parent() -> None:
    """Exit at once: a run may take further minutes that nobody waits for."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _done(task: Task) -> Measured | Failure:
    start = time.process_time()
    try:
        figures = {name: float(value) for name, value in task.measure(simulate(json.loads(task.text))).items()}
    except Exception as error:  # noqa: BLE001 -- whatever is wrong with one run, the others go on
        return _failure(task, error)
    return Measured(figures, time.process_time() - start)


def _failure(task: Task, error: Exception) -> Failure:
    return Failure(task.label, f"{type(error).__name__}: {error}")


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C while a process starts; the interrupt reaches this process afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

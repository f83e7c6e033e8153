"""Simulates runs on several processes, the costly ones first, in batches that are worth sending.

Theory of operation. A run takes from a millisecond to a minute, and nobody knows before which. Runs are
grouped (by claim and measure); of each group one is simulated first, and then its cost is known: batches are
made to take about as long as :data:`_BATCH_SECONDS`, from the costliest group down, so that the last ones are
short. Whatever stops the program, at most the batches in the processes are lost; a process that dies takes its
own batch with it, and another one takes its place. (The pools of the standard library give up all that was sent
when a process dies, and leave semaphores behind when they are interrupted.)
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

#: Sending a batch takes a millisecond or so; what an interruption loses is to be little.
_BATCH_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Task:
    """One run to simulate."""

    identity: str
    #: Runs that cost about the same.
    group: str
    label: str
    #: The scenario's document as text: thousands of them wait at a time.
    text: str
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
    for task, found in _in_processes(queue, jobs) if jobs > 1 else _here(queue):
        queue.finish(task, found)
        yield task, found


def _here(queue: Queue) -> Iterator[tuple[Task, Measured | Failure]]:
    while queue:
        for task in queue.take():
            yield task, _done(task)


def _in_processes(queue: Queue, jobs: int) -> Iterator[tuple[Task, Measured | Failure]]:
    # Spawned: a fork copies locks that the threads of polars hold.
    context = multiprocessing.get_context("spawn")
    # The first process would start it, and that lets interrupts through again.
    resource_tracker.ensure_running()
    workers: list[_Worker] = []
    try:
        while queue or workers:
            while queue and len(workers) < jobs:
                # An interrupt between the two would leave a process behind.
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
    """A process that simulates the batch that it was sent."""

    def __init__(self, context: SpawnContext) -> None:
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._batch: list[Task] = []
        self.is_alive = True

    def send(self, batch: list[Task]) -> Iterator[tuple[Task, Measured | Failure]]:
        """Have the batch simulated; what cannot be sent fails at once."""
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
        """What became of the batch."""
        try:
            found = self.connection.recv()
        except (EOFError, OSError):
            self.is_alive = False
            found = [Failure(task.label, "a process that simulated died (out of memory?)") for task in self._batch]
        yield from zip(self._batch, found, strict=True)

    def end(self) -> None:
        """Whatever it does is no longer wanted."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection) -> None:
    """What a process does: batches, one after the other."""
    # One thread for frames: the other cores have processes of their own.
    os.environ["POLARS_MAX_THREADS"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):  # nobody waits any more
        while True:
            connection.send([_done(task) for task in connection.recv()])


def _end_with_parent() -> None:
    """A run may have minutes to go that nobody waits for."""
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
    """Ctrl-C is for this process: one that is started here never sees it, and here it comes afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

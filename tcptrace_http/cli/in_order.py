"""Concurrent work on items, with results in item order."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["in_order"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    items: Iterable[Item], work: Callable[[Item], Result], *, jobs: int, is_apart: Callable[[Item], bool]
) -> Iterator[Result]:
    """Yield ``work`` of each item, with at most ``jobs`` in progress and as many results waiting.

    An item for which ``is_apart`` is true is processed at its turn, in the caller's thread.
    """
    with ThreadPoolExecutor(jobs) as pool:
        waiting: deque[Future[Result] | Item] = deque()
        for item in items:
            waiting.append(item if is_apart(item) else pool.submit(work, item))
            if len(waiting) > jobs:
                yield _result(waiting.popleft(), work)
        while waiting:
            yield _result(waiting.popleft(), work)


def _result(one: Future[Result] | Item, work: Callable[[Item], Result]) -> Result:
    return one.result() if isinstance(one, Future) else work(one)

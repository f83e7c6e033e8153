"""Buffers that are filled again and again: in turn with their use, or by a thread meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from queue import SimpleQueue

__all__ = ["filled", "filled_ahead"]

# One is used, one is full, one is being filled.
_BUFFERS_AHEAD: Final = 3


def filled(fill: Callable[[memoryview], int], *, chunk_bytes: int) -> Iterator[memoryview]:
    """One buffer, filled by ``fill`` until that gives 0; each chunk is valid until the next."""
    view = memoryview(bytearray(chunk_bytes))
    while count := fill(view):
        yield view[:count]


def filled_ahead(fill: Callable[[memoryview], int], *, chunk_bytes: int) -> Iterator[memoryview]:
    """The same by another thread, which is ahead by up to two buffers.

    What ``fill`` raises is raised here, after the chunks before it.
    """
    from queue import SimpleQueue
    from threading import Thread

    free: SimpleQueue[memoryview | None] = SimpleQueue()
    full: SimpleQueue[tuple[memoryview, int] | BaseException] = SimpleQueue()
    for _ in range(_BUFFERS_AHEAD):
        free.put(memoryview(bytearray(chunk_bytes)))
    reader = Thread(target=_fill_all, args=(fill, free, full), name="read-ahead", daemon=True)
    reader.start()
    try:
        while True:
            given = full.get()
            if isinstance(given, BaseException):
                raise given
            view, count = given
            if not count:
                return
            yield view[:count]
            free.put(view)
    finally:
        free.put(None)
        reader.join()


def _fill_all(
    fill: Callable[[memoryview], int],
    free: SimpleQueue[memoryview | None],
    full: SimpleQueue[tuple[memoryview, int] | BaseException],
) -> None:
    try:
        while (view := free.get()) is not None:
            count = fill(view)
            full.put((view, count))
            if not count:
                return
    except BaseException as error:  # noqa: BLE001 -- raised again where the chunks are used
        full.put(error)

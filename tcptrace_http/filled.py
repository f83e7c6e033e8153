"""Buffers that are filled repeatedly, in turn with their use or by a parallel thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from queue import SimpleQueue

__all__ = ["filled", "filled_ahead"]

# Number of buffers: one in use, one full, one being filled.
_BUFFERS_AHEAD: Final = 3


def filled(fill: Callable[[memoryview], int], *, chunk_bytes: int) -> Iterator[memoryview]:
    """Yield one buffer, filled by ``fill`` until ``fill`` returns 0. Each chunk is valid until the next."""
    view = memoryview(bytearray(chunk_bytes))
    while count := fill(view):
        yield view[:count]


def filled_ahead(fill: Callable[[memoryview], int], *, chunk_bytes: int) -> Iterator[memoryview]:
    """Yield buffers filled by another thread, which is at most two buffers ahead.

    An exception of ``fill`` is raised here, after the earlier chunks.
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

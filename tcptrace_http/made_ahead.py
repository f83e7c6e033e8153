"""Objects that another thread makes in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from queue import SimpleQueue

__all__ = ["made_ahead"]

Thing = TypeVar("Thing")


def made_ahead(things: Generator[Thing, None, None]) -> Iterator[Thing]:
    """Yield the objects while another thread makes the next one.

    An exception of the maker is raised here, after the earlier objects.
    """
    from queue import SimpleQueue
    from threading import Thread

    # One object is in use and one is being made. No third begins before the first is released.
    wanted: SimpleQueue[bool] = SimpleQueue()
    made: SimpleQueue[Thing | _End] = SimpleQueue()
    maker = Thread(target=_make_all, args=(things, wanted, made), name="make-ahead", daemon=True)
    maker.start()
    wanted.put(True)
    try:
        while not isinstance(thing := made.get(), _End):
            wanted.put(True)
            yield thing
            del thing
        if thing.error is not None:
            raise thing.error
    finally:
        wanted.put(False)
        maker.join()


class _End:
    """End of the objects, with or without an exception."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def _make_all(
    things: Generator[Thing, None, None], wanted: SimpleQueue[bool], made: SimpleQueue[Thing | _End]
) -> None:
    try:
        while wanted.get():
            made.put(next(things, _End()))
        things.close()
    except BaseException as error:  # noqa: BLE001 -- raised again where the things are used
        made.put(_End(error))

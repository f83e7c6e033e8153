"""Things that another thread makes while the ones before are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from queue import SimpleQueue

__all__ = ["made_ahead"]

Thing = TypeVar("Thing")


def made_ahead(things: Generator[Thing, None, None]) -> Iterator[Thing]:
    """The same things, the next one of which is made by another thread while one is used.

    What making one raises is raised here, after the things before it.
    """
    from queue import SimpleQueue
    from threading import Thread

    # One is used, and one is made: no third is begun before the first may go.
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
    """No more things come, for the reason given or for none."""

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

"""Items made ahead by another thread: equal, one ahead, with the exceptions of their making."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tcptrace_http.made_ahead import made_ahead

if TYPE_CHECKING:
    from collections.abc import Generator


def test_the_same_things_come_in_order():
    assert list(made_ahead(each for each in range(100))) == list(range(100))


def test_an_exception_of_making_follows_the_earlier_items():
    def made() -> Generator[int]:
        yield 1
        yield 2
        raise ValueError("no third")

    got = []
    with pytest.raises(ValueError, match="no third"):
        got.extend(made_ahead(made()))
    ahead = made_ahead(made())
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ValueError, match="no third"):
        next(ahead)


def test_another_thread_makes_one_thing_ahead_and_no_more():
    makers: set[int] = set()
    begun = [threading.Event() for _ in range(4)]

    def made() -> Generator[int]:
        for number, event in enumerate(begun):
            makers.add(threading.get_ident())
            event.set()
            yield number

    ahead = made_ahead(made())
    next(ahead)
    assert begun[1].wait(10)
    # The third item is begun when the second is taken, and not before.
    assert not begun[2].is_set()
    next(ahead)
    assert begun[2].wait(10)
    assert not begun[3].is_set()
    ahead.close()
    assert threading.get_ident() not in makers


def test_a_maker_that_is_not_asked_on_is_closed():
    closed = threading.Event()

    def made() -> Generator[int]:
        try:
            yield from range(10)
        finally:
            closed.set()

    ahead = made_ahead(made())
    next(ahead)
    ahead.close()
    assert closed.is_set()
    assert "make-ahead" not in {thread.name for thread in threading.enumerate()}

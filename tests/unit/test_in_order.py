"""Results in the order of their tasks."""

import threading

import pytest

from tcptrace_http.cli.in_order import in_order


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_order_and_those_apart_in_the_callers_thread(jobs):
    def work(item: int) -> tuple[int, bool]:
        return item, threading.current_thread() is threading.main_thread()

    expected = [(item, item % 3 == 0) for item in range(20)]
    assert list(in_order(range(20), work, jobs=jobs, is_apart=lambda item: item % 3 == 0)) == expected


def test_no_more_results_wait_than_asked_for():
    started: list[int] = []
    results = in_order(range(100), started.append, jobs=2, is_apart=lambda _: False)
    next(results)
    assert len(started) <= 3
    results.close()

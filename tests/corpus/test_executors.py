"""Executors: each unit is done once, and a killed worker costs only its own unit."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import pytest

from tcptrace_http.corpus import executors
from tcptrace_http.corpus.executors import LocalProcesses, WorkerKilled, map_units, open_executor
from tcptrace_http.errors import ExecutorError
from tests.corpus import work


@pytest.fixture(scope="module")
def processes():
    with LocalProcesses(2) as executor:
        yield executor


def results(done):
    return sorted(one.result for one in done)


def test_all_units_are_done_by_processes_of_this_machine(processes):
    assert results(map_units(work.double, range(600), processes)) == list(range(0, 1200, 2))


def test_all_units_are_done_by_any_executor_of_python():
    with ThreadPoolExecutor(2) as threads, open_executor(threads, jobs=1) as executor:
        assert results(map_units(work.double, range(9), executor)) == list(range(0, 18, 2))


def test_an_error_is_that_of_its_unit_alone(processes):
    (done,) = map_units(work.fail, [7], processes)
    assert isinstance(done.error, ValueError)
    assert str(done.error) == "7 is wrong"


def test_an_error_that_cannot_be_pickled_is_reported_in_words(processes):
    (done,) = map_units(work.fail_without_pickle, [7], processes)
    assert str(done.error) == "LocalError: it cannot be pickled"


def test_a_function_that_cannot_be_pickled_is_an_error(processes):
    (done,) = map_units(lambda number: number, [7], processes)
    assert "pickle" in str(done.error)


def test_a_function_that_workers_cannot_import_is_an_error(processes, monkeypatch):
    absent = ModuleType("absent")
    exec("def double(number): return 2 * number", absent.__dict__)
    monkeypatch.setitem(sys.modules, "absent", absent)
    (done,) = map_units(absent.double, [7], processes)
    assert str(done.error) == "No module named 'absent'"
    assert done.kills == 0


def test_a_unit_whose_worker_is_killed_is_done_by_another(processes, tmp_path):
    paths = [str(tmp_path / str(number)) for number in range(6)]
    done = list(map_units(work.killed_once, paths, processes))
    assert sorted(one.result for one in done) == paths
    assert {one.kills for one in done} == {1}


def test_a_unit_that_kills_its_workers_is_set_aside_and_the_others_are_done(processes):
    done = {one.unit: one for one in map_units(work.killed_by_threes, range(1, 10), processes)}
    assert {unit for unit, one in done.items() if isinstance(one.error, WorkerKilled)} == {3, 6, 9}
    assert str(done[3].error) == "its process was ended by SIGKILL"
    assert done[3].kills == executors.KILLS_MAX
    assert all(done[unit].result == unit for unit in (1, 2, 4, 5, 7, 8))


def test_a_worker_that_has_grown_makes_room_for_another():
    with LocalProcesses(1) as executor:
        first, second, third = (
            executor.submit(work.hold, size).result() for size in (1, executors.WORKER_BYTES_MAX, 1)
        )
    assert first == second != third


def test_an_interrupted_run_ends_its_processes():
    executor = LocalProcesses(2)
    running = [executor.submit(work.process, None).result() for _ in range(2)]
    with pytest.raises(KeyboardInterrupt), executor:
        raise KeyboardInterrupt
    assert not any(worker.is_alive() for worker in executor._workers), running


def test_a_broken_process_pool_is_an_error_with_a_remedy():
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with pool, pytest.raises(ExecutorError, match="the rest can be resumed"):
        list(map_units(work.killed_by_threes, [3], pool))


def test_an_executor_that_is_shut_down_is_an_error():
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(ExecutorError, match="takes no more work"):
        list(map_units(work.double, [1], threads))


def test_a_cluster_that_does_not_answer_is_an_error(monkeypatch):
    monkeypatch.setattr(executors, "_CONNECT_SECONDS", 1)
    with (
        pytest.raises(ExecutorError, match=r"dask://127\.0\.0\.1:9: no scheduler"),
        open_executor("dask://127.0.0.1:9", jobs=1),
    ):
        pass


def test_an_unknown_executor_is_an_error():
    with pytest.raises(ExecutorError, match="ray://here"), open_executor("ray://here", jobs=1):
        pass


def test_all_units_are_done_by_a_cluster_of_which_workers_are_killed(cluster, tmp_path):
    paths = [str(tmp_path / str(number)) for number in range(4)]
    with open_executor(cluster, jobs=1) as executor:
        assert results(map_units(work.killed_once, paths, executor)) == paths


def test_a_unit_of_a_cluster_that_has_failed_can_be_tried_again(cluster):
    with open_executor(cluster, jobs=1) as executor:
        assert [str(one.error) for one in map_units(work.fail, [7], executor)] == ["7 is wrong"]
        first, second = (next(map_units(work.process, ["same"], executor)) for _ in range(2))
        assert first.error is second.error is None


def test_workers_of_another_version_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(executors, "__version__", "0.0.1")
    with pytest.raises(ExecutorError, match=r"install 0\.0\.1 there"), open_executor(cluster, jobs=1):
        pass


_SCRIPT = """
from tcptrace_http.corpus.executors import LocalProcesses, map_units
from tests.corpus import work
with LocalProcesses(2) as processes:
    print(sorted(one.result for one in map_units(work.double, range(3), processes)))
"""


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, script]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("[0, 2, 4]\n", "", 0)

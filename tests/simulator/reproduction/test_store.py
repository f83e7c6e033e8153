"""Store: measurements survive any stop of the program."""

from math import inf, isnan, nan

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_sim.reproduction.store import Measured, Store, StoreInUse


def one(value=1.5):
    return Measured({"ms": value}, 0.25)


def test_added_results_persist_across_reopening(tmp_path):
    with Store(tmp_path) as store:
        store.add("a", one())
        store.add("b", one(2.0))
        assert store["a"] == one()
    with Store(tmp_path) as store:
        assert "a" in store
        assert len(store) == 2
        assert store["b"] == one(2.0)
        assert store.dropped == 0


def test_figures_that_are_no_numbers_are_kept_too(tmp_path):
    with Store(tmp_path) as store:
        store.add("a", Measured({"inf": inf, "nan": nan}, 0))
    with Store(tmp_path) as store:
        assert store["a"].figures["inf"] == inf
        assert isnan(store["a"].figures["nan"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(1, 200))
def test_a_torn_last_line_is_dropped_and_the_next_one_is_whole(tmp_path, cut):
    path = tmp_path / "results.jsonl"
    path.unlink(missing_ok=True)
    with Store(tmp_path) as store:
        store.add("a", one())
        store.add("b", one())
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[: max(first + 1, len(whole) - cut)])
    with Store(tmp_path) as store:
        assert "a" in store
        assert "b" not in store
        assert store.dropped == 1
        store.add("c", one())
    with Store(tmp_path) as store:
        assert store.dropped == 0
        assert "a" in store
        assert "c" in store


@pytest.mark.parametrize("line", [b"not json", b"[]", b'{"run": "x"}', b"\xff"])
def test_a_line_that_is_no_result_is_dropped_alone(tmp_path, line):
    with Store(tmp_path) as store:
        store.add("a", one())
    path = tmp_path / "results.jsonl"
    path.write_bytes(line + b"\n" + path.read_bytes())
    with Store(tmp_path) as store:
        assert store.dropped == 1
        assert "a" in store


def test_two_processes_do_not_write_to_one_store(tmp_path):
    with Store(tmp_path), pytest.raises(StoreInUse, match="another process"):
        Store(tmp_path)
    with Store(tmp_path):
        pass

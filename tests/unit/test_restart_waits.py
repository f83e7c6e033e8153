"""Restarts that show in what was outstanding, wait by wait, and not in flights."""

from __future__ import annotations

import polars as pl
import pytest

from tcptrace_http import analysis
from tcptrace_http.detectors import slow_start_restart
from tcptrace_http.schema import TABLES, polars_schema


def tables_with(waits: list[tuple[str, int]]) -> dict[str, pl.DataFrame]:
    """No flights, and the waits of one transaction, each as long as that after the one before."""
    names = (*analysis.CANDIDATE_TABLES, "flows", "transactions", "waits")
    tables = {name: pl.DataFrame(schema=polars_schema(TABLES[name], statistics=False)) for name in names}
    rows, start = [], 0
    for frame, (cause, length) in enumerate(waits, start=5):
        row = {"flow": 0, "transaction": 1, "cause": cause, "first_frame": frame, "last_frame": frame + 1}
        rows.append(row | {"start": start, "end": start + length, "confidence": 0.9})
        rows[-1] |= dict.fromkeys(("upstream_flow", "upstream_transaction"))
        start += length
    schema = polars_schema(TABLES["waits"])
    tables["waits"] = pl.DataFrame(rows).select(pl.col(name).cast(schema[name]) for name in schema)
    return tables


@pytest.mark.parametrize(("length_ms", "count"), [(2, 1), (1, 0)])
def test_waits_of_a_restart_are_one_finding_if_they_are_long_enough_together(length_ms, count):
    restart = ("stall.slow_start_restart", length_ms * 1_000_000)
    tables = tables_with([restart, ("send_limited.slow_start", 50_000_000), restart])
    found = slow_start_restart.find_in_waits(tables).collect()
    assert found.height == count
    for row in found.iter_rows(named=True):
        assert (row["first_frame"], row["last_frame"]) == (5, 8)
        assert row["lost"].total_seconds() * 1e3 == pytest.approx(2 * length_ms)


def test_waits_behind_those_that_flights_show_are_another_finding(monkeypatch):
    restart = ("stall.slow_start_restart", 6_000_000)
    tables = tables_with([restart, restart, restart])
    schema = polars_schema(TABLES["findings"])
    shown = {"flow": 0, "transaction": 1, "start": 0, "lost": 1_000_000, "last_frame": 6}
    flights = pl.DataFrame([shown]).select(pl.col(name).cast(schema[name]) for name in shown)
    monkeypatch.setattr(slow_start_restart, "find", lambda _: flights.lazy())
    (found,) = slow_start_restart.find_in_waits(tables).collect().iter_rows(named=True)
    assert (found["first_frame"], found["last_frame"]) == (6, 8)
    assert found["lost"].total_seconds() * 1e3 == pytest.approx(12)


def test_such_waits_make_a_flow_a_candidate():
    least = analysis.CANDIDATE_WAITS_NS["stall.slow_start_restart"]
    assert least <= slow_start_restart.WAITED_MIN_NS

"""Rows that the core omits before detectors run: no detector could find or read them."""

from __future__ import annotations

import polars as pl
import pytest

import tcptrace_http
from tcptrace_http import candidates, pages
from tcptrace_http.detectors import (
    DETECTORS,
    _h2_windows,
    _holds,
    _host_pairs,
    cork_timeout,
    delayed_ack_first_segment,
    h2_connection_window,
    h2_send_buffer_inversion,
    h2_settings_wait,
    h2_stream_window,
    h2_window_update_late,
    receive_window_limit,
    request_lull,
    slow_server,
    slow_start_restart,
    small_send_buffer,
)
from tcptrace_http.detectors._detector import as_findings
from tcptrace_http.schema import TABLES, polars_schema
from tcptrace_http.trace import native

OF_FLOWS = [each for each in DETECTORS.values() if not (each.spans_flows or each.reads_pages)]


def empty(only: dict[str, frozenset[str]]) -> dict[str, pl.DataFrame]:
    """Return the native tables without rows; tables in ``only`` have just these columns."""
    names = (*candidates.CANDIDATE_TABLES, *only, "waits")
    schemas = {name: polars_schema(TABLES[name], statistics=False) for name in names}
    return {
        name: pl.DataFrame(
            schema={column: dtype for column, dtype in schema.items() if column in only.get(name, schema)}
        )
        for name, schema in schemas.items()
    }


@pytest.mark.parametrize("detector", OF_FLOWS, ids=lambda it: it.name)
def test_a_detector_of_flows_reads_no_other_columns_than_those_that_it_is_given(detector):
    tables = empty(candidates.JUDGED_COLUMNS)
    found = detector.find(tables).collect()
    assert as_findings(detector, found, tables).collect().is_empty()


def test_gathering_over_all_flows_reads_only_the_given_columns():
    tables = empty(candidates.GATHERED_COLUMNS)
    gathers = {gather.name: gather for each in DETECTORS.values() for gather in each.gathers}
    assert all(each.rows(tables).collect().is_empty() for each in gathers.values())


def test_waits_and_pages_are_candidates_if_a_detector_may_fire():
    least = candidates.CANDIDATE_WAITS_NS
    assert least["server.think"] * 1e-9 <= slow_server.THINK_MIN.total_seconds()
    assert least["send_limited.receive_window"] * 1e-9 <= receive_window_limit.LOST_MIN.total_seconds()
    assert least["send_limited.send_buffer"] * 1e-9 <= small_send_buffer.LOST_MIN.total_seconds()
    assert all(
        least[cause] * 1e-9 <= slow_start_restart.LOST_MIN.total_seconds() for cause in slow_start_restart.CAUSES
    )
    for cause in (*_holds.NAGLE, *delayed_ack_first_segment.CAUSES, *cork_timeout.CAUSES):
        assert least[cause] * 1e-9 <= _holds.LOST_MIN.total_seconds()
    for detector in (h2_stream_window, h2_connection_window):
        assert all(least[cause] * 1e-9 <= _h2_windows.LOST_MIN.total_seconds() for cause in detector.CAUSES)
    for detector in (h2_send_buffer_inversion, h2_settings_wait, h2_window_update_late):
        assert all(least[cause] * 1e-9 <= detector.LOST_MIN.total_seconds() for cause in detector.CAUSES)
    assert set(candidates.LOSS_WAITS) == set(_host_pairs.LOSS_WAITS)
    assert pages.CHAIN_LULLS_MIN <= request_lull.LULLS_MIN
    assert pages.CHAIN_RTT_MIN_NS <= request_lull.RTT_MIN_NS


@pytest.mark.parametrize("detector", [it for it in OF_FLOWS if it.causes], ids=lambda it: it.name)
def test_a_detector_of_waits_finds_nothing_in_other_waits(detector, sample_traces):
    analysis = tcptrace_http.analyze(sample_traces / "ssr_cubic_on.pcap", statistics=False)
    names = (*candidates.CANDIDATE_TABLES, *candidates.JUDGED_COLUMNS)
    others = analysis.waits.filter(~pl.col("cause").cast(pl.String).is_in(detector.causes))
    assert not others.is_empty()
    assert detector.find({name: analysis.table(name) for name in names} | {"waits": others}).collect().is_empty()


@pytest.mark.parametrize(
    ("count", "rtt", "has_candidates"), [(4, 5_000_000, True), (3, 5_000_000, False), (4, 4_999_999, False)]
)
def test_a_chain_of_requests_over_a_far_path_is_a_candidate(count, rtt, has_candidates):
    numbers = list(range(count))
    transactions = {
        "flow": [0] * count,
        "index": numbers,
        "method": ["GET"] * count,
        "target": [f"/{number}" for number in numbers],
        "request_time": [number * 1000 for number in numbers],
    }
    flows = {"flow": [0], "client": ["c"], "server": ["s"], "initial_rtt": [rtt]}
    made = pages.Pages()
    made.add(native.Rows.by_hand({"transactions": transactions, "flows": flows}), ())
    assert made.rows.count("retrievals") == 1
    assert made.has_candidates == has_candidates

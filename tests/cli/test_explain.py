"""``explain`` knows every name that a report can show."""

import pytest

import tcptrace_http
from tcptrace_http.detectors import DETECTORS, NEEDS
from tcptrace_http.schema import ANOMALY_KINDS, CAUSES, FLAWS, TABLES
from tcptrace_http.what_if import FIXES

LISTED = [*DETECTORS, *CAUSES, *ANOMALY_KINDS, *FLAWS, *NEEDS, *TABLES, *FIXES]
COLUMNS = [(table.name, column) for table in TABLES.values() for column in table.columns]


@pytest.mark.parametrize("name", LISTED)
def test_name_is_explained(cli, name):
    result = cli("explain", name)
    assert result.code == 0
    assert len(result.out.decode().split()) > 5


def test_every_column_is_explained_with_its_type():
    for table, column in COLUMNS:
        text = tcptrace_http.explain(f"{table}.{column.name}")
        assert text.startswith(f"{table}.{column.name} (column, {column.dtype}")
        assert column.doc in text


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_explained_with_its_rule_its_source_and_what_others_call_it(name):
    text = tcptrace_http.explain(name)
    heads = [line for line in text.splitlines()[1:] if line and not line.startswith(" ")]
    assert heads == ["Told by", "Source", "Rolls up to"]
    assert CAUSES[name] in text


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_is_explained_with_all_its_parts_and_its_needs(name):
    text = tcptrace_http.explain(name)
    assert DETECTORS[name].doc in text
    assert all(f"  {need}: " in text for need in DETECTORS[name].needs)


def test_detector_is_explained_by_its_own_document(cli):
    assert "Nagle" in cli("explain", "short-initial-segment").out.decode()


def test_column_of_several_tables_is_explained_for_each(cli):
    text = cli("explain", "payload_bytes").out.decode()
    assert "packets.payload_bytes" in text
    assert "segments.payload_bytes" in text


def test_miss_names_what_is_near(cli):
    result = cli("explain", "short-inital-segment")
    assert result.code == 2
    assert "did you mean short-initial-segment" in result.err


def test_without_a_name_all_are_listed(cli):
    text = cli("explain").out.decode()
    assert all(f"  {name}\n" in f"{text}\n" for name in LISTED)


def test_column_is_explained_with_its_unit_and_the_names_of_peers(cli):
    text = cli("explain", "client_rtt_mean").out.decode()
    assert text == cli("explain", "flows.client_rtt_mean").out.decode()
    assert "flows.client_rtt_mean (column, duration, nanoseconds, may be null, a statistic" in text
    assert "tcptrace RTT_avg_a2b" in text


def test_fields_of_a_peer_are_listed_with_their_columns(cli):
    text = cli("explain", "--peer", "tcptrace").out.decode()
    assert len(text.splitlines()) > 147
    one = cli("explain", "RTT_min_a2b", "--peer", "tcptrace").out.decode()
    assert "flows.client_rtt_min" in one
    assert "RTT_max" not in one
    assert "did you mean" in cli("explain", "RTT_mn_a2b", "--peer", "tcptrace").err


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_is_explained_with_what_it_mends_and_where_it_is_from(cli, name):
    text = " ".join(cli("explain", name).out.decode().split())
    fix = FIXES[name]
    assert f"{name} (fix of a what-if, {fix.side}) {fix.about}" in text
    assert fix.source in text
    assert all(detector in text for detector in fix.mends)

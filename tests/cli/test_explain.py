"""Command ``explain``: an explanation for every name in reports."""

import ast
from pathlib import Path

import pytest

import tcptrace_http
from tcptrace_http.detectors import DETECTORS, NEEDS
from tcptrace_http.schema import ANOMALY_KINDS, CAUSES, FLAWS, TABLES
from tcptrace_http.terms import REPORT_COLUMNS, TERMS
from tcptrace_http.what_if import FIXES

LISTED = [*DETECTORS, *CAUSES, *ANOMALY_KINDS, *FLAWS, *NEEDS, *TABLES, *FIXES, *TERMS, *REPORT_COLUMNS]
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
def test_a_cause_is_explained_with_its_rule_source_and_other_names(name):
    text = tcptrace_http.explain(name)
    heads = [line for line in text.splitlines()[1:] if line and not line.startswith(" ")]
    assert heads == ["Recognised by", "Source", "Rolls up to"]
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


def test_miss_suggests_the_nearest_name(cli):
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
def test_a_fix_is_explained_with_its_findings_and_source(cli, name):
    text = " ".join(cli("explain", name).out.decode().split())
    fix = FIXES[name]
    assert f"{name} (fix, {fix.side}) {fix.about}" in text
    assert fix.source in text
    assert all(detector in text for detector in fix.fixed_findings)


PACKAGE = Path(tcptrace_http.__file__).parent


def titles_in_the_sources() -> set[str]:
    """Return the texts of all headings of text reports, except headings made in loops."""
    calls = (
        node
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Heading"
    )
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)} - {""}


def test_every_column_of_every_text_report_is_explained():
    assert titles_in_the_sources() <= REPORT_COLUMNS.keys()


def test_explained_columns_of_reports_are_in_the_sources():
    in_loops = {"fix", "strategy", "takes", "saves", "min saved", "max saved", "same", "shape", "not"}
    assert REPORT_COLUMNS.keys() - in_loops <= titles_in_the_sources()


def test_column_that_holds_the_value_of_a_report_exists():
    columns = {f"{table}.{column.name}" for table, column in COLUMNS}
    named = {one.column for several in REPORT_COLUMNS.values() for one in several if one.column}
    assert named <= columns


def test_term_is_found_in_small_letters(cli):
    assert cli("explain", "ssthresh").out.decode().startswith("ssthresh (term)")
    assert cli("explain", "rtt").out.decode().startswith("RTT (term)")


def test_name_of_a_term_and_of_columns_is_explained_as_both(cli):
    text = cli("explain", "flow").out.decode()
    assert "flow (term of this program)" in text
    assert "flow (column of the text report: analyze, Flows)" in text
    assert "flows.flow (column" in text

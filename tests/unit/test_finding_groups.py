"""Groups and sums of findings: time claimed by several findings counts once, and all sums agree."""

from datetime import timedelta

import polars as pl

from tcptrace_http.finding_groups import finding_groups, lost_ns
from tcptrace_http.schema import TABLES, polars_schema
from tcptrace_http.verdict import findings_words

MS = 1_000_000


def findings(*rows: tuple[str, str, int | None, int, int]) -> pl.DataFrame:
    """Return findings: detector, severity, transaction, lost milliseconds, shared milliseconds."""
    schema = polars_schema(TABLES["findings"])
    made = [
        {
            "detector": detector,
            "severity": severity,
            "flow": 0,
            "transaction": transaction,
            "cause": "send_limited.slow_start",
            "lost": timedelta(milliseconds=lost),
            "shared": timedelta(milliseconds=shared),
            "summary": f"{lost} ms",
        }
        for detector, severity, transaction, lost, shared in rows
    ]
    return pl.DataFrame(made, schema=schema)


def test_time_that_two_findings_claim_counts_once():
    found = findings(("a", "error", 0, 30, 10), ("b", "error", 0, 10, 10), ("b", "error", 1, 5, 0))
    assert lost_ns(found) == 35 * MS
    assert [(group.detector, group.lost_ns) for group in finding_groups(found)] == [("a", 30 * MS), ("b", 5 * MS)]
    assert findings_words(found) == "3 findings, 35.0 ms lost"


def test_group_has_the_gravest_severity_and_its_worst_finding_first():
    found = findings(("a", "error", 0, 10, 0), ("a", "warning", 1, 30, 0), ("a", "info", 2, 50, 0))
    told, notes = finding_groups(found)
    assert (told.severity, told.lost_ns, told.findings["summary"].to_list()) == (
        "error",
        40 * MS,
        ["30 ms", "10 ms"],
    )
    assert (notes.severity, notes.is_note, notes.lost_ns) == ("info", True, 50 * MS)


def test_groups_come_by_time_lost_and_notes_behind_them():
    found = findings(("note", "info", 0, 99, 0), ("less", "error", 1, 10, 0), ("more", "warning", 2, 20, 0))
    assert [group.detector for group in finding_groups(found)] == ["more", "less", "note"]
    assert finding_groups(found.clear()) == []
    assert lost_ns(found.clear()) == 0

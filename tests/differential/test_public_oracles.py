"""Public captures: no crash, and every count is tshark's or explained."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from differential.oracle import FIELDS, disagreements, examine_all, run_program

# Limits: a reason for a single file is an excuse, and so are too many reasons.
_REASONS_MAX = 9


def test_disagreements_are_few_explained_and_about_counts():
    entries = disagreements()
    assert len(entries) <= _REASONS_MAX
    for entry in entries:
        assert entry.explanation.strip()
        assert {name for _, name in entry.cases} <= set(FIELDS)
    cases = [case for entry in entries for case in entry.cases]
    assert len(cases) == len(set(cases))


@pytest.fixture(scope="module")
def verdicts(captures):
    return examine_all(captures / "public")


def test_no_public_capture_makes_the_analysis_fail(verdicts):
    assert [f"{v.path}: {v.failure}" for v in verdicts if v.failure] == []


def test_counts_of_the_public_captures_are_the_oracles_or_explained(verdicts):
    explained = {case: found for entry in disagreements() for case, found in entry.cases.items()}
    differences = [each for verdict in verdicts for each in verdict.differences]
    unexplained = [e for e in differences if explained.get((e.path, e.field), "none") != e.found]
    assert unexplained == []


def test_no_explanation_of_a_disagreement_is_stale(verdicts):
    differing = {(each.path, each.field) for verdict in verdicts for each in verdict.differences}
    stale = [case for entry in disagreements() for case in entry.cases if case not in differing]
    assert stale == []


@pytest.mark.slow
def test_program_exits_as_documented_on_every_public_capture(captures, verdicts):
    paths = [captures / "public" / verdict.path for verdict in verdicts]
    with ThreadPoolExecutor() as pool:
        assert [fault for fault in pool.map(run_program, paths) if fault] == []

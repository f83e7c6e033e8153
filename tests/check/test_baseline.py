"""Baselines: only new findings fail."""

from __future__ import annotations

import json

import pytest

from tcptrace_http import analyze
from tcptrace_http.check import Status, Verdict, check, parse_policy
from tcptrace_http.check.baseline import against, baseline_of, load_baseline
from tcptrace_http.errors import PolicyError

from .conftest import of_many

POLICY = parse_policy('[rules]\nshort-initial-segment = "error"\n[thresholds]\nttfb = ["max<1us"]')


def report_of(*paths):
    return check([analyze(path) for path in paths], policy=POLICY)


def written(path, report):
    path.write_text(baseline_of(report))
    return load_baseline(path)


def test_baseline_violations_no_longer_fail(folder, tmp_path):
    report = report_of(folder / "stalled.pcap")
    judged = against(report, written(tmp_path / "known.json", report))
    assert report.verdict is Verdict.FAILED
    assert judged.verdict is Verdict.PASSED
    assert all(one.is_known for one in judged.violations)
    assert {one.status for one in judged.outcomes} == {Status.PASSED}


def test_same_behaviour_in_another_capture_is_known(folder, tmp_path):
    known = written(tmp_path / "known.json", report_of(folder / "stalled.pcap"))
    # Different time, duration and file.
    assert against(report_of(folder / "again.pcap"), known).verdict is Verdict.PASSED


def test_more_of_the_same_are_known(folder, tmp_path):
    known = written(tmp_path / "known.json", report_of(folder / "stalled.pcap"))
    judged = against(report_of(folder / "stalled.pcap", folder / "again.pcap"), known)
    assert judged.verdict is Verdict.PASSED
    assert len(judged.violations) > 1
    assert all(one.is_known for one in judged.violations)


def test_baseline_of_version_1_is_read(folder, tmp_path):
    path = tmp_path / "known.json"
    of_now = written(path, report_of(folder / "stalled.pcap"))
    old = {key: {"count": 1, "is": "x"} for key in of_now}
    path.write_text(json.dumps({"version": 1, "violations": old}))
    assert against(report_of(folder / "again.pcap"), load_baseline(path)).verdict is Verdict.PASSED


def test_value_of_a_query_is_neither_kept_nor_distinguished(tmp_path):
    for name, target in (("one", b"/?k=11"), ("two", b"/?k=22")):
        (tmp_path / f"{name}.pcap").write_bytes(of_many(1).replace(b"/page0", target))
    known = written(tmp_path / "known.json", report_of(tmp_path / "one.pcap"))
    assert "k=11" not in (tmp_path / "known.json").read_text()
    judged = against(report_of(tmp_path / "two.pcap"), known)
    assert {one.target for one in judged.violations if one.target} == {"/?k=22"}
    assert judged.verdict is Verdict.PASSED


def test_other_target_is_new(tmp_path):
    for name, targets in (("one", 1), ("two", 2)):
        (tmp_path / f"{name}.pcap").write_bytes(of_many(2, targets=targets))
    known = written(tmp_path / "known.json", report_of(tmp_path / "one.pcap"))
    judged = against(report_of(tmp_path / "two.pcap"), known)
    new = [one.target for one in judged.violations if not one.is_known]
    assert judged.verdict is Verdict.FAILED
    assert new == ["/page1"]


def test_baseline_is_the_same_text_for_the_same_violations(folder):
    assert baseline_of(report_of(folder / "stalled.pcap")) == baseline_of(report_of(folder / "again.pcap"))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 3, "violations": {}}', '{"version": 1, "violations": [1]}']
)
def test_file_that_is_no_baseline_is_reported(tmp_path, text):
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(PolicyError, match=r"known\.json: .*baseline"):
        load_baseline(path)
    with pytest.raises(PolicyError, match="No such file"):
        load_baseline(tmp_path / "none.json")


def test_command_writes_and_reads_a_baseline(cli, folder, tmp_path):
    known = tmp_path / "known.json"
    assert cli("check", folder / "stalled.pcap", "--write-baseline", known).code == 1
    assert json.loads(known.read_text())["version"] == 2
    assert cli("check", folder / "again.pcap", "--baseline", known).code == 0
    result = cli("check", folder / "clean.pcap", "--baseline", tmp_path / "none.json")
    assert (result.code, result.out) == (2, "")

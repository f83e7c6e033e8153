"""Detectors' cases: every ``trace`` block of ``cases/*.md`` gives the findings of its ``findings`` block.

A finding is a line ``DETECTOR [flow=N] transaction=N cause=NAME lost=N.Nms frames=FIRST-LAST``. Null is
``-``: a finding on a flow has ``transaction=-``, a finding on several flows ``flow=- transaction=-``. The
flow is named only if the trace has several connections. Lost time is compared to half a millisecond.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tcptrace_http
from tcptrace_http.detectors import DETECTORS
from tests.shortfalls import marked

from . import packet_script

CASES = Path(__file__).parent / "cases"
CASE = re.compile(
    r"^## (?P<title>.+?)$.*?^```trace\n(?P<trace>.*?)^```$.*?^```findings\n(?P<findings>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def cases() -> list[object]:
    found = (
        (f"{page.stem}: {found['title']}", (found["trace"], found["findings"]))
        for page in sorted(CASES.glob("*.md"))
        for found in CASE.finditer(page.read_text())
    )
    return marked("detectors", found)


LOST = re.compile(r" lost=(?P<ms>[0-9.]+)ms")
LOST_OFF_MAX_MS = 0.5


def without_lost(line: str) -> str:
    return LOST.sub("", line)


def lost_ms(line: str) -> float:
    found = LOST.search(line)
    assert found, line
    return float(found["ms"])


def told(finding: dict[str, object], *, names_flow: bool) -> str:
    lost = finding["lost"].total_seconds() * 1000  # type: ignore[attr-defined]
    shown = {name: "-" if value is None else value for name, value in finding.items()}
    flow = f" flow={shown['flow']}" if names_flow else ""
    frames = "-" if finding["first_frame"] is None else f"{finding['first_frame']}-{finding['last_frame']}"
    return (
        f"{finding['detector']}{flow} transaction={shown['transaction']} cause={shown['cause']}"
        f" lost={lost:.1f}ms frames={frames}"
    )


@pytest.mark.parametrize(("trace", "findings"), cases())
def test_a_case_gives_the_findings_it_names(trace: str, findings: str, tmp_path: Path) -> None:
    capture = tmp_path / "case.pcap"
    capture.write_bytes(packet_script.pcap(trace))
    found = tcptrace_http.analyze(capture).findings.iter_rows(named=True)
    names_flow = packet_script.connections(trace) > 1
    got = sorted((told(each, names_flow=names_flow) for each in found), key=without_lost)
    expected = sorted(findings.splitlines(), key=without_lost)
    assert list(map(without_lost, got)) == list(map(without_lost, expected)), (got, expected)
    assert list(map(lost_ms, got)) == pytest.approx(list(map(lost_ms, expected)), abs=LOST_OFF_MAX_MS)


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_has_cases_that_fire_nearly_fire_and_must_not_fire(name: str) -> None:
    page = (CASES / f"{name.replace('-', '_')}.md").read_text()
    titles = [found["title"] for found in CASE.finditer(page)]
    for kind in ("Fires", "Nearly fires", "Must not fire"):
        assert any(title.startswith(kind) for title in titles), f"{name} has no case: {kind}"


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_says_the_five_things(name: str) -> None:
    heads = re.findall(r"^(.+)\n-+$", DETECTORS[name].doc, re.MULTILINE)
    assert heads == ["What it does", "Why it is bad", "Evidence", "Fix", "Reference"]
    assert DETECTORS[name].reference

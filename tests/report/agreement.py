"""Agreement of all reports on a capture: the same findings, severities and lost time."""

from __future__ import annotations

import io
import json
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import lxml.html
import pytest

from tcptrace_http.analysis import analyze, in_parts
from tcptrace_http.capture import batches
from tcptrace_http.check import check, gathered
from tcptrace_http.check.formats import render
from tcptrace_http.check.policy import CutShort, Policy, Rule
from tcptrace_http.detectors import DETECTORS
from tcptrace_http.quantity import counted, duration
from tcptrace_http.report import html as html_report
from tcptrace_http.report import json as json_report
from tcptrace_http.report import text as text_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tcptrace_http import Analysis

Finding = dict[str, Any]
Key = tuple[bool, str, str | None]

#: Every finding of every detector violates this policy.
EVERYTHING = Policy(
    rules={name: Rule(structure=True) for name in DETECTORS}, max_inconclusive=1.0, cut_short=CutShort.IGNORED
)
GRAVITY = ("info", "warning", "error")
GROUP = re.compile(r"^(error|warning|info)  (\S+)(?:  (?:(.+?) lost)?(.*))?$")
#: Violation fields by the finding's JSON names.
TOLD = ("severity", "flow", "transaction", "first_frame", "last_frame", "lost_ns", "confidence", "server_software")


def assert_reports_agree(path: Path, *, rows_in_a_batch: int | None = None) -> list[Finding]:
    """Compare all reports of a capture with its JSON findings; return these findings.

    With ``rows_in_a_batch``, reports that read a capture in parts are also made in parts.
    """
    analysis = analyze(path)
    document = written(json_report.document([analysis]))
    findings: list[Finding] = json.loads(document)["findings"]
    assert table(analysis) == findings
    assert_text_agrees(analysis, findings)
    assert_html_agrees(analysis, findings)
    whole = check([analysis], policy=EVERYTHING)
    if rows_in_a_batch is not None:
        assert len(list(parts(path, rows_in_a_batch))) > 1
        assert written(json_report.document(parts(path, rows_in_a_batch))) == document
        assert check([gathered(parts(path, rows_in_a_batch), EVERYTHING)], policy=EVERYTHING) == whole
    assert_check_agrees(whole, findings)
    assert headline(findings) in repr(analysis)
    return findings


def parts(path: Path, rows_in_a_batch: int) -> Iterator[Analysis]:
    return in_parts(batches(path, rows_in_a_batch=rows_in_a_batch))


def written(document: Iterable[bytes]) -> bytes:
    file = io.BytesIO()
    json_report.write([document], file, is_one=True)
    return file.getvalue()


def table(analysis: Analysis) -> list[Finding]:
    """Return the rows of the library's table, by their JSON names."""
    import polars.selectors as cs

    rows = analysis.findings.with_columns(cs.temporal().to_physical())
    return rows.rename({name: f"{name}_ns" for name in ("start", "lost", "elapsed_without", "shared")}).to_dicts()


def claimed(findings: Iterable[Finding]) -> list[tuple[Finding, int]]:
    """Return each finding with its lost time, less the share of a greater finding of its transaction and cause."""
    seen: set[tuple[object, ...]] = set()
    told = []
    for each in sorted(findings, key=lambda it: -it["lost_ns"]):
        key = each["flow"], each["transaction"], each["cause"]
        told.append((each, each["lost_ns"] - (each["shared_ns"] if key in seen else 0)))
        seen.add(key)
    return told


def lost_of(findings: Iterable[Finding]) -> int:
    return sum(lost for _, lost in claimed(findings))


def grouped(findings: list[Finding]) -> dict[Key, tuple[int, str, int]]:
    """Return count, highest severity and lost time, by note or finding, detector and cause."""
    groups: dict[Key, list[tuple[Finding, int]]] = defaultdict(list)
    for each, lost in claimed(findings):
        groups[each["severity"] == "info", each["detector"], each["cause"]].append((each, lost))
    return {
        key: (
            len(these),
            max((it["severity"] for it, _ in these), key=GRAVITY.index),
            sum(lost for _, lost in these),
        )
        for key, these in groups.items()
    }


def headline(findings: list[Finding]) -> str:
    notes = sum(each["severity"] == "info" for each in findings)
    lost = lost_of(findings)
    cost = f", {duration(lost)} lost" if lost else ""
    if notes < len(findings):
        told = counted(len(findings) - notes, "finding") + cost
        return f"{told}; {counted(notes, 'note')}" if notes else told
    if not findings:
        return "No findings"
    return counted(notes, "note") + cost if lost else f"No finding that cost time; {counted(notes, 'note')}"


def assert_text_agrees(analysis: Analysis, findings: list[Finding]) -> None:
    file = io.BytesIO()
    text_report.write([analysis], file, width=10_000, colour=False)
    lines = file.getvalue().decode().splitlines()
    assert headline(findings) in lines
    found = [match for line in lines if (match := GROUP.match(line))]
    groups = grouped(findings)
    assert sorted((group[1], group[2], group[3] or "") for group in found) == sorted(
        (severity, detector, duration(lost) if lost else "")
        for (_, detector, _), (_, severity, lost) in groups.items()
    )
    for note in (group for group in found if group[1] == "info"):
        times = re.search(r"([\d,]+) findings \(", note[4] or "")
        count = int(times[1].replace(",", "")) if times else 1
        assert count in {
            count for (is_note, name, _), (count, _, _) in groups.items() if is_note and name == note[2]
        }
    assert_loss_column_agrees(lines, findings)


def assert_loss_column_agrees(lines: list[str], findings: list[Finding]) -> None:
    """Check that the column ``lost`` and the sentence below the table add up to the total."""
    start = next((at for at, line in enumerate(lines) if line.startswith("Transactions")), None)
    if start is None:
        return
    by_transaction: Counter[str] = Counter()
    elsewhere = 0
    for each, lost in claimed(findings):
        if each["transaction"] is None:
            elsewhere += lost
        else:
            by_transaction[f"{each['flow']}.{each['transaction']}"] += lost
    rows = lines[start + 2 : lines.index("", start)]
    said = f"    Findings about several transactions lost {duration(elsewhere)} more."
    assert (rows[-1] == said) == (elsewhere > 0)
    told = {f"{each['flow']}.{each['transaction']}" for each in findings}
    for row in rows[: len(rows) - (elsewhere > 0)]:
        name, *_ = row.split()
        lost = duration(by_transaction[name]) if name in told else "-"
        assert row.endswith(f" {lost}"), (row, lost)


def assert_html_agrees(analysis: Analysis, findings: list[Finding]) -> None:
    page = html_report.page(analysis)
    body = lxml.html.document_fromstring(page.encode())
    assert headline(findings) + ". " in body.findtext(".//header/p[2]")
    articles = []
    for article in body.iterfind(".//article"):
        title = article.find("h3")
        articles.append((article.get("class"), title.text.strip(), title.findtext("small")))
    groups = grouped(findings)
    assert sorted(articles) == sorted(
        (severity, detector, cost(counted(count, "note" if is_note else "finding"), lost))
        for (is_note, detector, _), (count, severity, lost) in groups.items()
    )
    costs = max((lost for _, _, lost in groups.values()), default=0)
    assert (f"costs the most: {duration(costs)}" in body.findtext(".//h1")) == (costs > 0)
    tables = json.loads(re.search(r"const TABLES = (.*);", page)[1])
    rows = [dict(zip(tables["findings"]["columns"], row, strict=True)) for row in tables["findings"]["rows"]]
    assert rows == [
        {
            **{name: each[name] for name in ("detector", "severity", "flow", "transaction")},
            "lost (ms)": pytest.approx(each["lost_ns"] / 1e6, abs=0.0006),
            "confidence": pytest.approx(each["confidence"], abs=0.006),
            **{name: each[name] for name in ("summary", "first_frame", "last_frame")},
        }
        for each in findings
    ]


def cost(count: str, lost: int) -> str:
    return f"lost {duration(lost)} in {count}" if lost else f"{count}, no time lost here"


def assert_check_agrees(report: Any, findings: list[Finding]) -> None:
    told = [{"detector": one.name} | {name: getattr(one, name) for name in TOLD} for one in report.violations]
    assert in_any_order(told) == in_any_order(
        {name: each[name] for name in ("detector", *TOLD)} for each in findings
    )
    counts = Counter(each["detector"] for each in findings)
    lost: Counter[str] = Counter()
    for each in findings:
        lost[each["detector"]] += each["lost_ns"]
    (run,) = json.loads(render(report, "sarif"))["runs"]
    assert {it["ruleId"]: it["occurrenceCount"] for it in run["results"]} == counts
    assert {it["ruleId"]: it["properties"]["lostNs"] for it in run["results"]} == dict(lost)
    assert len(run["results"]) == len(counts)
    assert {issue["check_name"] for issue in json.loads(render(report, "gitlab"))} == set(counts)
    failed = {
        case.get("name") for case in ET.fromstring(render(report, "junit")).iter("testcase") if has_failure(case)
    }
    assert failed == set(counts)
    titles = re.findall(r"^::error file=.*title=([\w-]+)::", render(report, "github"), re.MULTILINE)
    assert set(titles) == set(counts) if len(counts) <= 10 else set(titles) < set(counts)
    rows = re.findall(r"^\| error \| ([\w-]+): ", render(report, "markdown"), re.MULTILINE)
    assert Counter(rows) == counts or (len(rows) == 100 < len(findings))
    points = re.findall(r"^not ok \d+ - ([\w-]+)$", render(report, "tap"), re.MULTILINE)
    assert set(points) == set(counts)


def has_failure(case: ET.Element) -> bool:
    return case.find("failure") is not None


def in_any_order(rows: Iterable[Finding]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)

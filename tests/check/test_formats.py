"""Reports in every format: valid by schema, read by independent parsers, for any text."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import tap.parser
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from lxml import etree
from sarif_pydantic import Sarif

from tcptrace_http import analyze
from tcptrace_http.check import CheckReport, Level, Outcome, Status, Violation, check, preset
from tcptrace_http.check.formats import FORMATS, render
from tcptrace_http.check.formats._groups import groups
from tcptrace_http.check.report import Subject
from tcptrace_http.documentation import detector_page

#: A report is large; `make properties` has more examples.
FEW = settings(max_examples=15)
SCHEMAS = Path(__file__).with_name("schemas")
#: Possible content of captured bytes, file names and hosts.
PIECES = (
    *("]]>", "%0A::error::x", "\n::stop-commands::x", "| a |", "ok 7 # SKIP", "<script>", "a\r\nb: c", "\n...\n"),
    *(
        "\x00",
        "\x1b[31m",
        "\x85",
        "\x7f",
        "\u2028",
        "\ufffe",
        "\udc80",
        "\U0001f600",
        "\\",
        '"',
        "'",
        "&amp;",
        ":",
        ",",
    ),
    *("`", "*_", "[x](y)", "@all", "\t", " ", "#", "é", "a"),
)
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=6).map("".join)
EVERYTHING = "".join(PIECES)
LEVELS = st.sampled_from(list(Level))
VIOLATIONS = st.builds(
    Violation,
    name=st.just("short-initial-segment"),
    level=LEVELS,
    message=HOSTILE,
    fingerprint=st.sampled_from(["a1", "b2"]),
    capture=st.none() | HOSTILE,
    flow=st.none() | st.integers(0, 9),
    first_frame=st.none() | st.integers(1, 9),
    last_frame=st.integers(1, 9),
    lost_ns=st.none() | st.integers(0, 10**12),
    method=st.none() | HOSTILE,
    host=st.none() | HOSTILE,
    target=st.none() | HOSTILE,
    remedy=HOSTILE,
    settings=st.lists(HOSTILE, max_size=2),
    is_known=st.booleans(),
)


@st.composite
def outcomes(draw) -> Outcome:
    status = draw(st.sampled_from(list(Status)))
    return Outcome(
        subject=draw(st.sampled_from(list(Subject))),
        name=draw(st.sampled_from(["short-initial-segment", "ttfb p(95)<1s"]) | HOSTILE.filter(bool)),
        level=draw(LEVELS),
        status=status,
        message=draw(HOSTILE),
        violations=draw(st.lists(VIOLATIONS, min_size=1, max_size=3)) if status is Status.FAILED else (),
    )


REPORTS = st.builds(
    CheckReport,
    outcomes=st.lists(outcomes(), max_size=4),
    captures=st.lists(HOSTILE.filter(bool), max_size=2),
    transactions=st.integers(0, 9),
    fail_on=st.none() | st.sampled_from([Level.ERROR, Level.WARNING]),
    unreadable=st.lists(HOSTILE, max_size=2),
    location=st.none() | st.just("conf/nginx.conf"),
    notes=st.lists(HOSTILE, max_size=2),
)


@pytest.fixture(scope="module")
def report(folder: Path) -> CheckReport:
    """Return a report of real captures: violated rules, passed rules, and a truncated capture."""
    return check((analyze(folder / f"{name}.pcap") for name in ("stalled", "clean", "cut")), policy=preset("lan"))


SARIF_SCHEMA = jsonschema.Draft4Validator(json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text()))
JUNIT_SCHEMA = etree.XMLSchema(etree.parse(str(SCHEMAS / "junit-10.xsd")))


def hostile() -> CheckReport:
    """Return a report with hostile text in every field."""
    text = dict.fromkeys(("message", "capture", "method", "host", "target", "remedy", "reference"), EVERYTHING)
    violation = Violation(
        name="x", level=Level.ERROR, fingerprint="f", settings=[EVERYTHING], lost_ns=1, first_frame=1, **text
    )
    made = [
        Outcome(
            subject=subject,
            name=EVERYTHING,
            level=Level.ERROR,
            status=status,
            message=EVERYTHING,
            violations=[violation] * 2 if status is Status.FAILED else (),
        )
        for subject in Subject
        for status in Status
    ]
    few = [EVERYTHING]
    return CheckReport(outcomes=made, captures=few, transactions=1, unreadable=few, notes=few)


@pytest.mark.parametrize("name", FORMATS)
@FEW
@given(REPORTS)
@example(hostile())
def test_any_report_can_be_written(name, report):
    written = render(report, name)
    assert written.encode("utf-8").decode("utf-8") == written
    assert not set(written) & {"\x00", "\x1b"}


def assert_sarif(written: str) -> dict:
    log = json.loads(written)
    SARIF_SCHEMA.validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    # GitHub's additional requirements: docs.github.com, "SARIF support for code scanning".
    assert len(run["results"]) <= 25_000
    for result in run["results"]:
        assert result["ruleId"] in rules
        assert result["message"]["text"]
        assert result["partialFingerprints"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        # GitHub rejects a scheme other than that of the checkout.
        assert re.match(r"file:///|(?![A-Za-z][A-Za-z0-9+.-]*:)", uri)
        assert location["physicalLocation"]["region"]["startLine"] >= 1
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
    return run


@FEW
@given(REPORTS)
@example(hostile())
def test_sarif_of_any_report_is_valid(report):
    assert_sarif(render(report, "sarif"))


def test_sarif_is_read_by_another_parser(report):
    written = render(report, "sarif")
    run = assert_sarif(written)
    read = Sarif.model_validate_json(written).runs[0]
    assert read.tool.driver.name == "tcptrace-http"
    assert [one.rule_id for one in read.results] == [
        outcome.name for outcome in report.outcomes for _ in groups(outcome.violations, report)
    ]
    assert run["invocations"][0]["toolExecutionNotifications"]


def test_sarif_has_no_more_results_than_github_takes():
    violation = Violation(name="x", level=Level.ERROR, message="m", fingerprint="f")
    outcome = Outcome(
        subject=Subject.RULE,
        name="x",
        level=Level.ERROR,
        status=Status.FAILED,
        message="m",
        violations=[replace(violation, capture=f"{number}.pcap") for number in range(25_001)],
    )
    written = render(CheckReport(outcomes=[outcome], captures=["c"], transactions=1), "sarif")
    assert len(json.loads(written)["runs"][0]["results"]) == 25_000


def test_results_of_a_probe_are_written_to_their_place():
    violation = Violation(name="x", level=Level.ERROR, message="m", fingerprint="f")
    outcome = Outcome(
        subject=Subject.RULE,
        name="x",
        level=Level.ERROR,
        status=Status.FAILED,
        message="m",
        violations=[violation],
    )
    for location, uri in (("conf/nginx.conf", "conf/nginx.conf"), (None, "localhost%3A8080/a.html")):
        probed = CheckReport(
            outcomes=[outcome], captures=["http://localhost:8080/a.html"], transactions=1, location=location
        )
        run = assert_sarif(render(probed, "sarif"))
        assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
        path = location or "localhost:8080/a.html"
        assert json.loads(render(probed, "gitlab"))[0]["location"]["path"] == path
        assert f"::error file={path.replace(':', '%3A')}," in render(probed, "github")


@FEW
@given(REPORTS)
@example(hostile())
def test_junit_of_any_report_is_valid(report):
    document = etree.fromstring(render(report, "junit").encode("utf-8"))
    JUNIT_SCHEMA.assertValid(document)


def test_junit_is_read_by_another_parser(report):
    suites = JUnitXml.fromstring(render(report, "junit").encode("utf-8"))
    cases = {case.name: case for suite in suites for case in suite}
    assert len(cases) == len(report.outcomes)
    assert isinstance(cases["short-initial-segment"].result[0], Failure)
    unclear = [one.name for one in report.outcomes if one.status is Status.INCONCLUSIVE]
    assert unclear
    assert all(isinstance(cases[name].result[0], Skipped) for name in unclear)
    assert (suites.failures, suites.skipped, suites.errors) == (
        sum(suite.failures for suite in suites),
        len(unclear),
        0,
    )


def test_junit_of_an_unreadable_capture_is_an_error():
    report = CheckReport(outcomes=[], captures=[], transactions=0, unreadable=["x.pcap: no capture"])
    (suite,) = JUnitXml.fromstring(render(report, "junit").encode("utf-8"))
    (case,) = suite
    assert isinstance(case.result[0], Error)
    assert case.result[0].message == "x.pcap: no capture"


def tap_points(written: str) -> list:
    lines = list(tap.parser.Parser().parse(io.StringIO(written)))
    assert [line.category for line in lines[:2]] == ["version", "plan"]
    return lines


@FEW
@given(REPORTS)
@example(hostile())
def test_tap_of_any_report_has_a_point_for_each_outcome(report):
    written = render(report, "tap")
    lines = tap_points(written)
    points = [line for line in lines if line.category == "test"]
    assert [point.number for point in points] == list(range(1, lines[1].expected_tests + 1))
    expected = [one.status is not Status.FAILED for one in report.outcomes] + [False] * len(report.unreadable)
    assert [point.ok for point in points] == expected
    assert [point.skip for point in points[: len(report.outcomes)]] == [
        one.status is Status.INCONCLUSIVE for one in report.outcomes
    ]
    for block in re.findall(r"^  ---\n(.*?)^  \.\.\.\n", written, re.DOTALL | re.MULTILINE):
        told = yaml.safe_load(block)
        assert told["violations"]


@FEW
@given(REPORTS)
@example(hostile())
def test_gitlab_report_has_gitlabs_fields(report):
    issues = json.loads(render(report, "gitlab"))
    assert len(issues) == len(groups([one for one in report.violations if not one.is_known], report))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for issue in issues:
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["description"] is not None
        assert issue["check_name"]
        assert issue["location"]["path"]
        assert issue["location"]["lines"]["begin"] >= 1


def unescaped(text: str) -> str:
    """Parse a message as the runner does (actions/runner, ActionCommand.cs)."""
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


@FEW
@given(REPORTS)
@example(hostile())
def test_github_commands_are_one_line_each_and_unescape_correctly(report):
    lines = render(report, "github").split("\n")[:-1]
    new = [one for one in report.violations if not one.is_known]
    unclear = {one.message for one in report.outcomes if one.status is Status.INCONCLUSIVE}
    told = len(groups(new, report)) + len(unclear) + len(report.unreadable)
    assert len(lines) == min(told, 10)
    for line in lines:
        found = re.fullmatch(r"::(error|warning|notice) ((?:file=[^:,\r\n]*,)?title=[^:,\r\n]*)::([^\r\n]*)", line)
        assert found is not None
    # The last line may count the omitted findings.
    for line, message in zip(lines[:9], report.unreadable, strict=False):
        shown = unescaped(line.partition("::")[2].partition("::")[2])
        assert len(shown) == len(message)
        assert all(was in {one, *"\r"} or one == "\ufffd" for one, was in zip(shown, message, strict=True))


def of(violations, **given):
    outcome = Outcome(
        subject=Subject.RULE,
        name="nagle-hold",
        level=Level.ERROR,
        status=Status.FAILED,
        message="m",
        violations=violations,
    )
    return CheckReport(outcomes=[outcome], captures=["c.pcap"], transactions=1, **given)


def many(count, **given):
    common = {"name": "nagle-hold", "level": Level.ERROR, "message": "held", "lost_ns": 1_000_000}
    return [
        Violation(fingerprint=str(number), first_frame=number, last_frame=number, **common | given)
        for number in range(count)
    ]


@pytest.mark.parametrize("name", ["sarif", "github", "gitlab", "junit"])
def test_findings_of_one_detector_at_one_place_are_one_with_a_count(name):
    one = of(many(3000, capture="a.pcap") + many(1, capture="b.pcap"))
    written = render(one, name)
    assert written.count("3,000 findings, 3.00 s lost in all; the worst: ") == 1
    if name == "sarif":
        assert [found["occurrenceCount"] for found in json.loads(written)["runs"][0]["results"]] == [3000, 1]
    if name == "gitlab":
        assert len(json.loads(written)) == 2
    if name == "github":
        assert written.count("\n") == 2


def test_annotations_are_ten_at_most_and_the_last_says_how_many_there_are_more():
    places = [one for number in range(25) for one in many(2, capture=f"{number}.pcap")]
    lines = render(of(places, unreadable=["x.pcap: no capture"]), "github").splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("::error title=unreadable")
    assert lines[-1] == "::notice title=more::17 more; see the job summary"


def test_rules_of_sarif_have_help_that_can_be_read_and_a_page():
    (rule,) = json.loads(render(of(many(1)), "sarif"))["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == detector_page(rule["id"])
    assert "nginx: tcp_nodelay on" in rule["help"]["markdown"]


@pytest.mark.parametrize("name", FORMATS)
def test_published_reports_have_no_query_values(name):
    url = "http://user:secret@a.example/p?token=secret&secret"
    report = of(many(1, target=url, message=f"{url} was fetched"))
    is_published = name in {"sarif", "junit", "github", "gitlab"}
    for redact, is_kept in ((None, not is_published), (True, False), (False, True)):
        written = render(report, name, redact=redact)
        assert ("secret" in written) == is_kept
        if not is_kept:
            assert "token=REDACTED" in written


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("control", ["\x85", "\x9b", "\u202e", "\u2066", "\u2028"])
def test_no_invisible_control_is_written(name, control):
    report = of(many(1, target=f"/a{control}b", message=f"x{control}y"), notes=[f"n{control}"])
    assert control not in render(report, name)


@FEW
@given(REPORTS)
@example(hostile())
def test_markdown_keeps_its_table_and_renders_no_markup(report):
    lines = render(report, "markdown").split("\n")
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| level")]
    for row in rows:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 6
        assert not re.search(r"(?<!\\)(?:\\\\)*[<`]", row)


@FEW
@given(REPORTS)
@example(hostile())
def test_text_steers_no_terminal(report):
    for line in render(report, "text").split("\n"):
        assert all(one.isprintable() or one.isspace() for one in line)


def test_json_says_all_that_the_report_has(report):
    shown = json.loads(render(report, "json"))
    assert shown["verdict"] == report.verdict
    assert len(shown["outcomes"]) == len(report.outcomes)
    assert sum(len(one["violations"]) for one in shown["outcomes"]) == len(report.violations)

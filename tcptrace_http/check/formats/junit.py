"""JUnit XML for CI systems: a test suite of rules and one of thresholds, with one test case each.

The elements follow the common schema (jenkins-xunit's ``junit-10.xsd``). A violation is a ``failure``, an
inconclusive outcome is ``skipped`` with its reason, an unreadable capture is an ``error``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from tcptrace_http.check.formats._groups import groups
from tcptrace_http.check.formats._text import printable
from tcptrace_http.check.report import Status, Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.check.report import CheckReport, Outcome

__all__ = ["render"]

_PROGRAM: Final = "tcptrace-http"
_SUITES: Final = {
    Subject.CAPTURE: "captures",
    Subject.CONTROL: "controls",
    Subject.RULE: "rules",
    Subject.THRESHOLD: "thresholds",
}


def render(report: CheckReport) -> str:
    """Return one ``testsuites`` document."""
    root = ET.Element("testsuites", name=_PROGRAM)
    for subject, name in _SUITES.items():
        outcomes = [outcome for outcome in report.outcomes if outcome.subject is subject]
        unreadable = report.unreadable if subject is Subject.CAPTURE else ()
        if outcomes or unreadable:
            root.append(_suite(name, outcomes, unreadable, report))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(name: str, outcomes: Sequence[Outcome], unreadable: Sequence[str], report: CheckReport) -> ET.Element:
    cases = [_case(name, outcome, report) for outcome in outcomes]
    cases += [_error(name, message) for message in unreadable]
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    suite = ET.Element("testsuite", name=f"{_PROGRAM}.{name}", tests=str(len(cases)))
    suite.attrib |= {"failures": str(failures), "errors": str(len(unreadable)), "skipped": str(skipped)}
    suite.extend(cases)
    return suite


def _case(suite: str, outcome: Outcome, report: CheckReport) -> ET.Element:
    case = ET.Element("testcase", classname=f"{_PROGRAM}.{suite}", name=printable(outcome.name))
    if outcome.status is Status.FAILED:
        new = (one for one in outcome.violations if not one.is_known)
        failure = ET.SubElement(case, "failure", type=outcome.level, message=printable(outcome.message))
        failure.text = "\n".join(group.sentence for group in groups(new, report))
    elif outcome.status is Status.INCONCLUSIVE:
        ET.SubElement(case, "skipped", message=printable(outcome.message))
    return case


def _error(suite: str, message: str) -> ET.Element:
    case = ET.Element("testcase", classname=f"{_PROGRAM}.{suite}", name="readable")
    ET.SubElement(case, "error", type="unreadable", message=printable(message))
    return case

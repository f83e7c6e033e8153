"""SARIF 2.1.0 (OASIS) for code scanning.

GitHub's additional rules hold. Every result has a location (the capture's file, or the probed address),
``partialFingerprints``, and a rule with a help text. A run has at most 25,000 results.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from tcptrace_http.check.formats._groups import groups
from tcptrace_http.check.formats._text import advice, printable
from tcptrace_http.check.policy import Level
from tcptrace_http.check.report import Status
from tcptrace_http.documentation import detector_page
from tcptrace_http.remedies import remedies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.check.formats._groups import Group
    from tcptrace_http.check.report import CheckReport, Outcome

__all__ = ["render"]

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.OFF: "none"}
#: "Upload will be rejected beyond this" (GitHub, SARIF support for code scanning).
_RESULTS_MAX: Final = 25_000
_FINGERPRINT: Final = "tcptraceHttp/v2"


def render(report: CheckReport) -> str:
    """Return one log with one run."""
    run = {
        "tool": {"driver": _driver(report)},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": list(_results(report))[:_RESULTS_MAX],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _driver(report: CheckReport) -> dict[str, Any]:
    from tcptrace_http._version import __version__

    return {
        "name": "tcptrace-http",
        "semanticVersion": __version__,
        "rules": list(
            {outcome.name: _rule(outcome) for outcome in report.outcomes if outcome.violations}.values()
        ),
    }


def _rule(outcome: Outcome) -> dict[str, Any]:
    from tcptrace_http.detectors import DETECTORS

    detector = DETECTORS.get(outcome.name)
    short, _, rest = (detector.doc if detector else f"{outcome.subject}: {outcome.name}").partition("\n")
    return {
        "id": outcome.name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": short},
        "help": {"text": rest.strip() or short, "markdown": _markdown(outcome.name, rest.strip() or short)},
        **({"helpUri": detector_page(outcome.name)} if detector else {}),
        "defaultConfiguration": {"level": _LEVELS[outcome.level]},
    }


def _markdown(name: str, text: str) -> str:
    """Return the help of a rule in Markdown: its sections, then the settings of servers."""
    settings = [f"- {one.words} ([source]({one.source}))" for one in remedies() if name in one.detectors]
    return "\n".join([text, *(["", "Settings", "---", "", *settings] if settings else [])])


def _invocation(report: CheckReport) -> dict[str, Any]:
    """Return whether everything was read, with notifications for inconclusive outcomes."""
    unclear = [outcome for outcome in report.outcomes if outcome.status is Status.INCONCLUSIVE]
    notes = [{"level": "warning", "message": {"text": f"{one.name}: {one.message}"}} for one in unclear]
    notes += [{"level": "error", "message": {"text": message}} for message in report.unreadable]
    return {"executionSuccessful": not report.unreadable, "toolExecutionNotifications": notes}


def _results(report: CheckReport) -> Iterator[dict[str, Any]]:
    for outcome in report.outcomes:
        for group in groups(outcome.violations, report):
            yield _result(outcome.name, group)


def _result(rule: str, group: Group) -> dict[str, Any]:
    violation = group.worst
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": _LEVELS[violation.level],
        "message": {"text": group.sentence},
        "locations": [{"physicalLocation": _physical(group.location)}],
        "partialFingerprints": {_FINGERPRINT: group.fingerprint},
        "occurrenceCount": group.count,
        "baselineState": "unchanged" if violation.is_known else "new",
        "properties": {
            "lostNs": None if violation.lost_ns is None else group.lost_ns,
            "flow": violation.flow,
            "transaction": violation.transaction,
            "firstFrame": violation.first_frame,
            "lastFrame": violation.last_frame,
            "confidence": violation.confidence,
            "remedy": printable(advice(violation)),
        },
    }
    return result


def _physical(path: str) -> dict[str, Any]:
    """Return the location of a file; viewers need a line, and a capture has none."""
    is_relative = not PurePath(path).is_absolute()
    uri = quote(PurePath(path).as_posix(), errors="surrogateescape") if is_relative else PurePath(path).as_uri()
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}

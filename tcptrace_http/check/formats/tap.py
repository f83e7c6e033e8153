"""TAP 14, the Test Anything Protocol: one test point per rule and threshold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tcptrace_http.check.formats._text import printable, sentence
from tcptrace_http.check.policy import Level
from tcptrace_http.check.report import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.check.report import CheckReport, Outcome

__all__ = ["render"]


def render(report: CheckReport) -> str:
    """Return version, plan and points. A violated warning is a ``TODO`` point, which does not fail."""
    lines = ["TAP version 14", f"1..{len(report.outcomes) + len(report.unreadable)}"]
    for number, outcome in enumerate(report.outcomes, start=1):
        lines += _point(number, outcome)
    for number, message in enumerate(report.unreadable, start=len(report.outcomes) + 1):
        lines.append(f"not ok {number} - {_escaped(message)}")
    return "\n".join(lines) + "\n"


def _point(number: int, outcome: Outcome) -> Iterator[str]:
    name = _escaped(outcome.name)
    match outcome.status:
        case Status.PASSED:
            yield f"ok {number} - {name}"
        case Status.INCONCLUSIVE:
            yield f"ok {number} - {name} # SKIP {_escaped(outcome.message)}"
        case Status.FAILED:
            directive = "" if outcome.level is Level.ERROR else " # TODO a warning"
            yield f"not ok {number} - {name}{directive}"
            yield "  ---"
            yield f"  message: {_yaml(outcome.message)}"
            yield f"  severity: {outcome.level}"
            yield "  violations:"
            for violation in outcome.violations:
                yield f"    - {_yaml(sentence(violation))}"
            yield "  ..."


def _yaml(text: str) -> str:
    """Return a JSON string of printable characters, which is also a YAML string."""
    return json.dumps(printable(text), ensure_ascii=False)


def _escaped(text: str) -> str:
    """Return a description on one line, without directive marks. Not every parser knows the escapes of version
    14.
    """
    return " ".join(printable(text).split()).replace("\\", "\\\\").replace("#", "\N{FULLWIDTH NUMBER SIGN}")

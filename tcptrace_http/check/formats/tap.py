"""TAP 14, the Test Anything Protocol: a test point for every rule and threshold."""

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
    """The version, the plan and the points. A violated warning is a point that is ``TODO``: it fails nothing."""
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
    """A JSON string of printable characters is a YAML string."""
    return json.dumps(printable(text), ensure_ascii=False)


def _escaped(text: str) -> str:
    """A description: one line, without what begins a directive. Not every parser knows version 14's escapes."""
    return " ".join(printable(text).split()).replace("\\", "\\\\").replace("#", "\N{FULLWIDTH NUMBER SIGN}")

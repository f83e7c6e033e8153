"""JSON for programs: every outcome with its violations."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tcptrace_http.check.report import CheckReport

__all__ = ["render"]

_SCHEMA_VERSION: Final = 1


def render(report: CheckReport) -> str:
    """Return one object with the fields of :class:`CheckReport`."""
    document = {
        "schema_version": _SCHEMA_VERSION,
        "verdict": report.verdict,
        "fail_on": report.fail_on or "never",
        "captures": list(report.captures),
        "unreadable": list(report.unreadable),
        "transactions": report.transactions,
        "notes": list(report.notes),
        "outcomes": [asdict(outcome) for outcome in report.outcomes],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

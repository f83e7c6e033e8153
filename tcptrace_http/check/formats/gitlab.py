"""GitLab Code Quality: a JSON array of issues, as a merge request shows them.

The fields follow GitLab's "Code Quality report format": description, check_name, fingerprint (unique per
report), severity, location.path and lines.begin.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.check.formats._groups import groups
from tcptrace_http.check.policy import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.check.report import CheckReport

__all__ = ["render"]

_SEVERITIES: Final = {Level.ERROR: "major", Level.WARNING: "minor", Level.OFF: "info"}


def render(report: CheckReport) -> str:
    """Return the array without violations of the baseline."""
    return json.dumps(list(_issues(report)), indent=1, ensure_ascii=False) + "\n"


def _issues(report: CheckReport) -> Iterator[dict[str, Any]]:
    for group in groups((one for one in report.violations if not one.is_known), report):
        yield {
            "description": group.sentence,
            "check_name": group.worst.name,
            "fingerprint": group.fingerprint,
            "severity": _SEVERITIES[group.worst.level],
            "location": {"path": group.location, "lines": {"begin": 1}},
        }

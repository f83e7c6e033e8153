"""Formats of a check report: one module per format, each with ``render(report) -> str``."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tcptrace_http.redaction import escaped_controls, redacted_text, redacted_url

if TYPE_CHECKING:
    from tcptrace_http.check.report import CheckReport, Violation

__all__ = ["FORMATS", "redacted", "render"]

#: Formats with their readers.
FORMATS: Final = {
    "text": "people",
    "json": "programs; the names are a contract, counted by schema_version",
    "junit": "CI systems: JUnit XML",
    "sarif": "code scanning: SARIF 2.1.0",
    "github": "GitHub Actions: annotations",
    "gitlab": "GitLab: a Code Quality report",
    "tap": "harnesses of the Test Anything Protocol",
    "markdown": "a job summary, or a comment on a change",
}

#: Formats that third parties read.
_PUBLISHED: Final = frozenset({"sarif", "junit", "github", "gitlab"})
_JSON: Final = frozenset({"json", "sarif", "gitlab"})
#: Lone surrogates, which represent undecodable bytes of file names.
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def render(report: CheckReport, format_name: str, *, redact: bool | None = None) -> str:
    """Return the report in one of :data:`FORMATS`, as text for any Unicode encoding.

    With ``redact``, query values and URL users are replaced; the default is true for formats that CI systems
    publish.
    """
    if format_name in _PUBLISHED if redact is None else redact:
        report = redacted(report)
    module = import_module(f"{__name__}.{format_name}")
    written: str = module.render(report)
    whole = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", written)
    return escaped_controls(whole) if format_name in _JSON else whole


def redacted(report: CheckReport) -> CheckReport:
    """Return the report without query values and URL users."""

    def without(one: Violation) -> Violation:
        target = None if one.target is None else redacted_url(one.target)
        return replace(one, target=target, message=redacted_text(one.message, one.target))

    outcomes = [replace(one, violations=[without(each) for each in one.violations]) for one in report.outcomes]
    captures = [redacted_url(path) if "://" in path else path for path in report.captures]
    return replace(report, outcomes=outcomes, captures=captures)

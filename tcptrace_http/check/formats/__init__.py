"""How a report of a check is written: one format, one file, each with ``render(report) -> str``."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tcptrace_http.redaction import escaped_controls, redacted_text, redacted_url

if TYPE_CHECKING:
    from tcptrace_http.check.report import CheckReport, Violation

__all__ = ["FORMATS", "redacted", "render"]

#: The formats, and what reads them.
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

#: What others than its maker read.
_PUBLISHED: Final = frozenset({"sarif", "junit", "github", "gitlab"})
_JSON: Final = frozenset({"json", "sarif", "gitlab"})
#: Lone surrogates, which stand for bytes of a file's name that are no text.
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def render(report: CheckReport, format_name: str, *, redact: bool | None = None) -> str:
    """The report in one of :data:`FORMATS`, as text that any encoding of Unicode can hold.

    With ``redact``, query values and users of URLs are replaced; by default in what CI systems publish.
    """
    if format_name in _PUBLISHED if redact is None else redact:
        report = redacted(report)
    module = import_module(f"{__name__}.{format_name}")
    written: str = module.render(report)
    whole = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", written)
    return escaped_controls(whole) if format_name in _JSON else whole


def redacted(report: CheckReport) -> CheckReport:
    """The report without values of queries, and without users of URLs."""

    def without(one: Violation) -> Violation:
        target = None if one.target is None else redacted_url(one.target)
        return replace(one, target=target, message=redacted_text(one.message, one.target))

    outcomes = [replace(one, violations=[without(each) for each in one.violations]) for one in report.outcomes]
    captures = [redacted_url(path) if "://" in path else path for path in report.captures]
    return replace(report, outcomes=outcomes, captures=captures)

"""How a report of a check is written: one format, one file, each with ``render(report) -> str``."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tcptrace_http.check.report import CheckReport

__all__ = ["FORMATS", "render"]

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

#: Lone surrogates, which stand for bytes of a file's name that are no text.
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def render(report: CheckReport, format_name: str) -> str:
    """The report in one of :data:`FORMATS`, as text that any encoding of Unicode can hold."""
    module = import_module(f"{__name__}.{format_name}")
    written: str = module.render(report)
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", written)

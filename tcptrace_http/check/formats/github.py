"""GitHub Actions: workflow commands, which become annotations of the run.

The syntax is that of "Workflow commands for GitHub Actions": properties and text are escaped as the
runner unescapes them. The job summary is the format ``markdown``, written to ``$GITHUB_STEP_SUMMARY``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.check.formats._text import location, printable, sentence
from tcptrace_http.check.policy import Level
from tcptrace_http.check.report import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.check.report import CheckReport

__all__ = ["render"]

_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.OFF: "notice"}


def render(report: CheckReport) -> str:
    """A line each for new violations, and for what could not be judged or read."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: CheckReport) -> Iterator[str]:
    for violation in report.violations:
        if not violation.is_known:
            where = location(violation, report)
            yield _command(_COMMANDS[violation.level], violation.name, sentence(violation), where)
    for outcome in report.outcomes:
        if outcome.status is Status.INCONCLUSIVE:
            yield _command("notice", f"{outcome.name} (inconclusive)", outcome.message, None)
    for message in report.unreadable:
        yield _command("error", "unreadable", message, None)


def _command(name: str, title: str, message: str, file: str | None) -> str:
    properties = {"title": title} if file is None else {"file": file, "title": title}
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {written}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")

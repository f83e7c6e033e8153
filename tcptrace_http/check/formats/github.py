"""GitHub Actions workflow commands, which become annotations of the run.

The syntax follows "Workflow commands for GitHub Actions": properties and text are escaped for the runner. The
job summary is the format ``markdown``, written to ``$GITHUB_STEP_SUMMARY``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.check.formats._groups import groups
from tcptrace_http.check.formats._text import printable
from tcptrace_http.check.policy import Level
from tcptrace_http.check.report import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.check.report import CheckReport

__all__ = ["render"]

#: "10 warning annotations, 10 error annotations, and 10 notice annotations per step" (GitHub); more are dropped.
_ANNOTATIONS_MAX: Final = 10
_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.OFF: "notice"}


def render(report: CheckReport) -> str:
    """Return one line per detector and location of new violations, and the inconclusive or unreadable items."""
    lines = list(_lines(report))
    if len(lines) > _ANNOTATIONS_MAX:
        more = len(lines) - _ANNOTATIONS_MAX + 1
        lines[_ANNOTATIONS_MAX - 1 :] = [_command("notice", "more", f"{more} more; see the job summary", None)]
    return "".join(f"{line}\n" for line in lines)


def _lines(report: CheckReport) -> Iterator[str]:
    for message in report.unreadable:
        yield _command("error", "unreadable", message, None)
    for group in groups((one for one in report.violations if not one.is_known), report):
        yield _command(_COMMANDS[group.worst.level], group.worst.name, group.sentence, group.location)
    unclear: dict[str, list[str]] = {}
    for outcome in report.outcomes:
        if outcome.status is Status.INCONCLUSIVE:
            unclear.setdefault(outcome.message, []).append(outcome.name)
    for message, names in unclear.items():
        yield _command("notice", "inconclusive", f"{', '.join(names)}: {message}", None)


def _command(name: str, title: str, message: str, file: str | None) -> str:
    properties = {"title": title} if file is None else {"file": file, "title": title}
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {written}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")

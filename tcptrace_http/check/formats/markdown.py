"""Markdown for a job summary or a comment on a change: the verdict, and a table of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.check.formats._text import advice, place, printable
from tcptrace_http.check.report import Status, Verdict
from tcptrace_http.quantity import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.check.report import CheckReport, Violation

__all__ = ["render"]

_TITLES: Final = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "**failed**",
    Verdict.INCONCLUSIVE: "**inconclusive**",
}
#: Maximum number of table rows: a job summary may have one mebibyte.
_ROWS_MAX: Final = 100


def render(report: CheckReport) -> str:
    """Return a heading, a line, and the non-empty tables."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CheckReport) -> Iterator[str]:
    captures = counted(len(report.captures), "capture")
    yield f"### tcptrace-http: {_TITLES[report.verdict]}"
    yield ""
    yield f"{counted(report.transactions, 'transaction')} in {captures}."
    new = [one for one in report.violations if not one.is_known]
    if new:
        yield from ("", "| level | what | where | lost | what to change |", "|---|---|---|---:|---|")
        for violation in new[:_ROWS_MAX]:
            yield _row(violation)
        if len(new) > _ROWS_MAX:
            yield f"\nand {len(new) - _ROWS_MAX} more."
    unclear = [one for one in report.outcomes if one.status is Status.INCONCLUSIVE]
    if unclear:
        yield from ("", "Could not be judged:", "")
        yield from (f"- {_cell(one.name)}: {_cell(one.message)}" for one in unclear)
    if report.notes:
        yield from ("", *(f"- {_cell(note)}" for note in report.notes))
    if report.unreadable:
        yield from ("", "Could not be read:", "")
        yield from (f"- {_cell(message)}" for message in report.unreadable)


def _row(one: Violation) -> str:
    lost = "" if not one.lost_ns else duration(one.lost_ns)
    cells = (one.level, f"{one.name}: {one.message}", place(one), lost, advice(one))
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Return text that stays in its cell and has no markup."""
    text = printable(text)
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())

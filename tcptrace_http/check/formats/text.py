"""Text for readers: the verdict, failures with cost and remedy, and inconclusive outcomes."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from tcptrace_http.check.formats._text import place, printable
from tcptrace_http.check.report import Status, Subject
from tcptrace_http.quantity import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tcptrace_http.check.report import CheckReport, Outcome, Violation

__all__ = ["render"]

_WIDTH: Final = 80
_INDENT: Final = " " * 6
#: Maximum number of violations per rule; the rest are counted.
_SHOWN: Final = 5


def render(report: CheckReport) -> str:
    """Return lines of at most 80 columns, except for longer names."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CheckReport) -> Iterator[str]:
    passed = [one for one in report.outcomes if one.status is Status.PASSED]
    for outcome in report.outcomes:
        if outcome.status is Status.FAILED:
            yield from _outcome(outcome)
    yield from _unclear(report.outcomes)
    for message in report.unreadable:
        yield from _wrapped(f"unreadable: {message}", "  ")
    for note in report.notes:
        yield from _wrapped(f"note: {note}", "  ")
    rules = sum(one.subject is Subject.RULE for one in passed)
    thresholds = sum(one.subject is Subject.THRESHOLD for one in passed)
    yield f"{counted(rules, 'rule')} and {counted(thresholds, 'threshold')} passed"
    captures, transactions = counted(len(report.captures), "capture"), counted(report.transactions, "transaction")
    yield f"{report.verdict}: {transactions} in {captures}"


def _unclear(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the inconclusive outcomes, merged by reason."""
    names: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.status is Status.INCONCLUSIVE:
            names.setdefault(outcome.message, []).append(outcome.name)
    for message, these in names.items():
        yield from _wrapped(f"inconclusive: {', '.join(these)}: {message}", "  ")


def _outcome(outcome: Outcome) -> Iterator[str]:
    yield from _wrapped(f"{outcome.level}: {outcome.name}: {outcome.message}", "  ")
    if outcome.subject is not Subject.RULE:
        return
    new = [one for one in outcome.violations if not one.is_known]
    for violation in new[:_SHOWN]:
        yield from _violation(violation)
    if len(new) > _SHOWN:
        yield f"  and {len(new) - _SHOWN} more"
    known = len(outcome.violations) - len(new)
    if known:
        yield f"  and {known} that the baseline has"
    yield from _advice(new)


def _violation(one: Violation) -> Iterator[str]:
    lost = f", lost {duration(one.lost_ns)}" if one.lost_ns else ""
    yield from _wrapped(f"{place(one) or 'the capture'}{lost}", "    ", first="  - ")
    yield from _wrapped(one.message, "    ", first="    ")


def _advice(violations: Sequence[Violation]) -> Iterator[str]:
    """Yield each remedy once."""
    remedies = dict.fromkeys(one.remedy for one in violations if one.remedy)
    settings = dict.fromkeys(setting for one in violations for setting in one.settings)
    for remedy in list(remedies)[:_SHOWN]:
        yield from _wrapped(remedy, _INDENT, first="  fix ")
    if len(remedies) > _SHOWN:
        yield f"  and {len(remedies) - _SHOWN} more to fix"
    for setting in settings:
        yield from _wrapped(setting, _INDENT, first="  set ")


def _wrapped(text: str, indent: str, *, first: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )

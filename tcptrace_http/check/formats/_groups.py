"""Violations of one detector at one place as one entry: CI shows one annotation instead of thousands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcptrace_http.check.baseline import fingerprint
from tcptrace_http.check.formats._text import location, printable, sentence
from tcptrace_http.quantity import duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tcptrace_http.check.report import CheckReport, Violation

__all__ = ["Group", "groups"]


@dataclass(frozen=True, slots=True)
class Group:
    """Violations of one name and level at one location, all new or all known."""

    worst: Violation
    count: int
    lost_ns: int
    location: str

    @property
    def fingerprint(self) -> str:
        """Return a fingerprint, equal in every report with the same detector and location."""
        return fingerprint(self.worst.name, self.worst.level, self.location)

    @property
    def sentence(self) -> str:
        """Return the worst violation, with the count."""
        if self.count == 1:
            return printable(sentence(self.worst))
        lost = f", {duration(self.lost_ns)} lost in all" if self.lost_ns else ""
        return printable(f"{self.count:,} findings{lost}; the worst: {sentence(self.worst)}")


def groups(violations: Iterable[Violation], report: CheckReport) -> list[Group]:
    """Return the groups, in the order of their first violation."""
    found: dict[tuple[str, str, str, bool], list[Violation]] = {}
    for one in violations:
        found.setdefault((one.name, one.level, location(one, report), one.is_known), []).append(one)
    return [
        Group(
            worst=max(these, key=lambda one: one.lost_ns or 0),
            count=len(these),
            lost_ns=sum(one.lost_ns or 0 for one in these),
            location=where,
        )
        for (_, _, where, _), these in found.items()
    ]

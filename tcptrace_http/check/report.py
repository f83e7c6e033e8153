"""Result of a check: the outcome of every rule and threshold, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tcptrace_http.check.policy import GRAVITY, Level

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CheckReport", "Outcome", "Status", "Subject", "Verdict", "Violation"]


class Status(StrEnum):
    """Status of one rule or threshold."""

    PASSED = "passed"
    FAILED = "failed"
    #: The captures do not decide the rule.
    INCONCLUSIVE = "inconclusive"


class Verdict(StrEnum):
    """Verdict of all outcomes."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


class Subject(StrEnum):
    """Subject of an outcome."""

    RULE = "rule"
    THRESHOLD = "threshold"
    #: The capture itself.
    CAPTURE = "capture"
    #: Control of a probe: whether the provoked condition really occurred.
    CONTROL = "control"


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """Forbidden finding, or missed threshold."""

    #: Detector or metric.
    name: str
    level: Level
    message: str
    #: Identifier, equal in another capture of the same behaviour: it covers the subject, not the time.
    fingerprint: str
    #: Capture; None for several.
    capture: str | None = None
    flow: int | None = None
    transaction: int | None = None
    first_frame: int | None = None
    last_frame: int | None = None
    #: Lost time; None for a threshold.
    lost_ns: int | None = None
    confidence: float | None = None
    #: Severity of the finding, independent of the rule's level; None for a threshold.
    severity: str | None = None
    method: str | None = None
    host: str | None = None
    target: str | None = None
    status: int | None = None
    port: int | None = None
    server_software: str | None = None
    remedy: str = ""
    #: Settings of known servers that fix the violation, one per entry: "nginx: tcp_nodelay on".
    settings: Sequence[str] = ()
    reference: str = ""
    #: True if the baseline has the violation.
    is_known: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Outcome of one rule or threshold."""

    subject: Subject
    #: Detector, or the text of a threshold with its match, if any.
    name: str
    level: Level
    status: Status
    #: Observation in a sentence: "3 findings, none allowed", "p(95) is 231 ms".
    message: str
    violations: Sequence[Violation] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """Outcomes of a policy on captures."""

    outcomes: Sequence[Outcome]
    captures: Sequence[str]
    transactions: int
    #: Minimum level of a violation that fails; None if none fails.
    fail_on: Level | None = Level.ERROR
    #: Unreadable captures, one line each; with any of them no verdict passes.
    unreadable: Sequence[str] = ()
    #: File of the annotations in place of the capture: the server's configuration.
    location: str | None = None
    #: Observations outside the rules, and missing observations, one sentence each.
    notes: Sequence[str] = ()

    @property
    def violations(self) -> list[Violation]:
        """Return all violations, including known ones, highest level first."""
        every = [violation for outcome in self.outcomes for violation in outcome.violations]
        return sorted(every, key=lambda one: (one.is_known, -GRAVITY.index(one.level), -(one.lost_ns or 0)))

    @property
    def verdict(self) -> Verdict:
        """Return failed for an outcome at the failing level, else inconclusive for an undecided one, else
        passed.
        """
        counted = [one for one in self.outcomes if one.level is not Level.OFF]
        failing = [one for one in counted if one.status is Status.FAILED and self._fails(one.level)]
        if failing:
            return Verdict.FAILED
        # An outcome that cannot fail the run does not make it inconclusive, unless the run judged nothing.
        unclear = any(one.status is Status.INCONCLUSIVE and self._fails(one.level) for one in counted)
        return Verdict.INCONCLUSIVE if unclear or not self.transactions else Verdict.PASSED

    def _fails(self, level: Level) -> bool:
        return self.fail_on is not None and GRAVITY.index(level) >= GRAVITY.index(self.fail_on)

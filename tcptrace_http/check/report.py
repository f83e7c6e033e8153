"""What a check found: the outcome of every rule and threshold, and what all of them come to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tcptrace_http.check.policy import GRAVITY, Level

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CheckReport", "Outcome", "Status", "Subject", "Verdict", "Violation"]


class Status(StrEnum):
    """What became of one rule or threshold."""

    PASSED = "passed"
    FAILED = "failed"
    #: The captures do not show enough to tell.
    INCONCLUSIVE = "inconclusive"


class Verdict(StrEnum):
    """What all outcomes come to."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


class Subject(StrEnum):
    """What an outcome is of."""

    RULE = "rule"
    THRESHOLD = "threshold"
    #: A capture itself.
    CAPTURE = "capture"
    #: Of a probe: whether what it was to provoke was really in play.
    CONTROL = "control"


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """One finding that a rule does not allow, or one threshold that was missed."""

    #: The detector, or the metric.
    name: str
    level: Level
    message: str
    #: The same in another capture of the same behaviour: made of what it is and of whom, not of when.
    fingerprint: str
    #: None where several captures are meant.
    capture: str | None = None
    flow: int | None = None
    transaction: int | None = None
    first_frame: int | None = None
    last_frame: int | None = None
    #: What it cost; None of a threshold.
    lost_ns: int | None = None
    confidence: float | None = None
    #: The finding's own, whatever the level of the rule; None of a threshold.
    severity: str | None = None
    method: str | None = None
    host: str | None = None
    target: str | None = None
    status: int | None = None
    port: int | None = None
    server_software: str | None = None
    remedy: str = ""
    #: Settings of known servers that remedy it, one a line: "nginx: tcp_nodelay on".
    settings: Sequence[str] = ()
    reference: str = ""
    #: Whether the baseline has it already.
    is_known: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of one rule, or of one threshold."""

    subject: Subject
    #: The detector; of a threshold its text, and where it is for some transactions only, which.
    name: str
    level: Level
    status: Status
    #: What was seen, in a sentence: "3 findings, none allowed", "p(95) is 231 ms".
    message: str
    violations: Sequence[Violation] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """The outcomes of a policy on captures."""

    outcomes: Sequence[Outcome]
    captures: Sequence[str]
    transactions: int
    #: From which level on a violation fails; None where none does.
    fail_on: Level | None = Level.ERROR
    #: What could not be read at all, a line each; there is no verdict that passes with it.
    unreadable: Sequence[str] = ()
    #: The file that annotations are put at, in place of the capture: the server's configuration.
    location: str | None = None
    #: What else was seen and judged by no rule, and what could not be seen, a sentence each.
    notes: Sequence[str] = ()

    @property
    def violations(self) -> list[Violation]:
        """All violations, also those that the baseline knows, the gravest first."""
        every = [violation for outcome in self.outcomes for violation in outcome.violations]
        return sorted(every, key=lambda one: (one.is_known, -GRAVITY.index(one.level), -(one.lost_ns or 0)))

    @property
    def verdict(self) -> Verdict:
        """Failed where an outcome at the failing level did; inconclusive where none did and one cannot tell."""
        counted = [one for one in self.outcomes if one.level is not Level.OFF]
        failing = [one for one in counted if one.status is Status.FAILED and self._fails(one.level)]
        if failing:
            return Verdict.FAILED
        # What can never fail the run does not make it inconclusive either, except a run without anything to judge.
        unclear = any(one.status is Status.INCONCLUSIVE and self._fails(one.level) for one in counted)
        return Verdict.INCONCLUSIVE if unclear or not self.transactions else Verdict.PASSED

    def _fails(self, level: Level) -> bool:
        return self.fail_on is not None and GRAVITY.index(level) >= GRAVITY.index(self.fail_on)

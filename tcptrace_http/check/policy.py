"""Policy as data: rules for findings, thresholds for metrics, and exceptions to both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "GRAVITY",
    "Aggregation",
    "CutShort",
    "Level",
    "LostLimit",
    "Match",
    "Policy",
    "Rule",
    "Threshold",
    "Traits",
]

#: Divisor from a status to its class (RFC 9110, section 15).
_STATUS_CLASS: Final = 100


class Level(StrEnum):
    """Severity of a violation."""

    OFF = "off"
    WARNING = "warning"
    ERROR = "error"


#: Levels in ascending severity.
GRAVITY: Final = (Level.OFF, Level.WARNING, Level.ERROR)


@dataclass(frozen=True, kw_only=True, slots=True)
class LostLimit:
    """Loss limit: a duration, or a number of the connection's round trips."""

    ns: int = 0
    round_trips: float = 0.0

    def of(self, rtt_ns: int | None) -> int:
        """Return the limit in nanoseconds for a round trip; unknown round trips count as zero."""
        return self.ns + round(self.round_trips * (rtt_ns or 0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """Allowed findings of one detector."""

    level: Level = Level.ERROR
    #: Maximum number of findings.
    max: int = 0
    #: Maximum loss of a finding that does not count.
    max_lost: LostLimit = LostLimit()
    #: Minimum confidence of a finding that counts.
    min_confidence: float = 0.0
    #: True if findings of severity ``info`` count: structure without a cost on this path.
    structure: bool = False


class CutShort(StrEnum):
    """Effect of a capture that ends inside a packet."""

    IGNORED = "ignored"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"


class Aggregation(StrEnum):
    """Aggregation of a metric's values."""

    AVERAGE = "avg"
    COUNT = "count"
    MAXIMUM = "max"
    MEDIAN = "med"
    MINIMUM = "min"
    PERCENTILE = "p"


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """Limit of an aggregate of a metric: ``p(95)<200ms``."""

    metric: str
    aggregation: Aggregation
    #: Comparison operator: ``< <= > >= ==``.
    comparison: str
    #: Limit in the unit of the metric: nanoseconds, a share, a count or bytes.
    limit: float
    #: Original text.
    text: str
    #: Percentile, 0 to 100.
    percentile: float = 0.0
    level: Level = Level.ERROR


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a transaction for matches; None if the capture does not show them."""

    host: str | None = None
    path: str | None = None
    port: int | None = None
    status: int | None = None
    method: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """Rules and thresholds for the transactions that fit all conditions."""

    #: Shell patterns (``*.example.com``, ``/api/*``) of the host, without its port, and of the path.
    host: str | None = None
    path: str | None = None
    ports: tuple[int, ...] = ()
    #: Statuses and their classes: ``404``, ``"5xx"``.
    statuses: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    rules: Mapping[str, Rule] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()

    def fits(self, traits: Traits) -> bool:
        """Return whether a transaction with these traits fits."""
        return (
            _fits_pattern(self.host, None if traits.host is None else traits.host.lower())
            and _fits_pattern(self.path, traits.path)
            and (not self.ports or traits.port in self.ports)
            and (not self.methods or traits.method in self.methods)
            and (not self.statuses or _fits_status(self.statuses, traits.status))
        )

    @property
    def words(self) -> str:
        """Return the conditions for a reader."""
        said = {
            "host": self.host,
            "path": self.path,
            "port": " or ".join(map(str, self.ports)),
            "status": " or ".join(self.statuses),
            "method": " or ".join(self.methods),
        }
        return ", ".join(f"{name} {value}" for name, value in said.items() if value)


def _fits_pattern(pattern: str | None, value: str | None) -> bool:
    return pattern is None or (value is not None and fnmatchcase(value, pattern))


def _fits_status(wanted: tuple[str, ...], status: int | None) -> bool:
    return status is not None and (str(status) in wanted or f"{status // _STATUS_CLASS}xx" in wanted)


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """Rules by detector, thresholds, and matches, of which the last fitting one decides."""

    rules: Mapping[str, Rule] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()
    matches: tuple[Match, ...] = ()
    #: Maximum share of connections that a rule may be unable to judge without being inconclusive.
    max_inconclusive: float = 0.0
    cut_short: CutShort = CutShort.INCONCLUSIVE

    def rule(self, detector: str, traits: Traits) -> Rule:
        """Return the rule of a detector for a transaction with these traits."""
        return self.rule_within(detector, self.scope(detector, traits))

    def scope(self, detector: str, traits: Traits) -> int | None:
        """Return the number of the deciding match, or None for the policy's own rule."""
        fitting = (
            number for number, match in enumerate(self.matches) if detector in match.rules and match.fits(traits)
        )
        return max(fitting, default=None)

    def rule_within(self, detector: str, scope: int | None) -> Rule:
        """Return the rule of a detector in a match, or the policy's own."""
        return (self.rules if scope is None else self.matches[scope].rules).get(detector, OFF)

    def named(self) -> list[str]:
        """Return the detectors with a rule, here or in a match, sorted by name."""
        every = {name for table in self._tables() for name in table}
        return sorted(name for name in every if self.gravest(name) is not Level.OFF)

    def gravest(self, detector: str) -> Level:
        """Return the highest level of a detector's findings."""
        every = [table[detector].level for table in self._tables() if detector in table]
        return max(every, key=GRAVITY.index, default=Level.OFF)

    def _tables(self) -> list[Mapping[str, Rule]]:
        return [self.rules, *(match.rules for match in self.matches)]

    def only(self, *, selected: frozenset[str] = frozenset(), ignored: frozenset[str] = frozenset()) -> Policy:
        """Return the policy with the selected rules and thresholds (by default all), without the ignored ones."""

        def stays(name: str) -> bool:
            return (not selected or name in selected) and name not in ignored

        def rules(these: Mapping[str, Rule]) -> dict[str, Rule]:
            return {name: rule for name, rule in these.items() if stays(name)}

        def thresholds(these: tuple[Threshold, ...]) -> tuple[Threshold, ...]:
            return tuple(one for one in these if stays(one.metric))

        matches = tuple(
            replace(match, rules=rules(match.rules), thresholds=thresholds(match.thresholds))
            for match in self.matches
        )
        return replace(self, rules=rules(self.rules), thresholds=thresholds(self.thresholds), matches=matches)


#: Policy without rules.
NO_POLICY: Final = Policy()
#: Rule of a detector that a policy does not name.
OFF: Final = Rule(level=Level.OFF)

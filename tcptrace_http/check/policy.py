"""What a policy says, as data: rules for findings, thresholds for metrics, and exceptions to both."""

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

#: The hundreds digit of a status is its class (RFC 9110, section 15).
_STATUS_CLASS: Final = 100


class Level(StrEnum):
    """How grave a violation is."""

    OFF = "off"
    WARNING = "warning"
    ERROR = "error"


#: Levels, the gravest last.
GRAVITY: Final = (Level.OFF, Level.WARNING, Level.ERROR)


@dataclass(frozen=True, kw_only=True, slots=True)
class LostLimit:
    """A duration, or so many round trips of the connection."""

    ns: int = 0
    round_trips: float = 0.0

    def of(self, rtt_ns: int | None) -> int:
        """In nanoseconds on a connection with this round trip; round trips that are not known are none."""
        return self.ns + round(self.round_trips * (rtt_ns or 0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What findings of one detector are allowed."""

    level: Level = Level.ERROR
    #: So many findings are allowed.
    max: int = 0
    #: Findings that lost no more than this do not count.
    max_lost: LostLimit = LostLimit()
    #: Nor do those that are less certain than this.
    min_confidence: float = 0.0
    #: Whether findings of severity ``info`` count: structure that cost nothing on this path.
    structure: bool = False


class CutShort(StrEnum):
    """What a capture that ends in the middle of a packet makes of the check."""

    IGNORED = "ignored"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"


class Aggregation(StrEnum):
    """How the values of a metric become one."""

    AVERAGE = "avg"
    COUNT = "count"
    MAXIMUM = "max"
    MEDIAN = "med"
    MINIMUM = "min"
    PERCENTILE = "p"


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """What one aggregate of a metric must be: ``p(95)<200ms``."""

    metric: str
    aggregation: Aggregation
    #: One of ``< <= > >= ==``.
    comparison: str
    #: In the unit of the metric: nanoseconds, a share, a count or bytes.
    limit: float
    #: As it was written.
    text: str
    #: Which percentile, 0 to 100.
    percentile: float = 0.0
    level: Level = Level.ERROR


@dataclass(frozen=True, slots=True)
class Traits:
    """What a match looks at of a transaction; None where the capture does not show it."""

    host: str | None = None
    path: str | None = None
    port: int | None = None
    status: int | None = None
    method: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """Other rules and thresholds for some transactions: those that are as all that is said here."""

    #: Shell patterns (``*.example.com``, ``/api/*``) of the host, without its port, and of the path.
    host: str | None = None
    path: str | None = None
    ports: tuple[int, ...] = ()
    #: Statuses and classes of them: ``404``, ``"5xx"``.
    statuses: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    rules: Mapping[str, Rule] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()

    def fits(self, traits: Traits) -> bool:
        """Whether a transaction with these traits is meant."""
        return (
            _fits_pattern(self.host, None if traits.host is None else traits.host.lower())
            and _fits_pattern(self.path, traits.path)
            and (not self.ports or traits.port in self.ports)
            and (not self.methods or traits.method in self.methods)
            and (not self.statuses or _fits_status(self.statuses, traits.status))
        )

    @property
    def words(self) -> str:
        """What is meant, for a reader."""
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
    """Rules by detector, thresholds, and matches of which the last that fits has the last word."""

    rules: Mapping[str, Rule] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()
    matches: tuple[Match, ...] = ()
    #: The share of the connections that a rule may be unable to judge without being inconclusive.
    max_inconclusive: float = 0.0
    cut_short: CutShort = CutShort.INCONCLUSIVE

    def rule(self, detector: str, traits: Traits) -> Rule:
        """What findings of a detector are allowed in a transaction with these traits."""
        return self.rule_within(detector, self.scope(detector, traits))

    def scope(self, detector: str, traits: Traits) -> int | None:
        """The number of the match whose rule has the last word, or None: the policy's own has."""
        fitting = (
            number for number, match in enumerate(self.matches) if detector in match.rules and match.fits(traits)
        )
        return max(fitting, default=None)

    def rule_within(self, detector: str, scope: int | None) -> Rule:
        """The rule of a detector in a match, or the policy's own."""
        return (self.rules if scope is None else self.matches[scope].rules).get(detector, OFF)

    def named(self) -> list[str]:
        """The detectors that have a rule, here or in a match, in the order of their names."""
        every = {name for table in self._tables() for name in table}
        return sorted(name for name in every if self.gravest(name) is not Level.OFF)

    def gravest(self, detector: str) -> Level:
        """The gravest level that a finding of a detector may be of."""
        every = [table[detector].level for table in self._tables() if detector in table]
        return max(every, key=GRAVITY.index, default=Level.OFF)

    def _tables(self) -> list[Mapping[str, Rule]]:
        return [self.rules, *(match.rules for match in self.matches)]

    def only(self, *, selected: frozenset[str] = frozenset(), ignored: frozenset[str] = frozenset()) -> Policy:
        """The policy with the rules and thresholds of these names (all where none is selected), without those."""

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


#: One that forbids nothing.
NO_POLICY: Final = Policy()
#: The rule of a detector that a policy does not name.
OFF: Final = Rule(level=Level.OFF)

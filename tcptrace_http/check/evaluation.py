"""Application of a policy to analyses: the status of rules and thresholds."""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.check.baseline import fingerprint
from tcptrace_http.check.gathered import Gathered, of_whole, traits
from tcptrace_http.check.metrics import METRICS, Unit
from tcptrace_http.check.policy import GRAVITY, Aggregation, CutShort, Level, Policy
from tcptrace_http.check.report import CheckReport, Outcome, Status, Subject, Violation
from tcptrace_http.detectors import NEEDS
from tcptrace_http.quantity import counted, duration
from tcptrace_http.redaction import redacted_url
from tcptrace_http.remedies import settings_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.check.policy import Rule, Threshold

__all__ = ["check"]

#: Reason and remedy for rules that super-segments make undecidable.
_OFFLOAD_REASON: Final = NEEDS["segments_as_sent"].what
_OFFLOAD_NOTE: Final = (
    "Segmentation offload merged segments. Capture with: ethtool -K IF gro off lro off gso off tso off"
)
_COMPARISONS: Final = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


def check(
    captures: Iterable[Analysis | Gathered],
    *,
    policy: Policy,
    fail_on: Level | None = Level.ERROR,
    counts: Callable[[Mapping[str, Any]], bool] | None = None,
) -> CheckReport:
    """Judge analysed captures by a policy.

    A capture is an analysis, or the result of :func:`~tcptrace_http.check.gathered` for the parts of a long
    one. The captures are taken one by one and not kept. Rules count findings over all captures together, and
    thresholds aggregate over them. ``counts`` receives every finding (a row of the table, with
    ``client_port``). A finding that it rejects counts for no rule.
    """
    seen = _Seen()
    for capture in captures:
        one = capture if isinstance(capture, Gathered) else of_whole(capture, policy)
        seen.add(one, policy, counts)
    outcomes = [
        *_capture_outcomes(policy, seen),
        *_rule_outcomes(policy, seen),
        *_threshold_outcomes(policy, seen),
    ]
    if any(_OFFLOAD_REASON in one.message for one in outcomes if one.status is Status.INCONCLUSIVE):
        seen.notes.append(_OFFLOAD_NOTE)
    return CheckReport(
        outcomes=outcomes,
        captures=seen.captures,
        transactions=seen.transactions,
        fail_on=fail_on,
        notes=seen.notes,
    )


@dataclass(slots=True)
class _Seen:
    """Collected results: violations, undecidable connections, metric values."""

    captures: list[str] = field(default_factory=list)
    cut_short: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    transactions: int = 0
    known_flows: int = 0
    #: Violations by detector and by the scope of the counting rule: the number of a match, or None.
    violations: dict[str, dict[int | None, list[Violation]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    unjudged: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    #: Values by the number of the threshold's match (None for the policy itself) and by metric.
    values: dict[tuple[int | None, str], list[pl.Series]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self,
        capture: Gathered,
        policy: Policy,
        counts: Callable[[Mapping[str, Any]], bool] | None,
    ) -> None:
        self.captures.append(capture.path)
        if capture.is_cut_short:
            self.cut_short.append(capture.path)
        self.transactions += capture.transactions.height
        self.known_flows += capture.known_flows
        self.notes += capture.notes
        for detector, (flows, reason) in capture.unjudged.items():
            self.unjudged[detector] += flows
            self.reasons[detector] = reason
        for row in capture.findings().iter_rows(named=True):
            scope = policy.scope(row["detector"], traits(row))
            rule = policy.rule_within(row["detector"], scope)
            if _counts(row, rule) and (counts is None or counts(row)):
                self.violations[row["detector"]][scope].append(_violation(row, rule))
        for number, metric in _scopes(policy):
            match = None if number is None else policy.matches[number]
            self.values[number, metric].append(capture.values(metric, match))


def _scopes(policy: Policy) -> set[tuple[int | None, str]]:
    """Return the metrics of the thresholds, by the number of their match."""
    own = {(number, one.metric) for number, match in enumerate(policy.matches) for one in match.thresholds}
    return own | {(None, one.metric) for one in policy.thresholds}


def _counts(row: Mapping[str, Any], rule: Rule) -> bool:
    """Return whether a finding counts for a rule."""
    if rule.level is Level.OFF or (row["severity"] == "info" and not rule.structure):
        return False
    if row["confidence"] < rule.min_confidence:
        return False
    limit = rule.max_lost.of(row["initial_rtt"])
    return limit == 0 or row["lost"] > limit


def _violation(row: Mapping[str, Any], rule: Rule) -> Violation:
    target = None if row["target"] is None else redacted_url(row["target"])
    return Violation(
        name=row["detector"],
        level=rule.level,
        message=row["summary"],
        fingerprint=fingerprint(row["detector"], row["method"], row["host"], row["server_port"], target),
        capture=row["capture"],
        flow=row["own_flow"],
        transaction=row["transaction"],
        first_frame=row["first_frame"],
        last_frame=row["last_frame"],
        lost_ns=row["lost"],
        confidence=row["confidence"],
        method=row["method"],
        host=row["host"],
        target=row["target"],
        status=row["status"],
        port=row["server_port"],
        server_software=row["server_software"],
        severity=row["severity"],
        remedy=row["remedy"],
        settings=settings_for(row["detector"], row["server_software"]),
        reference=row["reference"],
    )


def _capture_outcomes(policy: Policy, seen: _Seen) -> Iterator[Outcome]:
    """Yield the outcome of captures that end inside a packet: later traffic was not judged."""
    if policy.cut_short is CutShort.IGNORED:
        return
    for path in seen.cut_short:
        message = "the capture is cut short; later packets are not judged"
        is_failed = policy.cut_short is CutShort.FAILED
        violation = Violation(
            name="cut-short",
            level=Level.ERROR,
            message=f"{path}: {message}",
            fingerprint=fingerprint("cut-short", path),
            capture=path,
        )
        yield Outcome(
            subject=Subject.CAPTURE,
            name=path,
            level=Level.ERROR,
            status=Status.FAILED if is_failed else Status.INCONCLUSIVE,
            message=message,
            violations=(violation,) if is_failed else (),
        )


def _rule_outcomes(policy: Policy, seen: _Seen) -> Iterator[Outcome]:
    for name in policy.named():
        yield _rule_outcome(name, policy.gravest(name), policy, seen)


def _rule_outcome(name: str, level: Level, policy: Policy, seen: _Seen) -> Outcome:
    by_scope = seen.violations.get(name, {})
    rules = {scope: policy.rule_within(name, scope) for scope in by_scope}
    beyond = [scope for scope, these in by_scope.items() if len(these) > rules[scope].max]
    if beyond:
        found = [one for scope in beyond for one in by_scope[scope]]
        level = max((rules[scope].level for scope in beyond), key=GRAVITY.index)
        allowed = min(rules[scope].max for scope in beyond)
        message = f"{counted(len(found), 'finding')}, {'none' if allowed == 0 else allowed} allowed"
        return Outcome(
            subject=Subject.RULE,
            name=name,
            level=level,
            status=Status.FAILED,
            message=message,
            violations=found,
        )
    unjudged = seen.unjudged.get(name, 0)
    is_unclear = seen.known_flows == 0 or unjudged / seen.known_flows > policy.max_inconclusive
    if is_unclear:
        why = seen.reasons.get(name, "there is no HTTP in the captures")
        message = f"{unjudged} of {counted(seen.known_flows, 'connection')} could not be judged: {why}"
        status = Status.INCONCLUSIVE
    else:
        tolerated = sum(map(len, by_scope.values()))
        message = f"{counted(tolerated, 'finding')}, as allowed" if tolerated else "no finding"
        status = Status.PASSED
    return Outcome(subject=Subject.RULE, name=name, level=level, status=status, message=message)


def _threshold_outcomes(policy: Policy, seen: _Seen) -> Iterator[Outcome]:
    for one in policy.thresholds:
        yield _threshold_outcome(one, one.text, seen, seen.values[None, one.metric])
    for number, match in enumerate(policy.matches):
        for one in match.thresholds:
            yield _threshold_outcome(one, f"{one.text} ({match.words})", seen, seen.values[number, one.metric])


def _threshold_outcome(one: Threshold, name: str, seen: _Seen, parts: Sequence[pl.Series]) -> Outcome:
    import polars as pl

    values = pl.concat(parts) if parts else pl.Series(dtype=pl.Float64)
    value = _aggregated(one, values)
    if value is None:
        status, message = Status.INCONCLUSIVE, "there is nothing to measure in the captures"
    else:
        status = Status.PASSED if _COMPARISONS[one.comparison](value, one.limit) else Status.FAILED
        message = f"{_aggregate_name(one)} is {_written(value, one)}"
    violation = Violation(
        name=one.metric,
        level=one.level,
        message=f"{name}: {message}",
        fingerprint=fingerprint(name),
        capture=seen.captures[0] if len(seen.captures) == 1 else None,
    )
    return Outcome(
        subject=Subject.THRESHOLD,
        name=name,
        level=one.level,
        status=status,
        message=message,
        violations=(violation,) if status is Status.FAILED else (),
    )


def _aggregated(one: Threshold, values: pl.Series) -> float | None:
    """Return the aggregate; None without values, except for the count."""
    match one.aggregation:
        case Aggregation.COUNT:
            return float(len(values))
        case Aggregation.AVERAGE:
            found = values.mean()
        case Aggregation.MAXIMUM:
            found = values.max()
        case Aggregation.MINIMUM:
            found = values.min()
        case Aggregation.MEDIAN:
            found = values.median()
        case Aggregation.PERCENTILE:
            # Linear between neighbours, as in k6 and numpy.
            found = values.quantile(one.percentile / 100, "linear")
    return None if found is None else float(found)  # type: ignore[arg-type]


def _aggregate_name(one: Threshold) -> str:
    if one.aggregation is Aggregation.PERCENTILE:
        return f"p({one.percentile:g})"
    return one.aggregation.value


def _written(value: float, one: Threshold) -> str:
    unit = Unit.COUNT if one.aggregation is Aggregation.COUNT else METRICS[one.metric].unit
    match unit:
        case Unit.NANOSECONDS:
            return duration(round(value))
        case Unit.SHARE:
            return f"{value:.1%}"
        case Unit.BYTES:
            return f"{value:,.0f} bytes"
        case Unit.COUNT:
            return f"{value:g}"

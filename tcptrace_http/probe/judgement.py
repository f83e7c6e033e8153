"""Runs a probe and judges it by a policy."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.check import CheckReport, Level, Outcome, Status, Violation, check
from tcptrace_http.check.baseline import fingerprint
from tcptrace_http.check.policy import GRAVITY, Traits
from tcptrace_http.check.report import Subject
from tcptrace_http.output_file import PRIVATE, replacing
from tcptrace_http.probe.budget import Budget, Limits
from tcptrace_http.probe.habits import habits
from tcptrace_http.probe.recording import NoRecording, Recording
from tcptrace_http.probe.session import Session
from tcptrace_http.probe.target import target_of
from tcptrace_http.probe.workload import CONTROL, SERIAL, STEPS, run
from tcptrace_http.quantity import counted
from tcptrace_http.remedies import settings_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.check import Policy
    from tcptrace_http.probe.habits import Habit

__all__ = ["probe"]

#: Findings that a busy machine may make once: they count where half of the like requests show them.
_MUST_REPEAT: Final = frozenset(
    {
        *("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack", "nagle-hold"),
        *("cork-timeout", "delayed-ack-first-segment", "unfilled-segments", "slow-server"),
    }
)
_REPEAT_SHARE: Final = 0.5
#: The document, or a part of it.
_AS_ASKED: Final = frozenset({HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT})
#: Those that their detector itself takes for less likely than not are no part of a habit: paced segments look so.
_CONFIDENCE_MIN: Final = 0.5
#: Findings that the workload itself brings about.
_OWN_DOING: Final = frozenset(
    {
        *("split-request", "unconditional-repeat", "duplicate-object", "request-lull", "uncompressed-text"),
        *("connection-per-request", "parallel-connection-burst", "competing-bundle", "repeated-slow-start"),
    }
)
#: Findings that prove that ACKs were delayed.
_BEHIND_DELAYED_ACKS: Final = ("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack")
#: An ACK that came so late was delayed: Linux's shortest delay is 40 ms, and a scheduler may shave some off.
_DELAYED_NS: Final = 20_000_000


def probe(  # noqa: PLR0913 -- what a user chooses
    url: str,
    *,
    policy: Policy,
    limits: Limits | None = None,
    paths: Sequence[str] = (),
    fail_on: Level | None = Level.ERROR,
    captures: bool = True,
    interface: str | None = None,
    save: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> CheckReport:
    """Probe one server and judge what it did.

    ``paths`` are further documents to ask for. Without ``captures``, or where packets may not be captured, the
    sockets' own times are judged, and a note says what that cannot show. ``save`` keeps the capture. ``progress``
    is told the name of each step, and nothing at the end.

    :raises ProbeError: the server cannot be reached, or does not answer in HTTP.
    """
    target = target_of(url)
    session = Session(target, Budget(limits or Limits()), paths=paths)
    with ExitStack() as stack:
        stack.callback(session.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tcptrace-http-"))
        path = Path(folder) / "probe.pcap"
        recording = None
        if captures:
            try:
                recording = Recording(target, session.ports, path, interface=interface)
            except NoRecording as reason:
                session.note(
                    f"no packets were captured ({reason}): what the sockets show was judged, which are not"
                    " retransmissions, windows, or holds shorter than 30 ms"
                )
        session.budget.start()
        try:
            run(session, progress)
        finally:
            if recording is not None:
                recording.end()
                if save is not None:
                    _save(path, save)
        if recording is not None and recording.dropped:
            session.note(
                f"the capture lacks {counted(recording.dropped, 'packet')}: what the sockets show was judged;"
                " probe from a machine that is less busy"
            )
        if recording is None or recording.dropped:
            return _by_habits(session, policy, fail_on)
        if recording.is_cut:
            session.note("the capture reached its greatest size and was cut short")
        from tcptrace_http.analysis import analyze

        return _by_capture(analyze(path), session, policy, fail_on, kept=save)


def _save(path: Path, save: Path) -> None:
    """Keep the capture, for its owner alone."""
    with path.open("rb") as capture, replacing(save, mode=PRIVATE) as kept:
        shutil.copyfileobj(capture, kept)


def _by_capture(
    analysis: Analysis, session: Session, policy: Policy, fail_on: Level | None, *, kept: Path | None
) -> CheckReport:
    repeated = _Repeated.of(analysis, session)
    # Neither what the probe itself brings about, nor what its sockets know better.
    ours = policy.only(ignored=_OWN_DOING.union(_BETTER_BY_SOCKETS))
    report = check([analysis], policy=ours, fail_on=fail_on, counts=repeated.counts)
    stalls = sum(count for (detector, _), count in repeated.found.items() if detector in _BEHIND_DELAYED_ACKS)
    judged = with_habits(report.outcomes, _habit_outcomes(session, policy, _WHERE_PACKETS_FAIL))
    return replace(
        report,
        outcomes=[
            *(_placed(outcome, kept) for outcome in judged if _is_told(outcome, session)),
            *_habit_outcomes(session, policy, _BETTER_BY_SOCKETS),
            _steps_control(session),
            _answers_control(session),
            _keep_alive_control(session),
            _captured_ack_control(analysis, session, stalls),
        ],
        captures=(session.target.url,),
        notes=[*session.notes, *repeated.notes()],
    )


def with_habits(outcomes: Iterable[Outcome], habitual: Iterable[Outcome]) -> list[Outcome]:
    """The rules' outcomes by packets, and where these show nothing, by the habits that the sockets show."""
    by_name = {each.name: each for each in habitual}
    return [
        by_name.get(each.name, each) if each.subject is Subject.RULE and each.status is Status.PASSED else each
        for each in outcomes
    ]


def _is_told(outcome: Outcome, session: Session) -> bool:
    """Whether a rule was put to the test: one that holds for want of a long path does not count as passed."""
    return outcome.name != "slow-start-restart" or outcome.status is not Status.PASSED or session.has_restarted


def _placed(outcome: Outcome, kept: Path | None) -> Outcome:
    """With the capture's file where it is kept, and without one where it is not."""
    path = None if kept is None else str(kept)
    return replace(outcome, violations=[replace(each, capture=path) for each in outcome.violations])


@dataclass(slots=True)
class _Repeated:
    """Which findings are the server's habit and which came once, by the step that their transactions were of."""

    #: The step of the request of this number on the connection from this port.
    steps: Mapping[tuple[int, int], str]
    asked: Mapping[str, int]
    found: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, analysis: Analysis, session: Session) -> _Repeated:
        """Counts findings by detector and step."""
        import polars as pl

        steps = {(each.port, each.index): each.step for each in session.exchanges}
        ports = dict(analysis.flows.select("flow", "client_port").iter_rows())
        likely = analysis.findings.filter(pl.col("confidence") >= _CONFIDENCE_MIN)
        rows = likely.select("detector", "flow", "transaction").unique().iter_rows()
        found = Counter(
            (detector, steps.get((ports[flow], transaction), ""))
            for detector, flow, transaction in rows
            if flow in ports
        )
        return cls(steps, Counter(steps.values()), found)

    def counts(self, row: Mapping[str, Any]) -> bool:
        """Whether a finding counts."""
        if row["detector"] not in _MUST_REPEAT:
            return True
        if row["confidence"] < _CONFIDENCE_MIN:
            return False
        step = self.steps.get((row["client_port"], row["transaction"]), "")
        return self._is_habit(row["detector"], step)

    def _is_habit(self, detector: str, step: str) -> bool:
        # Quick ACKs are the control: what it shows besides is the server's own pace.
        if not step.startswith(f"{SERIAL} "):
            return False
        return self.found[detector, step] >= math.ceil(_REPEAT_SHARE * self.asked[step])

    def notes(self) -> Iterator[str]:
        """What was seen too seldom to be a habit."""
        for (detector, step), count in sorted(self.found.items()):
            is_serial = step.startswith(f"{SERIAL} ")
            if detector in _BEHIND_DELAYED_ACKS and is_serial and not self._is_habit(detector, step):
                yield f"{detector} in {count} of {self.asked[step]} requests ({step}): too seldom to be a habit"


def _by_habits(session: Session, policy: Policy, fail_on: Level | None) -> CheckReport:
    unseen = [name for name in policy.named() if name not in (*_TOLD_BY_SOCKETS, *_OWN_DOING)]
    if unseen:
        session.note(f"not judged, for want of packets: {', '.join(unseen)}")
    return CheckReport(
        outcomes=[
            *(each for each in _habit_outcomes(session, policy, _TOLD_BY_SOCKETS) if _is_told(each, session)),
            *_threshold_outcomes(policy),
            _steps_control(session),
            _answers_control(session),
            _keep_alive_control(session),
            _socket_ack_control(session),
        ],
        captures=(session.target.url,),
        transactions=sum(each.is_complete for each in session.exchanges),
        fail_on=fail_on,
        notes=session.notes,
    )


#: What the client knows for certain, whatever a capture shows: it asked, and knows what it got.
_BETTER_BY_SOCKETS: Final = (
    "keep-alive-refused",
    "lost-pipelined-requests",
    "uncompressed-text",
    "expect-continue-wait",
)
#: What packets prove only where segments are full before the pause. On a path whose segments the receive window
#: cuts, as loopback's of 64 kB, the sockets' control, that the pause stays without delayed ACKs, is what is left.
_WHERE_PACKETS_FAIL: Final = ("cork-timeout",)
#: What habits can be told from the sockets.
_TOLD_BY_SOCKETS: Final = (
    "short-initial-segment",
    "odd-short-final-segment",
    "nagle-delayed-ack",
    "cork-timeout",
    "slow-start-restart",
    *_BETTER_BY_SOCKETS,
)


def _habit_outcomes(session: Session, policy: Policy, names: Sequence[str]) -> Iterator[Outcome]:
    """An outcome for each rule that the sockets can judge; of others there is none."""
    found = habits(session)
    for name in names:
        level = policy.gravest(name)
        if level is Level.OFF:
            continue
        violations = tuple(
            violation
            for habit in found
            if habit.detector == name and (violation := _violation(habit, session, policy)) is not None
        )
        yield Outcome(
            subject=Subject.RULE,
            name=name,
            level=max((each.level for each in violations), key=GRAVITY.index, default=level),
            status=Status.FAILED if violations else Status.PASSED,
            message=f"in {counted(len(violations), 'kind')} of response" if violations else "no such habit",
            violations=violations,
        )


def _violation(habit: Habit, session: Session, policy: Policy) -> Violation | None:
    """What a habit violates, if anything. It takes several findings to be one: the rule's ``max`` is not asked."""
    example, target = habit.example, session.target
    path = example.path.partition("?")[0]
    rule = policy.rule(
        habit.detector,
        Traits(host=target.host, path=path, port=target.port, status=example.status, method=example.method),
    )
    limit = rule.max_lost.of(session.rtt_ns)
    if rule.level is Level.OFF or (limit and habit.lost_ns <= limit):
        return None
    software = example.field("server")
    return Violation(
        name=habit.detector,
        level=rule.level,
        message=habit.summary,
        fingerprint=fingerprint(habit.detector, example.method, target.authority, target.port, example.path),
        lost_ns=habit.lost_ns,
        method=example.method,
        host=target.authority,
        target=example.path,
        status=example.status,
        port=target.port,
        server_software=software,
        remedy=habit.remedy,
        settings=settings_for(habit.detector, software),
    )


def _threshold_outcomes(policy: Policy) -> Iterator[Outcome]:
    """Figures are taken from packets: without them no threshold can be judged."""
    for one in (*policy.thresholds, *(each for match in policy.matches for each in match.thresholds)):
        yield Outcome(
            subject=Subject.THRESHOLD,
            name=one.text,
            level=one.level,
            status=Status.INCONCLUSIVE,
            message="no packets were captured to measure it in",
        )


def _control(name: str, *, holds: bool, message: str) -> Outcome:
    status = Status.PASSED if holds else Status.INCONCLUSIVE
    return Outcome(subject=Subject.CONTROL, name=name, level=Level.ERROR, status=status, message=message)


def _answers_control(session: Session) -> Outcome:
    """A server that begins to refuse is judged no further: errors are short, and stall nothing."""
    asked = [each for each in session.exchanges if each.step.startswith((f"{SERIAL} ", f"{CONTROL} "))]
    others = Counter(each.status for each in asked if each.status is not None and each.status not in _AS_ASKED)
    seen = ", ".join(f"{count} with {status}" for status, count in sorted(others.items()))
    message = f"of {len(asked)} requests {seen or 'none'} were answered otherwise than with the document"
    return _control("the document was there", holds=not others, message=message)


def _steps_control(session: Session) -> Outcome:
    """What was not asked was not answered well."""
    message = f"{len(session.done)} of {len(STEPS)} steps of the probe were done"
    return _control("all was asked", holds=len(session.done) == len(STEPS), message=message)


def _keep_alive_control(session: Session) -> Outcome:
    """Stalls behind an ACK need a connection that goes on: it was asked for, and given."""
    serial = [each for each in session.exchanges if each.step.startswith((f"{SERIAL} ", f"{CONTROL} "))]
    reused = sum(each.index > 0 and each.is_complete for each in serial)
    refused = bool(serial) and all(each.closes for each in serial)
    message = f"{reused} of {len(serial)} requests were sent on a connection that had been used before"
    return _control("connections were reused", holds=reused > 0 or refused, message=message)


def _captured_ack_control(analysis: Analysis, session: Session, stalls: int) -> Outcome:
    """Stalls behind a delayed ACK need one: there were some, or a response that nothing followed was
    acknowledged late.
    """
    import polars as pl

    ports = {each.port for each in session.exchanges if each.step == "delayed-ack"}
    flows = analysis.flows.filter(pl.col("client_port").is_in(list(ports))).select("flow")
    waited = analysis.transactions.join(flows, on="flow").select(
        (pl.col("last_ack_time") - pl.col("response_last_time")).dt.total_nanoseconds()
    )
    late = [each for each in waited.to_series().drop_nulls() if each >= _DELAYED_NS]
    message = f"{len(late)} of {waited.height} responses that nothing followed were acknowledged late"
    return _control("ACKs were delayed", holds=bool(late or stalls), message=message)


def _socket_ack_control(session: Session) -> Outcome:
    """Without packets the kernel says whether it was going to delay ACKs."""
    serial = [each for each in session.exchanges if each.step.startswith(f"{SERIAL} ")]
    delaying = sum(each.delays_acks for each in serial)
    message = f"the kernel was to delay ACKs in {delaying} of {len(serial)} requests"
    return _control("ACKs were delayed", holds=delaying > _REPEAT_SHARE * len(serial), message=message)

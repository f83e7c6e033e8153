"""Run of a probe, and its judgement against a policy."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tcptrace_http.check import CheckReport, Level, Outcome, Status, Violation, check
from tcptrace_http.check.baseline import fingerprint
from tcptrace_http.check.policy import GRAVITY, Traits
from tcptrace_http.check.report import Subject
from tcptrace_http.output_file import PRIVATE, replacing
from tcptrace_http.probe.budget import Budget, Limits
from tcptrace_http.probe.habits import habits
from tcptrace_http.probe.recording import NoRecording, Recording
from tcptrace_http.probe.repetition import BEHIND_DELAYED_ACKS, REPEAT_SHARE, Repeated
from tcptrace_http.probe.session import Session
from tcptrace_http.probe.target import target_of
from tcptrace_http.probe.tls import KEY_LOG_VARIABLE, TlsClient, hand_on_keys, words_of
from tcptrace_http.probe.workload import CONTROL, SERIAL, STREAMS, run, steps_of
from tcptrace_http.quantity import counted
from tcptrace_http.remedies import settings_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.check import Policy
    from tcptrace_http.probe.habits import Habit

__all__ = ["probe"]

#: Status of the document or of a part of it.
_AS_ASKED: Final = frozenset({HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT})
#: Findings caused by the workload itself.
_OWN_DOING: Final = frozenset(
    {
        *("split-request", "unconditional-repeat", "duplicate-object", "request-lull", "uncompressed-text"),
        *("connection-per-request", "parallel-connection-burst", "competing-bundle", "repeated-slow-start"),
        *("h2-connection-churn", "h2-settings-wait"),
    }
)
#: Findings that only HTTP/1 can cause.
_OF_HTTP1: Final = frozenset(
    {"keep-alive-refused", "lost-pipelined-requests", "expect-continue-wait", "head-of-line-blocking"}
)
#: Findings that the sockets show for any HTTP version.
_OF_ANY_VERSION: Final = ("uncompressed-text", "tls-no-resumption")
#: Minimum delay of a delayed ACK: Linux's shortest is 40 ms, less the scheduler's share.
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
    insecure: bool = False,
    http2: bool = False,
    save: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> CheckReport:
    """Probe one server and judge its behaviour.

    ``paths`` are further documents to request. Without ``captures``, or without permission to capture, the
    sockets' times are judged, and a note names the limits. ``save`` keeps the capture. ``progress`` receives
    the name of each step, and an empty name at the end.

    For ``https`` the certificate is checked unless ``insecure``. The analysis of the capture uses the probe's
    TLS secrets. Only the file named by SSLKEYLOGFILE, if any, keeps them.

    With ``http2`` the requests are HTTP/2 streams: without an Upgrade in clear text, with ALPN under TLS.

    :raises ProbeError: the server cannot be reached or trusted, or does not answer in HTTP.
    :raises MissingExtra: HTTP/2 is requested, and its extra is not installed.
    """
    target = target_of(url)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tcptrace-http-")))
        path, keys = folder / "probe.pcap", folder / "keys.log"
        protocol = "h2" if http2 else "http/1.1"
        tls = TlsClient(target, keys, insecure=insecure, protocol=protocol) if target.scheme == "https" else None
        untested = (name for name in policy.named() if _is_untested(name, is_tls=tls is not None, is_http2=http2))
        policy = policy.only(ignored=frozenset(untested))
        session = Session(target, Budget(limits or Limits()), paths=paths, tls=tls, http2=http2)
        stack.callback(session.close)
        recording = _recording(session, path, interface) if captures else None
        session.budget.start()
        try:
            run(session, progress)
        finally:
            if recording is not None:
                recording.end()
                if save is not None:
                    _save(path, save)
            if tls is not None:
                _hand_on(keys, session)
        if recording is not None and recording.dropped:
            session.note(
                f"the capture lacks {counted(recording.dropped, 'packet')}: the sockets' times were judged;"
                " probe from a less busy machine"
            )
        if recording is None or recording.dropped:
            return _by_habits(session, policy, fail_on)
        if recording.is_cut:
            session.note("the capture reached its maximum size and is incomplete")
        from tcptrace_http.analysis import analyze

        analysis = analyze(path, keylog=None if tls is None else keys)
        return _by_capture(analysis, session, policy, fail_on, kept=save)


def _recording(session: Session, path: Path, interface: str | None) -> Recording | None:
    """Start to capture the probe's packets; return None, with a note, if capture is not permitted."""
    try:
        return Recording(session.target, session.ports, path, interface=interface)
    except NoRecording as reason:
        session.note(
            f"no packets were captured ({reason}): the sockets' times were judged, without retransmissions,"
            " windows and holds below 30 ms"
        )
        return None


def _is_untested(name: str, *, is_tls: bool, is_http2: bool) -> bool:
    """Return whether a detector judges something that the probe does not request; such a rule must not pass."""
    is_of_tls = name.startswith("tls-") or name == "slow-handshake-server"
    of_version = name in _OF_HTTP1 if is_http2 else name.startswith("h2-")
    return of_version or (is_of_tls and not is_tls)


def _hand_on(keys: Path, session: Session) -> None:
    """Give the secrets to the user on request."""
    try:
        hand_on_keys(keys)
    except OSError as error:
        session.note(f"{KEY_LOG_VARIABLE} cannot be written: {words_of(error)}")


def _save(path: Path, save: Path) -> None:
    """Keep the capture, readable only by its owner."""
    with path.open("rb") as capture, replacing(save, mode=PRIVATE) as kept:
        shutil.copyfileobj(capture, kept)


def _by_capture(
    analysis: Analysis, session: Session, policy: Policy, fail_on: Level | None, *, kept: Path | None
) -> CheckReport:
    repeated = Repeated.of(analysis, session)
    # Without findings that the probe causes, and without those that its sockets know better.
    ours = policy.only(ignored=_OWN_DOING.union(_BETTER_BY_SOCKETS))
    report = check([analysis], policy=ours, fail_on=fail_on, counts=repeated.counts)
    stalls = sum(count for (detector, _), count in repeated.found.items() if detector in BEHIND_DELAYED_ACKS)
    by_sockets = () if session.is_http2 else _habit_outcomes(session, policy, _WHERE_PACKETS_FAIL)
    judged = with_habits(report.outcomes, by_sockets)
    return replace(
        report,
        outcomes=[
            *(_placed(outcome, kept) for outcome in judged if _is_tested(outcome, session)),
            *_habit_outcomes(session, policy, _OF_ANY_VERSION if session.is_http2 else _BETTER_BY_SOCKETS),
            *_streams_control(session),
            _steps_control(session),
            _answers_control(session),
            _keep_alive_control(session),
            _captured_ack_control(analysis, session, stalls),
        ],
        captures=(session.target.url,),
        notes=[*session.notes, *repeated.notes()],
    )


def with_habits(outcomes: Iterable[Outcome], habitual: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes from the packets, and from the socket habits where the packets show nothing."""
    by_name = {each.name: each for each in habitual}
    return [
        by_name.get(each.name, each) if each.subject is Subject.RULE and each.status is Status.PASSED else each
        for each in outcomes
    ]


def _is_tested(outcome: Outcome, session: Session) -> bool:
    """Return whether a rule was tested. A rule that no path condition triggers does not count as passed."""
    return outcome.name != "slow-start-restart" or outcome.status is not Status.PASSED or session.has_restarted


def _placed(outcome: Outcome, kept: Path | None) -> Outcome:
    """Return the outcome with the file of the kept capture, or without a file."""
    path = None if kept is None else str(kept)
    return replace(outcome, violations=[replace(each, capture=path) for each in outcome.violations])


def _by_habits(session: Session, policy: Policy, fail_on: Level | None) -> CheckReport:
    told = _OF_ANY_VERSION if session.is_http2 else _TOLD_BY_SOCKETS
    unseen = [name for name in policy.named() if name not in (*told, *_OWN_DOING)]
    if unseen:
        session.note(f"not judged without packets: {', '.join(unseen)}")
    return CheckReport(
        outcomes=[
            *(each for each in _habit_outcomes(session, policy, told) if _is_tested(each, session)),
            *_threshold_outcomes(policy),
            *_streams_control(session),
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


#: Rules that the client knows for certain without a capture: its request, and the response.
_BETTER_BY_SOCKETS: Final = (
    "keep-alive-refused",
    "lost-pipelined-requests",
    "uncompressed-text",
    "expect-continue-wait",
    "tls-no-resumption",
)
#: Rules that packets prove only with full segments before the pause. The receive window cuts the segments of
#: some paths, such as loopback with 64 kB. The sockets then decide: the pause persists without delayed ACKs.
_WHERE_PACKETS_FAIL: Final = ("cork-timeout",)
#: Habits that the sockets can show.
_TOLD_BY_SOCKETS: Final = (
    "short-initial-segment",
    "odd-short-final-segment",
    "nagle-delayed-ack",
    "cork-timeout",
    "slow-start-restart",
    *_BETTER_BY_SOCKETS,
)


def _habit_outcomes(session: Session, policy: Policy, names: Sequence[str]) -> Iterator[Outcome]:
    """Yield an outcome for each rule that the sockets can judge; other rules have none."""
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
    """Return the violation of a habit, if any. A habit already needs several findings, so the rule's ``max`` is
    ignored.
    """
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
    """Yield the untested thresholds: their figures need packets."""
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
    """Return the control that the server keeps answering: errors are short and stall nothing."""
    requested = [each for each in session.exchanges if each.step.startswith((f"{SERIAL} ", f"{CONTROL} "))]
    others = Counter(each.status for each in requested if each.status is not None and each.status not in _AS_ASKED)
    seen = ", ".join(f"{count} with {status}" for status, count in sorted(others.items()))
    message = f"of {len(requested)} requests {seen or 'none'} had another response than the document"
    return _control("the document was there", holds=not others, message=message)


def _steps_control(session: Session) -> Outcome:
    """Return the control that all steps ran: an unasked request proves nothing."""
    count = len(steps_of(session))
    message = f"{len(session.done)} of {count} steps of the probe were done"
    return _control("all was asked", holds=len(session.done) == count, message=message)


def _streams_control(session: Session) -> Iterator[Outcome]:
    """Yield the HTTP/2 control that all concurrent streams were answered."""
    if session.is_http2:
        requested = [each for each in session.exchanges if each.step == STREAMS]
        answered = sum(each.is_complete for each in requested)
        message = f"{answered} of {len(requested)} streams of one connection were answered"
        yield _control("streams were answered", holds=0 < len(requested) == answered, message=message)


def _keep_alive_control(session: Session) -> Outcome:
    """Return the control of a kept connection: stalls behind an ACK need one, requested and granted."""
    serial = [each for each in session.exchanges if each.step.startswith((f"{SERIAL} ", f"{CONTROL} "))]
    reused = sum(each.index > 0 and each.is_complete for each in serial)
    refused = bool(serial) and all(each.closes for each in serial)
    message = f"{reused} of {len(serial)} requests were sent on a connection that had been used before"
    return _control("connections were reused", holds=reused > 0 or refused, message=message)


def _captured_ack_control(analysis: Analysis, session: Session, stalls: int) -> Outcome:
    """Return the control of a delayed ACK: stalls behind one, or a late ACK of an isolated response."""
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
    """Return the control of a delayed ACK without packets, from the kernel's intention."""
    serial = [each for each in session.exchanges if each.step.startswith(f"{SERIAL} ")]
    delaying = sum(each.delays_acks for each in serial)
    message = f"the kernel was to delay ACKs in {delaying} of {len(serial)} requests"
    return _control("ACKs were delayed", holds=delaying > REPEAT_SHARE * len(serial), message=message)

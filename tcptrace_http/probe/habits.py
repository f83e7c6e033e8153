"""Server habits from the arrival times at the probe's sockets, without a capture.

A habit is a pause inside a response that exceeds any scheduling delay, in at least half of the requests of
one size. The same requests with immediate ACKs (``quick_acks``) show whether the server waited for an ACK: a
delayed ACK caused a pause that then disappears.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tcptrace_http.probe.workload import (
    CONTROL,
    EXPECTATION,
    FRESH,
    REPEATS,
    RESTART_BYTES,
    RESTART_RTT_NS,
    SERIAL,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tcptrace_http.probe.exchange import Exchange
    from tcptrace_http.probe.session import Session

__all__ = ["PAUSE_NS", "Habit", "habits"]

#: Minimum pause: below Linux's shortest delayed ACK (40 ms; TCP_DELACK_MIN), above the delay of a busy host.
PAUSE_NS: Final = 30_000_000
#: Range of the TCP_CORK timer: 200 ms plus scheduling (tcp(7)).
_CORK_NS: Final = (195_000_000, 290_000_000)
#: Minimum share of the repeated requests.
_HABIT_SHARE: Final = 0.5
_TEXT: Final = ("text/", "application/json", "application/javascript", "application/xml", "image/svg+xml")
#: Minimum size of a compressible text: a smaller one saves no segment.
_WORTH_COMPRESSING: Final = 1460
_TEXT_STATUS: Final = 200
#: Thresholds of the detector tls-no-resumption.
_OFFERED_MIN: Final = 3
_RESUMED_SHARE_MAX: Final = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class Habit:
    """Habit of a server, with the name of the detector that finds it in a capture."""

    detector: str
    summary: str
    #: Exchange that shows the habit.
    example: Exchange
    lost_ns: int
    remedy: str = ""


def habits(session: Session) -> list[Habit]:
    """Return all habits that the exchanges show."""
    by_step: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in session.exchanges:
        by_step[exchange.step].append(exchange)
    return [
        *_stalls(by_step),
        *_closing(by_step),
        *_unanswered(by_step),
        *_uncompressed(by_step),
        *_awaited(by_step),
        *_restarting(by_step, session.rtt_ns),
        *_unresumed(by_step, session),
    ]


@dataclass(frozen=True, slots=True)
class _Pause:
    """Longest pause inside a response: its length, and the bytes before and behind it."""

    length: int
    before: int
    behind: int


def _pause(exchange: Exchange) -> _Pause | None:
    pieces = exchange.pieces
    gaps = [later.time - earlier.time for earlier, later in pairwise(pieces)]
    if not gaps or max(gaps) < PAUSE_NS:
        return None
    at = gaps.index(max(gaps)) + 1
    return _Pause(max(gaps), sum(each.size for each in pieces[:at]), sum(each.size for each in pieces[at:]))


def _stalls(by_step: Mapping[str, Sequence[Exchange]]) -> Iterator[Habit]:
    for step, exchanges in by_step.items():
        if not step.startswith(f"{SERIAL} "):
            continue
        pauses = [(each, pause) for each in exchanges if (pause := _pause(each)) is not None]
        if len(exchanges) < REPEATS or len(pauses) < _HABIT_SHARE * len(exchanges):
            continue
        control = by_step.get(step.replace(SERIAL, CONTROL, 1), [])
        still = sum(_pause(each) is not None for each in control)
        yield from _stall(
            pauses, len(exchanges), is_released=bool(control) and still < _HABIT_SHARE * len(control)
        )


def _stall(pauses: Sequence[tuple[Exchange, _Pause]], requested: int, *, is_released: bool) -> Iterator[Habit]:
    example, shown = pauses[0]
    lost = round(statistics.median(pause.length for _, pause in pauses))
    often = f"{len(pauses)} of {requested} responses of {example.body_bytes} bytes paused for {lost / 1e6:.0f} ms"
    if is_released:
        yield Habit(
            detector=_nagle_kind(example, shown),
            summary=f"{often} after {shown.before} bytes, and none if ACKs are not delayed",
            example=example,
            lost_ns=lost,
            remedy="Turn Nagle's algorithm off (TCP_NODELAY), or write head and body together",
        )
    elif _CORK_NS[0] <= lost <= _CORK_NS[1]:
        yield Habit(
            detector="cork-timeout",
            summary=f"{often} before the last {shown.behind} bytes, whether ACKs are delayed or not",
            example=example,
            lost_ns=lost,
            remedy="Clear TCP_CORK or MSG_MORE after the response",
        )


def _nagle_kind(exchange: Exchange, pause: _Pause) -> str:
    """Return the kind of the Nagle stall: behind the head alone, before a short end, or between pieces."""
    segment = exchange.kernel.segment_bytes if exchange.kernel is not None else 0
    if pause.before <= exchange.head_bytes or pause.before < segment:
        return "short-initial-segment"
    return "odd-short-final-segment" if pause.behind < segment else "nagle-delayed-ack"


def _closing(by_step: Mapping[str, Sequence[Exchange]]) -> Iterator[Habit]:
    """Yield the habit of a server that closes every connection after its first response without a request to
    close.
    """
    requested = [each for step, these in by_step.items() if step.startswith(f"{SERIAL} ") for each in these]
    closed = [each for each in requested if each.closes and each.index == 0]
    if requested and len(closed) == len(requested):
        again = statistics.median(each.kernel.rtt_ns if each.kernel else 0 for each in closed)
        yield Habit(
            detector="keep-alive-refused",
            summary=f"the server closed each of {len(closed)} connections after one response",
            example=closed[0],
            lost_ns=round(again),
            remedy="Let connections persist (HTTP/1.1 does by default)",
        )


def _unanswered(by_step: Mapping[str, Sequence[Exchange]]) -> Iterator[Habit]:
    exchanges = by_step.get("pipelined", ())
    # A server that announces the close has another habit.
    if exchanges and not exchanges[-1].is_complete and not exchanges[0].closes:
        answered = sum(each.is_complete for each in exchanges)
        yield Habit(
            detector="lost-pipelined-requests",
            summary=f"of pipelined requests {answered} were answered; then: {exchanges[-1].fault or 'nothing'}",
            example=exchanges[-1],
            lost_ns=0,
            remedy="Keep reading after a request: the client must repeat dropped pipelined requests",
        )


def _uncompressed(by_step: Mapping[str, Sequence[Exchange]]) -> Iterator[Habit]:
    for each in by_step.get("compressed", ()):
        is_text = (each.field("content-type") or "").startswith(_TEXT)
        is_large = each.body_bytes > _WORTH_COMPRESSING
        if each.status == _TEXT_STATUS and is_text and is_large and each.field("content-encoding") is None:
            yield Habit(
                detector="uncompressed-text",
                summary=f"{each.body_bytes} bytes of {each.field('content-type')} were sent uncompressed"
                " to a client that accepts gzip",
                example=each,
                lost_ns=0,
                remedy="Compress text",
            )


def _awaited(by_step: Mapping[str, Sequence[Exchange]]) -> Iterator[Habit]:
    """Yield the habit of a server that waits for a body while the body waits for 100 (Continue)."""
    for each in by_step.get(EXPECTATION, ()):
        if each.held and each.is_complete:
            yield Habit(
                detector="expect-continue-wait",
                summary=f"the body of a request that asked for a 100 (Continue) waited {each.held / 1e6:.0f} ms"
                " for it in vain",
                example=each,
                lost_ns=each.held,
                remedy="Answer Expect: 100-continue, with 100 or with the final status",
            )


def _restarting(by_step: Mapping[str, Sequence[Exchange]], rtt: int | None) -> Iterator[Habit]:
    """Yield the habit of a large response that takes at least a round trip longer after idle time."""
    again = [each for each in by_step.get("restart", ()) if each.is_complete and each.index]
    idle = [each for each in by_step.get("restart-idle", ()) if each.is_complete]
    if not again or not idle or rtt is None or rtt < RESTART_RTT_NS or idle[0].body_bytes < RESTART_BYTES:
        return
    lost = min(map(_taken, idle)) - min(map(_taken, again))
    if lost > rtt * 3 // 4:
        yield Habit(
            detector="slow-start-restart",
            summary=f"after two idle seconds a response of {idle[0].body_bytes} bytes took {lost / 1e6:.0f} ms"
            f" longer than without a pause; the round trip is {rtt / 1e6:.0f} ms",
            example=idle[0],
            lost_ns=lost,
            remedy="Keep the congestion window over idle periods",
        )


def _unresumed(by_step: Mapping[str, Sequence[Exchange]], session: Session) -> Iterator[Habit]:
    """Yield the habit of full TLS handshakes although the probe offered an earlier session."""
    tls, fresh = session.tls, by_step.get(FRESH, ())
    if tls is None or tls.offered < _OFFERED_MIN or not fresh or tls.resumed > _RESUMED_SHARE_MAX * tls.offered:
        return
    yield Habit(
        detector="tls-no-resumption",
        summary=f"the server resumed {tls.resumed or 'none'} of {tls.offered} TLS sessions offered to it",
        example=fresh[0],
        # TLS 1.3 always takes one round trip (RFC 8446, section 2).
        lost_ns=0 if tls.version == "TLSv1.3" else session.rtt_ns or 0,
        remedy="Resume sessions: tickets, with one key for all machines of an address, or a shared session cache",
    )


def _taken(exchange: Exchange) -> int:
    return exchange.pieces[-1].time - exchange.requested

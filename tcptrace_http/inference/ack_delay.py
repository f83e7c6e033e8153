"""Client's delayed-ACK timer, and the phase of its heartbeat if its stack has one.

A BSD host sends its delayed ACKs five times per second, at fixed moments. The phase of these moments against
the retrieval decides the delay of each ACK (Heidemann 1996, section 2.3). Clocks that count ticks deviate by
a few per mille, which adds up over a session. The period therefore comes from the ACKs. Other hosts have one
timer per ACK, with the same deviation and with ticks between the ACKs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import linear_regression, median
from typing import TYPE_CHECKING, Final

from reference_sim.quantities import nanoseconds
from reference_sim.stack import DelayTimer, Heartbeat
from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.packets import FIN, SYN

if TYPE_CHECKING:
    from reference_sim.stack import Stack
    from tcptrace_http.inference.observed import Observed

__all__ = [
    "Held",
    "ack_delay",
    "heartbeat_period",
    "held_acks",
    "may_hold",
    "phase_of_runs",
    "with_delays",
    "with_later_heartbeat",
    "with_quick_acks",
]

_NAME: Final = "client.ack_delay"
_PHASE: Final = "client.heartbeat_phase"
_PERIOD: Final = "client.heartbeat_period"
_TIMER: Final = "client.ack_timer"
_QUICK: Final = "client.quick_acks"
# Maximum relative deviation of a timer or period from the preset. A larger one has another cause.
_OFF: Final = 0.5
_CLOCK_OFF: Final = 0.02
# Share of a heartbeat's ACKs within a part of its period, although clocks deviate.
_MOST_OF: Final = 0.75
_BEAT: Final = 0.1
# Confidence of a figure whose only evidence is a closer run.
_UNSURE: Final = 0.5
# Minimum number of beats for a fit. Two beats fit any period.
_FIT: Final = 4
# Minimum delay of a delayed ACK in nanoseconds. An earlier ACK is immediate: no stack has a shorter timer
# (Linux: 4 ms).
_LEAST: Final = 3_000_000
# Maximum delay of a delayed ACK in nanoseconds: below 0.5 s (RFC 1122, section 4.2.3.2). A later ACK has
# another cause.
_MOST: Final = 500_000_000


def ack_delay(observed: Observed) -> Figure:
    """Return the longest delay of a client's ACK, as the core inferred it."""
    rows = [row for row in observed.profiles.values() if row["ack_delay"] is not None]
    if not rows:
        return assumed(_NAME, None, unit="ns", reason="no ACK of the client was delayed: as the preset")
    rows.sort(key=lambda row: -int(row["ack_delay"]))
    count = sum(row["delayed_acks"] for row in rows)
    return seen(
        _NAME,
        rows[0]["ack_delay"],
        high=rows[0]["ack_delay"],
        unit="ns",
        confidence=count / (count + 1),
        frames=[row["ack_delay_frame"] for row in rows],
        how=f"{count} ACKs that came later than their data required",
    )


def heartbeat_period(stack: Stack) -> int | None:
    """Return the nanoseconds between the heartbeats of a stack; None for a stack with one timer per ACK."""
    delay = stack.acks.delay
    return nanoseconds(delay.period) if isinstance(delay, Heartbeat) else None


def held_acks(observed: Observed, seen_at: dict[int, int]) -> tuple[Held, ...]:
    """Return the client's delayed ACKs in order; none if the capture point is not near the client."""
    return tuple(_delayed(observed, seen_at)) if observed.is_near_client else ()


def may_hold(stack: Stack, held: tuple[Held, ...]) -> bool:
    """Return whether this stack can have delayed its ACKs by its timer or until its heartbeat."""
    if len(held) < _FIT:
        return True
    delay = stack.acks.delay
    if isinstance(delay, Heartbeat):
        period = nanoseconds(delay.period)
        return _arc([each.time % period for each in held], period, _MOST_OF) < _BEAT * period
    usual = nanoseconds(delay.delay)
    return abs(median(each.delay for each in held) - usual) < _OFF * usual


def phase_of_runs(phase: int, confidence: float, observed: Observed) -> Figure:
    """Return the phase of the heartbeat if runs, not ACKs, determined it."""
    return seen(
        _PHASE,
        phase,
        unit="ns",
        confidence=confidence,
        frames=[exchange.request_frame for exchange in observed.exchanges],
        how="the phase whose run is nearest to the capture, from the first packet on",
    )


def with_delays(
    stack: Stack, observed: Observed, seen_at: dict[int, int], *, told: Figure | None = None
) -> tuple[Stack, list[Figure]]:
    """Return the client's stack with its ACK timer or heartbeat, as delayed ACKs show them.

    ``told`` is the phase of the heartbeat, if it is already known.
    """
    delay = stack.acks.delay
    found = _delayed(observed, seen_at)
    if isinstance(delay, Heartbeat):
        delay, figures = _heartbeat(delay, observed, found, told)
    else:
        delay, timer = _timer(delay, observed, found)
        figures = [timer, assumed(_PHASE, None, unit="ns", reason="the preset delays each ACK by itself")]
    return replace(stack, acks=replace(stack.acks, delay=delay)), figures


def with_quick_acks(stack: Stack, observed: Observed, *, is_so: bool) -> tuple[Stack, list[Figure]]:
    """Return the client's stack with or without the immediate ACKs of its preset; an application can disable
    them.
    """
    if stack.acks.quick_acks is None:
        return stack, []
    if is_so:
        return stack, [assumed(_QUICK, "yes", reason="as the preset: no run without them is nearer")]
    figure = seen(
        _QUICK,
        "no",
        confidence=_UNSURE,
        frames=[exchange.response_frame for exchange in observed.exchanges],
        how="the run without them is nearer: TCP_QUICKACK is off",
    )
    return replace(stack, acks=replace(stack.acks, quick_acks=None)), [figure]


def _timer(delay: DelayTimer, observed: Observed, found: list[Held]) -> tuple[DelayTimer, Figure]:
    """Return the timer of a host with one timer per ACK."""
    usual = nanoseconds(delay.delay)
    like = [held for held in found if abs(held.delay - usual) < _OFF * usual]
    if not like or not observed.is_near_client:
        return delay, assumed(_TIMER, usual, unit="ns", reason="no ACK of the client waited for it: as the preset")
    delays = sorted(held.delay for held in like)
    figure = seen(
        _TIMER,
        round(median(delays)),
        low=delays[0],
        high=delays[-1],
        unit="ns",
        confidence=len(like) / (len(like) + 1),
        frames=[held.frame for held in like],
        how=f"the median of {len(like)} ACKs that waited for it",
    )
    return DelayTimer(delay=round(median(delays))), figure


def with_later_heartbeat(stack: Stack, offset: int) -> Stack:
    """Return the stack with its heartbeat, if any, later by ``offset``."""
    delay = stack.acks.delay
    if not isinstance(delay, Heartbeat):
        return stack
    phase = (nanoseconds(delay.phase) + offset) % nanoseconds(delay.period)
    return replace(stack, acks=replace(stack.acks, delay=replace(delay, phase=phase)))


def _heartbeat(
    delay: Heartbeat, observed: Observed, found: list[Held], told: Figure | None
) -> tuple[Heartbeat, list[Figure]]:
    """Return the heartbeat of a host with one heartbeat for all ACKs."""
    usual = nanoseconds(delay.period)
    if told is not None and isinstance(told.value, int):
        return replace(delay, phase=told.value), [told]
    if not found:
        return delay, [assumed(_PHASE, 0, unit="ns", reason="no ACK of the client was delayed")]
    first = observed.packets[0].time
    times = [held.time - first for held in found]
    period = _period(times, usual)
    phases = sorted(time % period for time in times)
    phase = _earliest_of_most(phases, period)
    frames = [held.frame for held in found]
    confidence = len(found) / (len(found) + 1)
    figures = [
        seen(
            _PHASE,
            phase,
            low=phases[0],
            high=phases[-1],
            unit="ns",
            confidence=confidence,
            frames=frames,
            how=f"where most of {len(found)} delayed ACKs are, modulo the period, from the first packet on",
        ),
        seen(
            _PERIOD,
            period,
            unit="ns",
            confidence=confidence,
            frames=frames,
            how=f"line through the times of {len(found)} delayed ACKs",
        )
        if period != usual
        else assumed(_PERIOD, usual, unit="ns", reason="the delayed ACKs fit that of the preset"),
    ]
    return replace(delay, period=period, phase=phase), figures


def _period(times: list[int], usual: int) -> int:
    """Return the nanoseconds between beats, if the ACKs show another period than the usual one."""
    beats = [0]
    for before, time in pairwise(times):
        beats.append(beats[-1] + round((time - before) / usual))
    if len(set(beats)) < _FIT:
        return usual
    period = linear_regression(beats, times).slope
    return round(period) if abs(period / usual - 1) < _CLOCK_OFF else usual


def _earliest_of_most(phases: list[int], period: int) -> int:
    """Return the start of the shortest arc that holds most phases: queues delay single ACKs."""
    return _shortest(phases, period, len(phases) // 2)[1] % period


def _arc(phases: list[int], period: int, part: float) -> int:
    """Return the length of the shortest arc with this share of the phases."""
    return _shortest(sorted(phases), period, int(part * (len(phases) - 1)))[0]


def _shortest(phases: list[int], period: int, count: int) -> tuple[int, int]:
    """Return length and start of the shortest arc with ``count`` phases behind its start."""
    around = [*phases, *(phase + period for phase in phases)]
    return min((around[start + count] - around[start], around[start]) for start in range(len(phases)))


@dataclass(frozen=True, slots=True)
class Held:
    """ACK that the latest packet did not trigger."""

    delay: int
    time: int
    frame: int


def _delayed(observed: Observed, seen_at: dict[int, int]) -> list[Held]:
    """Return the delayed ACKs in order."""
    latest: dict[int, int] = {}
    acknowledged: dict[int, int] = {}
    found = []
    for packet in observed.packets:
        flow = packet.flow
        if packet.to_client:
            if packet.payload or packet.flags & (SYN | FIN):
                latest[flow] = seen_at.get(packet.frame, packet.time)
            continue
        if packet.payload or packet.flags & (SYN | FIN) or packet.ack <= acknowledged.get(flow, 1):
            continue
        acknowledged[flow] = packet.ack
        if flow in latest and _LEAST < packet.time - latest[flow] < _MOST:
            found.append(Held(packet.time - latest[flow], packet.time, packet.frame))
    return found

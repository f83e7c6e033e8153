"""How long the client held ACKs back, and when its heartbeat beat, if its stack has one.

A BSD host sends its delayed ACKs five times a second, all at the same moments: the phase of these
against the retrieval decides how long each one waits (Heidemann 1996, section 2.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.quantities import nanoseconds
from reference_sim.stack import Heartbeat
from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.observed import FIN, SYN

if TYPE_CHECKING:
    from reference_sim.stack import Stack
    from tcptrace_http.inference.observed import Observed

__all__ = ["ack_delay", "beating_later", "heartbeat_period", "phase_of_runs", "with_phase"]

_NAME: Final = "client.ack_delay"
_PHASE: Final = "client.heartbeat_phase"
# An ACK that comes sooner after its data was made at once: no stack's timer is shorter (Linux: 4 ms).
_LEAST: Final = 3_000_000
# RFC 1122, section 4.2.3.2: a delay is less than 0.5 s. What comes later has another cause.
_MOST: Final = 500_000_000


def ack_delay(observed: Observed, seen_at: dict[int, int]) -> Figure:
    """The longest that an ACK of the client waited; ``seen_at``: when it could have come, by frames of data."""
    found = _delayed(observed, seen_at)
    if not found:
        return assumed(_NAME, None, unit="ns", reason="no ACK of the client was delayed: as the preset")
    delays = sorted(delay for delay, _, _ in found)
    return seen(
        _NAME,
        delays[-1],
        low=delays[0],
        high=delays[-1],
        unit="ns",
        confidence=len(found) / (len(found) + 1),
        frames=[frame for _, _, frame in found],
        how=f"{len(found)} ACKs that came later than their data made them come",
    )


def heartbeat_period(stack: Stack) -> int | None:
    """Nanoseconds between the heartbeats that send a stack's delayed ACKs; None: it has a timer for each."""
    delay = stack.acks.delay
    return nanoseconds(delay.period) if isinstance(delay, Heartbeat) else None


def phase_of_runs(phase: int, confidence: float, observed: Observed) -> Figure:
    """The phase of the heartbeat, if runs told it and no ACK."""
    return seen(
        _PHASE,
        phase,
        unit="ns",
        confidence=confidence,
        frames=[exchange.request_frame for exchange in observed.exchanges],
        how="the phase whose run is nearest to the capture, from the first packet on",
    )


def with_phase(
    stack: Stack, observed: Observed, seen_at: dict[int, int], *, told: Figure | None = None
) -> tuple[Stack, Figure]:
    """The client's stack with its heartbeat where delayed ACKs show it, in time since the first packet.

    ``told``: the phase, if it is known already.
    """
    title = _PHASE
    delay = stack.acks.delay
    found = _delayed(observed, seen_at)
    if not isinstance(delay, Heartbeat):
        return stack, assumed(title, None, unit="ns", reason="the preset delays each ACK by itself")
    if told is not None and isinstance(told.value, int):
        return _at_phase(stack, delay, told.value), told
    if not found:
        return stack, assumed(title, 0, unit="ns", reason="no ACK of the client was delayed")
    period = nanoseconds(delay.period)
    first = observed.packets[0].time
    phases = sorted((time - first) % period for _, time, _ in found)
    phase = _earliest_of_most(phases, period)
    figure = seen(
        title,
        phase,
        low=phases[0],
        high=phases[-1],
        unit="ns",
        confidence=len(found) / (len(found) + 1),
        frames=[frame for _, _, frame in found],
        how=f"where most of {len(found)} delayed ACKs are, modulo the preset's period, from the first packet on",
    )
    return _at_phase(stack, delay, phase), figure


def beating_later(stack: Stack, offset: int) -> Stack:
    """The stack with its heartbeat, if it has one, so much later."""
    delay = stack.acks.delay
    if not isinstance(delay, Heartbeat):
        return stack
    return _at_phase(stack, delay, (nanoseconds(delay.phase) + offset) % nanoseconds(delay.period))


def _at_phase(stack: Stack, delay: Heartbeat, phase: int) -> Stack:
    return replace(stack, acks=replace(stack.acks, delay=replace(delay, phase=phase)))


def _earliest_of_most(phases: list[int], period: int) -> int:
    """The earliest of the shortest arc that holds most of them: queues make single ones late."""
    around = [*phases, *(phase + period for phase in phases)]
    most = len(phases) // 2
    arcs = [(around[start + most] - around[start], around[start]) for start in range(len(phases))]
    return min(arcs)[1] % period


def _delayed(observed: Observed, seen_at: dict[int, int]) -> list[tuple[int, int, int]]:
    """Delay, time and frame of each ACK that was not made by what came last."""
    latest: dict[int, int] = {}
    acknowledged: dict[int, int] = {}
    found = []
    for packets in observed.by_flow.values():
        for packet in packets:
            if packet.to_client:
                if packet.payload or packet.flags & (SYN | FIN):
                    latest[packet.flow] = seen_at.get(packet.frame, packet.time)
                continue
            if packet.payload or packet.flags & (SYN | FIN) or packet.ack <= acknowledged.get(packet.flow, 1):
                continue
            acknowledged[packet.flow] = packet.ack
            if packet.flow in latest and _LEAST < packet.time - latest[packet.flow] < _MOST:
                found.append((packet.time - latest[packet.flow], packet.time, packet.frame))
    return found

"""Server time of each response: from the end of the request to the first byte, less the path.

If packets of other flows came directly before, a queue may explain part of the time, at most since the link
was last idle. A pipelined request waits for the previous response. The window and that response hide part of
its own time. Hidden times get the median of the others, within their bounds. Runs refine them: if a response
comes at another time than in the run, its time is changed by the difference.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.client_clock import departures, sending_time
from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.steps import partings, stepwise
from tcptrace_http.inference.tls import unasked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.observed import Exchange, Observed
    from tcptrace_http.inference.packets import Packet
    from tcptrace_http.inference.timeline import Timeline

__all__ = ["processing_times", "with_times_of_runs"]

_UNIT: Final = "ns"
_ALONE: Final = 0.95
_OF_RUNS: Final = "other data was on the path meanwhile: as in the nearest run"
# Minimum retransmission timeout of any stack, in nanoseconds.
_TIMEOUT: Final = 200_000_000
# Maximum rounding difference between run and capture, in nanoseconds.
_PARTED: Final = 50_000
# Maximum time between an ACK and the data that it releases, on any machine. Later data was not ready.
_SOON: Final = 2_000_000
# Maximum number of changed times, and number of first divergences tried per change.
_STEPS: Final = 24
_FIRST: Final = 2
# Maximum gap of a queued packet, relative to its serialization time.
_BEHIND: Final = 1.02


def processing_times(
    observed: Observed, rate: int | None, propagation: int, *, shares: bool = False
) -> tuple[Figure, ...]:
    """Return the nanoseconds of each exchange, in order.

    With ``shares``, a response may wait for a window that the connections share.
    """
    left = departures(observed, rate)
    behind = _behind_others(observed)
    found = []
    for exchange in observed.exchanges:
        first, since = _first_of(observed, exchange, observed.by_frame[exchange.response_frame])
        elapsed = first.time - left[exchange.request_last_frame]
        is_behind = exchange.is_pipelined if exchange.stream is None else (exchange.flow, exchange.index) in behind
        sending = sending_time(since, rate)
        found.append(_bounds(observed, is_behind, first, elapsed, sending, rate, propagation))
    held = [_waits_for_tickets(observed, exchange, rate) for exchange in observed.exchanges]
    # The response may have been ready all the time.
    found = [(0 if is_held else low, high) for is_held, (low, high) in zip(held, found, strict=True)]
    if shares:
        alone = [_is_alone(observed, exchange) for exchange in observed.exchanges]
        found = [(low if is_alone else 0, high) for is_alone, (low, high) in zip(alone, found, strict=True)]
    exact = [high for low, high in found if low == high]
    least = 0 if any(held) else min((high for _, high in found), default=0)
    usual = round(median(exact)) if exact else least
    if observed.is_near_client:
        # A much longer time may be a lost packet and a timeout.
        found = [(0 if high - usual > _TIMEOUT else low, high) for low, high in found]
    return tuple(
        _figure(number, exchange, low, high, usual)
        for number, (exchange, (low, high)) in enumerate(zip(observed.exchanges, found, strict=True))
    )


def _is_alone(observed: Observed, exchange: Exchange) -> bool:
    """Return whether no other response was outstanding between the request and its response."""
    return all(
        other.flow == exchange.flow
        or other.response_end <= exchange.request_time
        or other.start >= exchange.response_start
        for other in observed.exchanges
    )


def _behind_others(observed: Observed) -> set[tuple[int, int]]:
    """Return the streams requested before the end of another response that began before theirs."""
    found = set()
    until: dict[int, int] = {}
    for exchange in sorted(observed.exchanges, key=lambda each: (each.response_start, each.index)):
        if exchange.request_end < until.get(exchange.flow, 0):
            found.add((exchange.flow, exchange.index))
        until[exchange.flow] = max(until.get(exchange.flow, 0), exchange.response_end)
    return found


def _waits_for_tickets(observed: Observed, exchange: Exchange, rate: int | None) -> bool:
    """Return whether a response came with the ACK of the tickets before it."""
    tickets = unasked(observed, exchange)
    if not tickets:
        return False
    first = observed.by_frame[exchange.response_frame]
    ack = observed.lookups[exchange.flow].first_ack_from(tickets[-1].end)
    if ack is None:
        return False
    path = observed.server_path + sending_time(first.ip_bytes, rate) if observed.is_near_client else 0
    return abs(first.time - ack.time - path) <= _SOON


def _first_of(observed: Observed, exchange: Exchange, begin: Packet) -> tuple[Packet, int]:
    """Return the earliest packet of a response, and the bytes that the link sent from the response's start.

    If the first part of the response was lost, the following part came before it.
    """
    end = begin.seq + exchange.head_bytes + exchange.body_bytes
    first = observed.lookups[exchange.flow].data(to_client=True).starting_in(begin.seq, end)[0]
    full = observed.segment_bytes(exchange.flow)
    packets = -(-(first.end - begin.seq) // full)
    return first, first.end - begin.seq + packets * (first.ip_bytes - first.payload)


def with_times_of_runs(
    observed: Observed, times: tuple[Figure, ...], scenario_of: Callable[[tuple[Figure, ...]], Scenario]
) -> tuple[Figure, ...]:
    """Return the times, with the assumed ones replaced by those of the nearest runs."""

    def nexts(held: tuple[Figure, ...], run: Timeline) -> Iterator[tuple[Figure, ...]]:
        return _with_another(observed, run, held)

    return stepwise(observed, times, nexts, scenario_of, most=_STEPS)


def _with_another(observed: Observed, run: Timeline, times: tuple[Figure, ...]) -> Iterator[tuple[Figure, ...]]:
    """Yield the times with one changed by the first divergence of run and capture."""
    for packet, late in [each for each in partings(observed, run, by=_PARTED) if each.packet.to_client][:_FIRST]:
        for number, (exchange, figure) in enumerate(zip(observed.exchanges, times, strict=True)):
            is_of_it = exchange.response_frame <= packet.frame <= exchange.response_last_frame
            if figure.is_assumed and exchange.flow == packet.flow and is_of_it:
                value, most = int(figure.value or 0) + late, int(figure.high or 0)
                changed = replace(figure, value=min(max(value, 0), most), reason=_OF_RUNS)
                if changed.value != figure.value:
                    yield (*times[:number], changed, *times[number + 1 :])


def _figure(number: int, exchange: Exchange, low: int, high: int, usual: int) -> Figure:
    name = f"objects[{number}].processing"
    if low == high:
        return seen(
            name,
            high,
            unit=_UNIT,
            confidence=_ALONE,
            frames=(exchange.request_frame, exchange.response_frame),
            how="end of the request to the first byte of the response, less the path",
        )
    reason = "other data was on the path or in the window meanwhile: as of the other responses"
    return assumed(name, min(max(usual, low), high), low=low, high=high, unit=_UNIT, reason=reason)


def _bounds(  # noqa: PLR0913, PLR0917 -- the exchange, and the path
    observed: Observed,
    is_behind: bool,
    first: Packet,
    elapsed: int,
    sending: int,
    rate: int | None,
    propagation: int,
) -> tuple[int, int]:
    """Return the bounds of the server time; equal bounds mean that nothing else contributes."""
    if not observed.is_near_client:
        most = max(elapsed, 0)
        return (0 if is_behind else most), most
    most = max(elapsed - propagation - sending, 0)
    if is_behind:
        return 0, most
    return max(most - _queued_at_most(observed, first, rate), 0), most


def _queued_at_most(observed: Observed, answer: Packet, rate: int | None) -> int:
    """Return the maximum time that the packet can have queued for the link since the link was last idle."""
    begin = end = answer.time - sending_time(answer.ip_bytes, rate)
    behind = answer
    for place in range(answer.place - 1, -1, -1):
        packet = observed.packets[place]
        if not packet.to_client:
            continue
        taken = sending_time(behind.ip_bytes, rate)
        if behind.time - packet.time > _BEHIND * taken:
            break
        begin = packet.time - sending_time(packet.ip_bytes, rate)
        behind = packet
    return end - begin

"""The server's time for each response: from the end of the request to the first byte, less the path.

Where packets of other flows came directly before, a queue may be part of that time, but no more than since
the link was idle last. A pipelined request waits for the response before it: what is seen is the time from
that one's end at most, and nothing where the window held that end back. These get the median of the others,
within what their bounds leave, or by ``from_the_one_before`` the time from the response before: runs tell
which of the two retells the capture.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.client_clock import departures, sending_time
from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Exchange, Observed, Packet

__all__ = ["processing_times"]

_UNIT: Final = "ns"
_ALONE: Final = 0.95
# A packet that comes no later behind another than this part more than it takes to send has queued behind it.
_BEHIND: Final = 1.02


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What the time can be; the same twice: nothing else is part of it."""

    low: int
    high: int
    #: From the end of the response before, where that was still to be sent when the request came.
    from_the_one_before: int | None = None

    @property
    def is_exact(self) -> bool:
        return self.low == self.high and self.from_the_one_before is None


def processing_times(
    observed: Observed, rate: int | None, propagation: int, *, from_the_one_before: bool = False
) -> tuple[Figure, ...]:
    """Nanoseconds for each exchange, in their order."""
    packets = {packet.frame: packet for packet in observed.packets}
    left = departures(observed, rate)
    before = {(exchange.flow, exchange.index): exchange for exchange in observed.exchanges}
    found = []
    for exchange in observed.exchanges:
        elapsed = exchange.response_start - left[exchange.request_last_frame]
        answer = packets[exchange.response_frame]
        previous = before.get((exchange.flow, exchange.index - 1))
        found.append(_bounds(observed, exchange, previous, answer, elapsed, rate, propagation))
    exact = [bounds.high for bounds in found if bounds.is_exact]
    usual = round(median(exact)) if exact else min((bounds.high for bounds in found), default=0)
    return tuple(
        _figure(number, exchange, bounds, usual, by_the_one_before=from_the_one_before)
        for number, (exchange, bounds) in enumerate(zip(observed.exchanges, found, strict=True))
    )


def _figure(number: int, exchange: Exchange, bounds: _Bounds, usual: int, *, by_the_one_before: bool) -> Figure:
    name = f"objects[{number}].processing"
    if bounds.is_exact:
        return seen(
            name,
            bounds.high,
            unit=_UNIT,
            confidence=_ALONE,
            frames=(exchange.request_frame, exchange.response_frame),
            how="end of the request to the first byte of the response, less the path",
        )
    value = min(max(usual, bounds.low), bounds.high)
    reason = "other data was on the path meanwhile: as of the other responses"
    if by_the_one_before and bounds.from_the_one_before is not None:
        value = bounds.from_the_one_before
        reason = "it waited for the response before: from that one's end"
    return assumed(name, value, low=bounds.low, high=bounds.high, unit=_UNIT, reason=reason)


def _bounds(  # noqa: PLR0913, PLR0917 -- what the time is between, and the path
    observed: Observed,
    exchange: Exchange,
    previous: Exchange | None,
    answer: Packet,
    elapsed: int,
    rate: int | None,
    propagation: int,
) -> _Bounds:
    own = sending_time(answer.ip_bytes, rate) if observed.is_near_client else 0
    most = max(elapsed - (propagation + own if observed.is_near_client else 0), 0)
    if exchange.is_pipelined:
        since = most if previous is None else exchange.response_start - previous.response_end - own
        return _Bounds(0, most, from_the_one_before=min(max(since, 0), most))
    if not observed.is_near_client:
        return _Bounds(most, most)
    return _Bounds(max(most - _queued_at_most(observed, answer, rate), 0), most)


def _queued_at_most(observed: Observed, answer: Packet, rate: int | None) -> int:
    """How long the packet can have waited behind others for the link: since that was idle last."""
    begin = end = answer.time - sending_time(answer.ip_bytes, rate)
    behind = answer
    for packet in reversed(observed.packets[: answer.place]):
        if not packet.to_client:
            continue
        taken = sending_time(behind.ip_bytes, rate)
        if behind.time - packet.time > _BEHIND * taken:
            break
        begin = packet.time - sending_time(packet.ip_bytes, rate)
        behind = packet
    return end - begin

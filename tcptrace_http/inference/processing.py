"""The server's time for each response: from the end of the request to the first byte, less the path.

Where packets of other flows came in between, a queue may be part of that time, and where a pipelined
request waited for the response before it, nothing of it is seen: these get the median of the others.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.client_clock import departures, sending_time
from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Exchange, Observed, Packet

__all__ = ["processing_times"]

_UNIT: Final = "ns"
_ALONE: Final = 0.95


def processing_times(observed: Observed, rate: int | None, propagation: int) -> tuple[Figure, ...]:
    """Nanoseconds for each exchange, in their order."""
    packets = {packet.frame: packet for packet in observed.packets}
    left = departures(observed, rate)
    found = [_processing(observed, exchange, packets, left, rate, propagation) for exchange in observed.exchanges]
    alone = [time for time, is_alone in found if is_alone]
    usual = round(median(alone)) if alone else min((time for time, _ in found), default=0)
    return tuple(
        _figure(number, exchange, time if is_alone else usual, time, is_alone=is_alone)
        for number, (exchange, (time, is_alone)) in enumerate(zip(observed.exchanges, found, strict=True))
    )


def _figure(number: int, exchange: Exchange, value: int, longest: int, *, is_alone: bool) -> Figure:
    name = f"objects[{number}].processing"
    if is_alone:
        return seen(
            name,
            value,
            unit=_UNIT,
            confidence=_ALONE,
            frames=(exchange.request_frame, exchange.response_frame),
            how="end of the request to the first byte of the response, less the path",
        )
    return assumed(
        name,
        min(value, longest),
        low=0,
        high=longest,
        unit=_UNIT,
        reason="other data was on the path meanwhile: as of the other responses",
    )


def _processing(
    observed: Observed,
    exchange: Exchange,
    packets: dict[int, Packet],
    left: dict[int, int],
    rate: int | None,
    propagation: int,
) -> tuple[int, bool]:
    """The time, and whether nothing else can be part of it."""
    elapsed = exchange.response_start - left[exchange.request_last_frame]
    is_alone = not exchange.is_pipelined
    if observed.is_near_client:
        request, answer = packets[exchange.request_frame], packets[exchange.response_frame]
        elapsed -= propagation + sending_time(answer.ip_bytes, rate)
        between = observed.packets[request.place + 1 : answer.place]
        is_alone = is_alone and not any(p.to_client and p.flow != exchange.flow for p in between)
    return max(elapsed, 0), is_alone

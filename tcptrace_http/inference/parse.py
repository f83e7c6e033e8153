"""Browser's time from known object to request.

The strategy decides whether a fetch waits for the whole document or for the part with the link. The minimum
time from there to a SYN or request is the browser's own. A longer time waited for a connection.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant
from reference_sim.plan import Bytes, Complete
from tcptrace_http.inference.client_clock import reactions, sent_at
from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from reference_sim.page import Page
    from reference_sim.plan import Plan
    from tcptrace_http.inference.observed import Exchange, Observed

__all__ = ["parse_time"]

_NAME: Final = "browser.parse"
_UNIT: Final = "ns"
# Even spread of the links over a document, if the capture lacks the document.
_BY_PLACE: Final = 0.6
_BY_END: Final = 0.9
# Maximum time in nanoseconds between a free connection and a request that waited for it.
_AT_ONCE: Final = 200_000


def parse_time(
    observed: Observed,
    pages: Sequence[Page],
    plans: Sequence[Plan],
    rate: int | None,
    propagation: int,
    *,
    lost: Collection[int] = (),
) -> Figure:
    """Return the nanoseconds from a known object to its request, under these plans.

    ``lost`` has the places of packets that were seen before their loss.
    """
    seen_at = reactions(observed, rate, propagation)
    sent = sent_at(observed, rate)
    found = []
    for visit, page, plan in zip(observed.visits, pages, plans, strict=True):
        of_place = {(exchange.flow, exchange.index): exchange for exchange in visit.exchanges}
        delivered: dict[int, _Delivery] = {}
        for exchange, fetch in zip(visit.exchanges, plan.fetches, strict=True):
            if not isinstance(fetch.after, Complete | Bytes):
                continue
            finder = fetch.after.fetch
            if finder not in delivered:
                delivered[finder] = _Delivery(observed, visit.exchanges[finder], lost)
            known = seen_at.get(delivered[finder].frame_of(_wanted(page, fetch.after)))
            if known is None:
                continue
            begun = _begin(observed, exchange, sent)
            before = of_place.get((exchange.flow, exchange.index - 1))
            if not _waited(before, exchange, known, begun, seen_at):
                found.append((begun - known, exchange, fetch.after))
    if not found:
        return assumed(_NAME, 0, unit=_UNIT, reason="no object was requested as soon as it was known")
    least, exchange, after = min(found, key=lambda each: each[0])
    return seen(
        _NAME,
        max(least, 0),
        low=0,
        high=max(least, 0),
        unit=_UNIT,
        confidence=_BY_PLACE if isinstance(after, Bytes) else _BY_END,
        frames=(exchange.request_frame,),
        how="minimum time from the known object to its SYN or request",
    )


def _waited(before: Exchange | None, exchange: Exchange, known: int, begun: int, seen_at: dict[int, int]) -> bool:
    """Return whether the request waited for the previous response on its connection; such a request shows no
    parsing time.
    """
    if before is None or exchange.is_pipelined:
        return False
    free = seen_at.get(before.response_last_frame)
    return free is not None and free > known and begun - free < _AT_ONCE


def _begin(observed: Observed, exchange: Exchange, sent: dict[int, int]) -> int:
    """Return the start of the exchange at the client: the visible SYN or request less its serialization time."""
    packets = observed.lookups[exchange.flow]
    opening = packets.openings
    # A repeated opening took long, but served the first request.
    is_repeated = exchange.index == 0 and len(opening) > len({packet.to_client for packet in opening})
    start = opening[0].time if is_repeated else exchange.start
    first = packets.of_client_since(start)
    return start if first is None else start - (first.time - sent[first.frame])


def _wanted(page: Page, after: Complete | Bytes) -> int | None:
    """Return the body bytes of the initiator that a fetch needs; None for all."""
    if isinstance(after, Complete):
        return None
    size = page.objects[after.fetch].size
    return min(after.bytes, size.value) if isinstance(size, Constant) else after.bytes


class _Delivery:
    """Arrival of a response, without holes.

    ``lost`` has the places of packets that were seen before their loss.
    """

    def __init__(self, observed: Observed, response: Exchange, lost: Collection[int]) -> None:
        self._response = response
        #: Bytes present with each frame.
        self._bytes: list[int] = []
        self._frames: list[int] = []
        begin = observed.by_frame.get(response.response_frame)
        if begin is None:
            return
        upto = begin.seq
        whole = response.head_bytes + response.body_bytes
        end = upto + (whole if response.stream is None else response.wire_bytes)
        ahead: list[tuple[int, int]] = []
        for packet in observed.lookups[response.flow].data(to_client=True).carrying(upto, end):
            if packet.place in lost:
                continue
            heappush(ahead, (packet.seq, packet.end))
            while ahead and ahead[0][0] <= upto:
                upto = max(upto, heappop(ahead)[1])
            self._bytes.append(upto - begin.seq)
            self._frames.append(packet.frame)

    def frame_of(self, body: int | None) -> int:
        """Return the frame that completed this number of body bytes; ``None``: all of them."""
        whole = self._response.head_bytes + self._response.body_bytes
        wanted = whole if body is None else self._response.head_bytes + body
        if self._response.stream is not None and whole:
            # HTTP/2 frames have headers.
            wanted = wanted * self._response.wire_bytes // whole
        number = bisect_left(self._bytes, wanted)
        return self._frames[number] if number < len(self._frames) else self._response.response_last_frame

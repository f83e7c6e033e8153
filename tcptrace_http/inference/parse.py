"""The browser's time from what it knows to what it asks for.

What a fetch waits for is a matter of its strategy: for all of the document that names it, or for the
part with the link. The least time from there to a SYN or a request is the browser's own; what took
longer waited for a connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant
from reference_sim.plan import Bytes, Complete
from tcptrace_http.inference.client_clock import own_sending, reactions
from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from reference_sim.page import Page
    from reference_sim.plan import After, Plan
    from tcptrace_http.inference.observed import Exchange, Observed, Packet, Visited

__all__ = ["parse_time"]

_NAME: Final = "browser.parse"
_UNIT: Final = "ns"
# Links are taken to be spread evenly over a document where the capture does not hold them.
_BY_PLACE: Final = 0.6
_BY_END: Final = 0.9
# A request that leaves so soon after its connection was free waited for that.
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
    """Nanoseconds from an object's becoming known to its request, under these plans.

    ``lost``: the places of packets that were seen before they were lost.
    """
    seen_at = reactions(observed, rate, propagation)
    found = []
    for visit, page, plan in zip(observed.visits, pages, plans, strict=True):
        for exchange, fetch in zip(visit.exchanges, plan.fetches, strict=True):
            known = _known(observed, visit, page, fetch.after, seen_at, lost)
            if known is None:
                continue
            begun = exchange.start - _own_sending(observed, exchange, rate)
            if not _waited(visit, exchange, known, begun, seen_at):
                found.append((begun - known, exchange, fetch.after))
    if not found:
        return assumed(_NAME, 0, unit=_UNIT, reason="nothing was asked for at once when it was known")
    least, exchange, after = min(found, key=lambda each: each[0])
    return seen(
        _NAME,
        max(least, 0),
        low=0,
        high=max(least, 0),
        unit=_UNIT,
        confidence=_BY_PLACE if isinstance(after, Bytes) else _BY_END,
        frames=(exchange.request_frame,),
        how="least time from what made an object known to the SYN or request for it",
    )


def _waited(visit: Visited, exchange: Exchange, known: int, begun: int, seen_at: dict[int, int]) -> bool:
    """Whether the request waited for the response before it on its connection: that shows nothing of parsing."""
    before = next((e for e in visit.exchanges if (e.flow, e.index) == (exchange.flow, exchange.index - 1)), None)
    if before is None or exchange.is_pipelined:
        return False
    free = seen_at.get(before.response_last_frame)
    return free is not None and free > known and begun - free < _AT_ONCE


def _own_sending(observed: Observed, exchange: Exchange, rate: int | None) -> int:
    """What the link takes for the SYN or request before it is seen."""
    first = next(p for p in observed.by_flow[exchange.flow] if not p.to_client and p.time >= exchange.start)
    return own_sending(observed, first, rate)


def _known(
    observed: Observed,
    visit: Visited,
    page: Page,
    after: After,
    seen_at: dict[int, int],
    lost: Collection[int],
) -> int | None:
    """When what the fetch waits for can have made the client act."""
    if not isinstance(after, Complete | Bytes):
        return None
    finder = visit.exchanges[after.fetch]
    wanted = finder.head_bytes + finder.body_bytes
    if isinstance(after, Bytes):
        size = page.objects[after.fetch].size
        wanted = finder.head_bytes + min(after.bytes, size.value if isinstance(size, Constant) else after.bytes)
    frame = _delivered_by(observed.by_flow[finder.flow], finder, wanted, lost)
    return seen_at.get(finder.response_last_frame if frame is None else frame)


def _delivered_by(packets: Sequence[Packet], finder: Exchange, wanted: int, lost: Collection[int]) -> int | None:
    """The frame with which so many bytes of a response had come, without a hole."""
    came = [p for p in packets if p.to_client and p.payload and p.place not in lost]
    first = next((p.seq for p in came if p.frame == finder.response_frame), None)
    if first is None:
        first = min((p.seq for p in came if p.frame >= finder.response_frame), default=0)
    upto = first
    ahead: list[tuple[int, int]] = []
    for packet in came:
        ahead.append((packet.seq, packet.end))
        for start, end in sorted(ahead):
            if start <= upto:
                upto = max(upto, end)
        ahead = [each for each in ahead if each[1] > upto]
        if upto - first >= wanted:
            return packet.frame
    return None

"""Modelled part of a session: its first segments, if the session is too long for the runs.

An inference simulates its whole model up to a few hundred times. The first thousands of segments show the
behaviour of path and hosts, and a page has no more. The rest of a long download or session is left out, and
the report says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference.observed import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from tcptrace_http.inference.observed import Exchange, Observed, Visited
    from tcptrace_http.inference.packets import Packet

__all__ = ["MOST_SEGMENTS", "first_packets", "up_to"]

#: Maximum number of modelled segments. A page has about a thousand, and a long path fills its window sooner.
MOST_SEGMENTS: Final = 10_000
#: Payload of an Ethernet segment: a merged packet counts as several of them.
_FULL: Final = 1460
#: Minimum number of modelled packets of a connection, including its handshake.
_OPENING: Final = 8


def first_packets(rows: pl.DataFrame, begin: int) -> pl.DataFrame:
    """Return the modelled packets of a session. ``begin`` is the frame of its first request."""
    import polars as pl

    segments = pl.col("payload_bytes").cast(pl.Int64) // (_FULL + 1) + 1
    if (rows.select(segments.sum()).item() or 0) <= MOST_SEGMENTS:
        return rows
    is_opening = pl.int_range(pl.len()).over("flow") < _OPENING
    return rows.filter(is_opening | (pl.col("frame") >= begin)).filter(segments.cum_sum() <= MOST_SEGMENTS)


def up_to(whole: Observed, last_frame: int, *, of_packets: int, of_transactions: int) -> Observed:
    """Return the session up to this frame.

    :raises ScenarioError: no response begins before the frame.
    """
    kept = (_visit_up_to(whole, visit, last_frame) for visit in whole.visits)
    visits = tuple(_numbered(number, visit) for number, visit in enumerate(filter(None, kept)))
    if not visits:
        raise ScenarioError(
            f"no response of the retrieval begins within its first {MOST_SEGMENTS:,} segments, which is as much as"
            " is modelled"
        )
    exchanges = [exchange for visit in visits for exchange in visit.exchanges]
    packets = _packets_of(whole, exchanges)
    flows = {exchange.flow for exchange in exchanges}
    complete = {(exchange.flow, exchange.index, exchange.body_bytes) for exchange in whole.exchanges}
    return replace(
        whole,
        packets=tuple(packets),
        visits=visits,
        flows={flow: row for flow, row in whole.flows.items() if flow in flows},
        profiles={flow: row for flow, row in whole.profiles.items() if flow in flows},
        part=Part(
            packets=len(packets),
            of_packets=of_packets,
            transactions=len(exchanges),
            of_transactions=of_transactions,
            cut_transactions=sum((each.flow, each.index, each.body_bytes) not in complete for each in exchanges),
        ),
    )


def _numbered(number: int, visit: Visited) -> Visited:
    return replace(visit, exchanges=tuple(replace(exchange, visit=number) for exchange in visit.exchanges))


def _visit_up_to(whole: Observed, visit: Visited, last_frame: int) -> Visited | None:
    """Return the visit up to the frame; None if no response has begun."""
    cut = [_exchange_up_to(whole, exchange, last_frame) for exchange in visit.exchanges]
    if cut == list(visit.exchanges):
        return visit
    numbers = [number for number, exchange in enumerate(cut) if exchange is not None]
    places = {number: place for place, number in enumerate(numbers)}
    kept = [
        replace(exchange, initiator=None if exchange.initiator is None else places.get(exchange.initiator))
        for exchange in cut
        if exchange is not None
    ]
    if not kept:
        return None
    # The end of a visit depends on the strategy, which stays the same.
    kept[-1] = replace(kept[-1], asks_to_close=visit.exchanges[-1].asks_to_close)
    return replace(visit, end=max(exchange.response_end for exchange in kept), exchanges=tuple(kept))


def _exchange_up_to(whole: Observed, exchange: Exchange, last_frame: int) -> Exchange | None:
    """Return the exchange with the body up to the frame; None if its head is incomplete."""
    if exchange.response_last_frame <= last_frame:
        return exchange
    if exchange.stream is not None:
        return _stream_up_to(whole, exchange)
    begin = whole.by_frame.get(exchange.response_frame)
    if begin is None:
        return None
    body = begin.seq + exchange.head_bytes
    data = whole.lookups[exchange.flow].data(to_client=True).starting_in(begin.seq, body + exchange.body_bytes)
    last = max(data, key=lambda packet: packet.end, default=None)
    if last is None or last.end < body:
        return None
    came = min(last.end - body, exchange.body_bytes)
    return replace(exchange, body_bytes=came, response_end=last.time, response_last_frame=last.frame)


def _stream_up_to(whole: Observed, exchange: Exchange) -> Exchange | None:
    """Return the exchange of a stream with the DATA up to the frame."""
    own = (exchange.flow, exchange.stream, "data")
    data = [row for row in whole.h2_windows if (row["flow"], row["stream"], row["event"]) == own]
    last = whole.by_frame.get(data[-1]["frame"]) if data else None
    if last is None:
        return None
    came = min(-sum(row["bytes"] for row in data), exchange.body_bytes)
    return replace(exchange, body_bytes=came, response_end=last.time, response_last_frame=last.frame)


def _packets_of(whole: Observed, exchanges: Sequence[Exchange]) -> list[Packet]:
    """Return the packets of the connections of these exchanges, without later requests of other exchanges."""
    requested: dict[int, int] = {}
    for exchange in exchanges:
        requested[exchange.flow] = max(requested.get(exchange.flow, 0), exchange.request_last_frame)
    packets = [
        packet
        for packet in whole.packets
        if packet.flow in requested
        and (packet.to_client or not packet.payload or packet.frame <= requested[packet.flow])
    ]
    return [replace(packet, place=place) for place, packet in enumerate(packets)]

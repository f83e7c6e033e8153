"""How requests are sent and answered.

``request-lull``
    A client that sends its requests one by one on a persistent connection (``mode`` serial) over a path of
    20 ms or more, each within 6 ms of the response before it, waits a round trip for each: three such
    lulls on a flow must be found. Fewer, on a path of 5 ms or more, after thinking, or on several
    connections, may. Nowhere where requests are pipelined or a connection has one.
``split-request``
    A request that the client wrote in pieces with Nagle's algorithm on (``split`` or ``post_sep`` without
    ``nodelay``), whose pieces are 2 ms or more apart: it must be found. With TCP_NODELAY, as structure, it
    may. Not where the client waited for 100 Continue, nor where its application paused.
``expect-continue-wait``
    A request with ``Expect: 100-continue`` whose body came 5 ms or more after its head must be found, sooner
    it may. Not without the field.
``head-of-line-blocking``
    Of pipelined requests the second and later: where the server was silent for 50 ms and a round trip or more
    with the request there and an earlier response not complete, it must be found; else it may, for what
    an earlier response's data took on its way would have been taken on another connection, too. Not
    without pipelining.
``stretch-ack``
    By the ACKs of the client: more than half of at least ten that acknowledge new data, each for more than two
    full segments, must be found on a flow; no such ACK, not; else it may (Linux's receive offload
    merges segments, and acknowledges once: RFC 5681, section 4.2 allows it for good reason).
    Judged at the client, where it makes ACKs (at the server the path may have dropped some), and on flows
    whose window was never zero, for an ACK waits there until something was read.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from .scene import NOWHERE, Place, Rule, Scene, Truth, of_exchanges
from .wire import has_zero_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .exchanges import Exchange
    from .wire import Flow, Packet

__all__ = ["RULES", "is_pipelined"]

_LONG_PATH_MS: Final = 20.0
_PATH_MIN_MS: Final = 5.0
_LULLS_MIN: Final = 3
#: The client of the testbed sends its next request sooner than that.
_AT_ONCE_MS: Final = 6.0
_PIECES_APART_MS: Final = 2.0
_EXPECT_COST_MS: Final = 5.0
_BLOCKED_MIN_MS: Final = 50.0
_ACKS_MIN: Final = 10


def is_pipelined(exchanges: list[Exchange], index: int) -> bool:
    """Whether the request was seen before the response before it was complete."""
    before, own = exchanges[index - 1] if index else None, exchanges[index]
    if before is None or before.request is None or own.request is None:
        return False
    return before.response is None or own.request.first.frame < before.response.last.frame


def _lull(scene: Scene) -> Truth:
    must, may = [], []
    for flow in scene.flows:
        exchanges = scene.of_flow(flow)
        serial = [e for i, e in enumerate(exchanges) if i and not is_pipelined(exchanges, i)]
        if len(exchanges) < 2 or not serial or scene.rtt_ms < _PATH_MIN_MS:
            continue
        quick = [e for e in serial if _sent_at_once(scene, exchanges[e.index - 1], e)]
        certain = len(quick) >= _LULLS_MIN and scene.rtt_ms >= _LONG_PATH_MS and len(serial) == len(exchanges) - 1
        (must if certain and scene.max_concurrent() == 1 else may).append(Place(flow.client_port))
    return Truth.at(tuple(must), tuple(may))


def _sent_at_once(scene: Scene, before: Exchange, own: Exchange) -> bool:
    if before.response is None or own.request is None:
        return False
    # At the server a response's end and the next request are a round trip apart.
    path_ms = scene.rtt_ms if scene.at_server else 0.0
    return (own.request.first.time_ns - before.response.last.time_ns) / 1e6 < path_ms + _AT_ONCE_MS


def _split(scene: Scene) -> Truth:
    must, may = [], []
    split = scene.client.get("split") or {}
    writes_apart = bool(split or scene.client.get("post_sep"))
    for exchange in scene.exchanges:
        request = exchange.request
        if request is None or len(request.packets) < 2 or "expect" in request.fields:
            continue
        apart_ms = (
            max(b.time_ns - a.time_ns for a, b in zip(request.packets, request.packets[1:], strict=False)) / 1e6
        )
        held = writes_apart and not scene.client.get("nodelay") and not split.get("gap_ms")
        if held and apart_ms >= _PIECES_APART_MS:
            must.append(exchange)
        elif apart_ms < _PIECES_APART_MS or not writes_apart:
            may.append(exchange)
    return Truth.at(of_exchanges(must), of_exchanges(may))


def _expect(scene: Scene) -> Truth:
    must, may = [], []
    for exchange in scene.exchanges:
        request = exchange.request
        if request is None or "expect" not in request.fields:
            continue
        waited_ms = (request.last.time_ns - request.first.time_ns) / 1e6
        (must if waited_ms >= _EXPECT_COST_MS else may).append(exchange)
    return Truth.at(of_exchanges(must), of_exchanges(may))


def _head_of_line(scene: Scene) -> Truth:
    must, may = [], []
    for flow in scene.flows:
        exchanges = scene.of_flow(flow)
        for index, exchange in enumerate(exchanges):
            if is_pipelined(exchanges, index):
                silent_ms = _silence_ms(flow, exchanges, index)
                (must if silent_ms >= scene.rtt_ms + _BLOCKED_MIN_MS else may).append(exchange)
    return Truth.at(of_exchanges(must), of_exchanges(may))


def _silence_ms(flow: Flow, exchanges: list[Exchange], index: int) -> float:
    """The longest time without data of the server from a request to the end of the response before its own."""
    request, before = exchanges[index].request, exchanges[index - 1].response
    if request is None or before is None:
        return 0.0
    start, end = request.last.time_ns, before.last.time_ns
    times = [p.time_ns for p in flow.data(by_client=False) if start < p.time_ns <= end]
    return max((b - a for a, b in itertools.pairwise([start, *times])), default=0) / 1e6


def _stretch(scene: Scene) -> Truth:
    must, may = [], []
    for flow in scene.flows:
        steps = list(_newly_acknowledged(flow))
        stretched = [step for step in steps if step > 2 * flow.segment_bytes]
        if not stretched:
            continue
        most = len(steps) >= _ACKS_MIN and len(stretched) * 2 > len(steps)
        certain = most and not scene.at_server and not has_zero_window(flow)
        (must if certain else may).append(Place(flow.client_port))
    return Truth.at(tuple(must), tuple(may)) if must or may else NOWHERE


def _newly_acknowledged(flow: Flow) -> Iterator[int]:
    highest = 1
    packet: Packet
    for packet in flow.sent(by_client=True):
        if packet.ack > highest:
            yield packet.ack - highest
            highest = packet.ack


RULES: Final = {
    "request-lull": Rule(_lull, opinion="a round trip for each serial request is a pathology at all"),
    "split-request": Rule(_split),
    "expect-continue-wait": Rule(_expect),
    "head-of-line-blocking": Rule(_head_of_line, opinion="what a response would have taken alone nobody can know"),
    "stretch-ack": Rule(_stretch, costs=False, opinion="on most ACKs of a flow; fewer may be named"),
}

"""How requests are sent and answered.

``request-lull``
    A client that sends its requests one by one on a persistent connection (``mode`` serial) over a path of
    20 ms or more, each within 6 ms of the response before it, waits a round trip for each. Where a page shows
    three such lulls it must be found: four GETs of different targets in a row, none of them answered more than
    half a round trip and 5 ms later than the path takes. A redirect must be waited for, and what is asked for
    again begins a page anew. Fewer, on a path of 5 ms or more, after thinking, of other
    methods, or on several connections, may. Nowhere where requests are pipelined or a connection has one.
    (An earlier form of this rule counted the lulls of a flow, whatever was asked for: one document polled
    again and again could not have been asked for sooner, nor a POST before the answer to another.)
``split-request``
    A request that the client's application sent in pieces with a pause between them (``split.gap_ms``) of
    10 ms or more: it must be found (busy hosts have 5.5 ms between two writes that follow each other). One whose
    pieces the client's Nagle algorithm held apart (``split`` or ``post_sep`` without ``nodelay``), by 2 ms or
    more beyond such a pause, must be found under the name of its cause, see ``rules_segments``; this one may be
    given, too. Pieces that came at once may be told. Not where the client waited for 100
    Continue. (Which of the two names a held request has was settled when the detectors had theirs.)
``expect-continue-wait``
    A request with ``Expect: 100-continue`` whose body came 5 ms or more after its head must be found, sooner
    it may. Where the server said 100 before the body, a round trip of the wait is the path's, which the client
    asked for: it must be found where it waited 5 ms and half a round trip longer than that. (An earlier form of
    this rule held the round trip against the server.) Not without the field.
``head-of-line-blocking``
    Of pipelined requests the second and later: where the server was silent for 50 ms and a round trip or more
    with the request there and an earlier response not complete, it must be found, once for each such silence,
    at one of the requests behind it (they waited for the same response, and no time is claimed twice; an
    earlier form of this rule asked for a finding of each); else it may, for what an earlier response's data
    took on its way would have been taken on another connection, too. Not without pipelining.
``stretch-ack``
    An ACK for more than two full segments slows a sender that counts ACKs. Linux counts bytes (its receive
    offload makes such ACKs all the time), so where it is the server no loss may be claimed; structure may
    be told. The BSD-like stack may have lost time by them. Of the captures at hand none is known to.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from .scene import ANYWHERE, NOWHERE, Place, Rule, Scene, Truth, of_exchanges

if TYPE_CHECKING:
    from .exchanges import Exchange
    from .wire import Flow

__all__ = ["RULES", "in_pieces", "is_pipelined", "own_pause_ms", "runs_nagle_in_client"]

_LONG_PATH_MS: Final = 20.0
_PATH_MIN_MS: Final = 5.0
#: A document and three objects.
_CHAIN_MIN: Final = 4
_ANSWER_SLACK_MS: Final = 5.0
#: The client of the testbed sends its next request sooner than that.
_AT_ONCE_MS: Final = 6.0
_PIECES_APART_MS: Final = 10.0
_HELD_MS: Final = 2.0
#: Ethernet, IPv4 and TCP header with the timestamps option.
_HEADER_BYTES: Final = 66
_EXPECT_COST_MS: Final = 5.0
_BLOCKED_MIN_MS: Final = 50.0


def is_pipelined(exchanges: list[Exchange], index: int) -> bool:
    """Return whether the request was seen before the response before it was complete."""
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
        certain = _longest_chain(scene, exchanges) >= _CHAIN_MIN and scene.rtt_ms >= _LONG_PATH_MS
        (must if certain and scene.max_concurrent() == 1 else may).append(Place(flow.client_port))
    return Truth.at(tuple(must), tuple(may))


def _longest_chain(scene: Scene, exchanges: list[Exchange]) -> int:
    """Return the most GETs in a row of which each asks for something else, at once, and is answered at once."""
    longest, asked = 0, set[str]()
    for index, exchange in enumerate(exchanges):
        request = exchange.request
        if request is None or request.method != "GET" or not _is_answered_at_once(scene, exchange):
            asked = set()
            continue
        goes_on = index > 0 and not is_pipelined(exchanges, index) and not _is_redirected(exchanges[index - 1])
        if not goes_on or request.target in asked or not _sent_at_once(scene, exchanges[index - 1], exchange):
            asked = set()
        asked.add(request.target)
        longest = max(longest, len(asked))
    return longest


def _is_redirected(exchange: Exchange) -> bool:
    return exchange.response is not None and exchange.response.status // 100 == 3


def _is_answered_at_once(scene: Scene, exchange: Exchange) -> bool:
    if exchange.request is None or exchange.response is None:
        return False
    path_ms = 0.0 if scene.at_server else scene.rtt_ms
    took_ms = (exchange.response.first.time_ns - exchange.request.last.time_ns) / 1e6
    return took_ms <= path_ms + scene.rtt_ms / 2 + _ANSWER_SLACK_MS


def _sent_at_once(scene: Scene, before: Exchange, own: Exchange) -> bool:
    if before.response is None or own.request is None:
        return False
    # At the server a response's end and the next request are a round trip apart.
    path_ms = scene.rtt_ms if scene.at_server else 0.0
    return (own.request.first.time_ns - before.response.last.time_ns) / 1e6 < path_ms + _AT_ONCE_MS


def _split(scene: Scene) -> Truth:
    must, may = [], []
    pause_ms = own_pause_ms(scene)
    for exchange, apart_ms in in_pieces(scene):
        was_held = runs_nagle_in_client(scene) and apart_ms >= pause_ms + _HELD_MS
        pauses = pause_ms >= _PIECES_APART_MS and not was_held
        (must if pauses and apart_ms >= _PIECES_APART_MS else may).append(exchange)
    return Truth.at(of_exchanges(must), of_exchanges(may))


def own_pause_ms(scene: Scene) -> float:
    """How long the client's application pauses between the pieces of a request."""
    return float((scene.client.get("split") or {}).get("gap_ms") or 0)


def runs_nagle_in_client(scene: Scene) -> bool:
    """Return whether the client writes its requests in pieces, and its Nagle algorithm may hold these."""
    writes_apart = bool(scene.client.get("split") or scene.client.get("post_sep"))
    return writes_apart and not scene.client.get("nodelay")


def in_pieces(scene: Scene) -> list[tuple[Exchange, float]]:
    """Return requests of several packets, with the longest pause between two, less what the later one takes on
    the link before the server; not those that wait for 100 Continue.
    """
    rate = scene.link.get("rate_up") or scene.link.get("rate")
    byte_ms = 8000 / rate if rate and scene.at_server else 0.0
    found = []
    for exchange in scene.exchanges:
        request = exchange.request
        if request is None or len(request.packets) < 2 or "expect" in request.fields:
            continue
        pauses = [
            (b.time_ns - a.time_ns) / 1e6 - (b.payload_bytes + _HEADER_BYTES) * byte_ms
            for a, b in itertools.pairwise(request.packets)
        ]
        found.append((exchange, max(pauses)))
    return found


def _expect(scene: Scene) -> Truth:
    must, may = [], []
    for exchange in scene.exchanges:
        request = exchange.request
        if request is None or "expect" not in request.fields:
            continue
        waited_ms = (request.last.time_ns - request.first.time_ns) / 1e6
        path_ms = 1.5 * scene.rtt_ms if _was_told(scene, exchange) else 0.0
        (must if waited_ms >= path_ms + _EXPECT_COST_MS else may).append(exchange)
    return Truth.at(of_exchanges(must), of_exchanges(may))


def _was_told(scene: Scene, exchange: Exchange) -> bool:
    """Return whether the server sent something, which can be 100 Continue only, between head and body."""
    request = exchange.request
    if request is None:
        return False
    sent = scene.flow_of(exchange).data(by_client=False)
    return any(request.first.time_ns < packet.time_ns <= request.last.time_ns for packet in sent)


def _head_of_line(scene: Scene) -> Truth:
    held_up: dict[tuple[int, int], list[Exchange]] = defaultdict(list)
    may = []
    for flow in scene.flows:
        exchanges = scene.of_flow(flow)
        for index, exchange in enumerate(exchanges):
            if not is_pipelined(exchanges, index):
                continue
            silent_ms, until = _silence(flow, exchanges, index)
            if silent_ms >= scene.rtt_ms + _BLOCKED_MIN_MS:
                held_up[flow.client_port, until].append(exchange)
            else:
                may.append(exchange)
    return Truth(tuple(of_exchanges(behind) for behind in held_up.values()), of_exchanges(may))


def _silence(flow: Flow, exchanges: list[Exchange], index: int) -> tuple[float, int]:
    """Return the longest time in ms without data of the server from a request to the end of the response before
    its own, and the frame that ended it.
    """
    request, before = exchanges[index].request, exchanges[index - 1].response
    if request is None or before is None:
        return 0.0, 0
    start, end = request.last.time_ns, before.last.time_ns
    data = [(p.time_ns, p.frame) for p in flow.data(by_client=False) if start < p.time_ns <= end]
    pauses = [(b - a, frame) for (a, _), (b, frame) in itertools.pairwise([(start, 0), *data])]
    longest, frame = max(pauses, default=(0, 0))
    return longest / 1e6, frame


def _stretch(scene: Scene) -> Truth:
    return ANYWHERE if scene.is_lwip else NOWHERE


RULES: Final = {
    "request-lull": Rule(_lull, opinion="a round trip for each serial request is a pathology at all"),
    "split-request": Rule(_split, opinion="10 ms must, less may"),
    "expect-continue-wait": Rule(_expect),
    "head-of-line-blocking": Rule(_head_of_line, opinion="what a response would have taken alone nobody can know"),
    "stretch-ack": Rule(_stretch),
}

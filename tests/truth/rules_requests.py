"""Rules for sending and answering requests.

``request-lull``
    A client with serial requests on a persistent connection (``mode`` serial) waits an RTT for each. Each
    request follows the previous response within 6 ms. Required on a path of at least 20 ms: a page with three
    such lulls. That is four consecutive GETs of different targets. None is answered more than half an RTT
    plus 5 ms later than the path requires. A redirect must be awaited, and a repeated target begins a new
    page. Permitted on a path of at least 5 ms: fewer lulls, lulls after think time, other methods, or several
    connections. Wrong: pipelined requests, or one request per connection. (An earlier form counted all lulls
    of a flow. But a polled document could not be requested earlier, and neither could a POST before the
    response to another POST.)
``split-request``
    Required: a request in pieces with a pause of the application (``split.gap_ms``) of at least 10 ms (busy
    hosts have 5.5 ms between two consecutive writes). If the client's Nagle algorithm held a piece (``split``
    or ``post_sep`` without ``nodelay``) for at least 2 ms beyond such a pause, the name of this cause is
    required, see ``rules_segments``. The name ``split-request`` is then permitted in addition. Permitted:
    pieces that arrived together. Wrong: the client waited for 100 Continue. (The name of a held request was
    decided after the naming of the detectors.)
``expect-continue-wait``
    Required: a request with ``Expect: 100-continue`` whose body followed its head after at least 5 ms.
    Permitted: an earlier body. If the server sent 100 before the body, one RTT of the wait belongs to the
    path, by the client's choice. Required then: a wait of at least 5 ms plus half an RTT beyond this RTT. (An
    earlier form blamed this RTT on the server.) Wrong: no such field.
``head-of-line-blocking``
    Affects pipelined requests from the second on. Required, once per silence: the server was silent for at
    least an RTT plus 50 ms. The request had arrived, and an earlier response was incomplete. The place is one
    of the requests that waited for this response. No time is claimed twice (an earlier form required a
    finding for each). Permitted: all other cases, because an earlier response's data takes the same time on
    another connection. Wrong: no pipelining.
``stretch-ack``
    An ACK of more than two full segments slows a sender that counts ACKs. Linux counts bytes (its receive
    offload constantly makes such ACKs). Permitted: structure; wrong: lost time with a Linux server. The
    BSD-like stack may have lost time by such ACKs, but no known capture shows this.
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
#: Upper bound on the testbed client's delay before its next request.
_AT_ONCE_MS: Final = 6.0
_PIECES_APART_MS: Final = 10.0
_HELD_MS: Final = 2.0
#: Ethernet, IPv4 and TCP header with the timestamps option.
_HEADER_BYTES: Final = 66
_EXPECT_COST_MS: Final = 5.0
_BLOCKED_MIN_MS: Final = 50.0


def is_pipelined(exchanges: list[Exchange], index: int) -> bool:
    """Return whether the request was seen before the previous response was complete."""
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
    """Return the maximum number of consecutive GETs for different targets, each sent and answered at once."""
    longest, requested = 0, set[str]()
    for index, exchange in enumerate(exchanges):
        request = exchange.request
        if request is None or request.method != "GET" or not _is_answered_at_once(scene, exchange):
            requested = set()
            continue
        goes_on = index > 0 and not is_pipelined(exchanges, index) and not _is_redirected(exchanges[index - 1])
        if not goes_on or request.target in requested or not _sent_at_once(scene, exchanges[index - 1], exchange):
            requested = set()
        requested.add(request.target)
        longest = max(longest, len(requested))
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
    # At the server, a response's end and the next request are an RTT apart.
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
    """Return the application's pause between the pieces of a request at the client."""
    return float((scene.client.get("split") or {}).get("gap_ms") or 0)


def runs_nagle_in_client(scene: Scene) -> bool:
    """Return whether the client writes requests in pieces that its Nagle algorithm may hold."""
    writes_apart = bool(scene.client.get("split") or scene.client.get("post_sep"))
    return writes_apart and not scene.client.get("nodelay")


def in_pieces(scene: Scene) -> list[tuple[Exchange, float]]:
    """Return requests of several packets, with the longest pause between two packets.

    The pause excludes the later packet's serialization on the link. Requests that wait for 100 Continue are
    excluded.
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
    """Return whether the server sent data between head and body, which can only be 100 Continue."""
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
    """Return the server's longest silence before the end of the previous response, and its last frame."""
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

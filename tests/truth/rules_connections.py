"""Rules for opening, use and end of connections.

``connection-per-request``
    Evidence: packets. Required: at least four connections of one client to one server with one transaction
    each, and none with more. Permitted: two or three, or a mix.
``parallel-connection-burst``
    Evidence: the maximum number of simultaneous connections (SYN to last data). Required: more than six,
    today's browser limit per host; also three or more if the emulator's full queue dropped packets of several.
    Permitted: three to six. Wrong: one or two (RFC 2616, section 8.1.4).
``keep-alive-refused``
    Evidence: messages. Required: on at least two flows, the server sent ``Connection: close``, or a FIN
    within 10 ms of the response. The client had not asked to close (HTTP/1.1 without ``Connection: close``,
    or 1.0 with ``keep-alive``). Permitted: once. Wrong: the client asked for the close.
``repeated-slow-start``
    Required: a connection of several requests that began after the end of an earlier one between the two
    hosts. Their first responses were at least 1.5 times the initial window, on a path of at least 5 ms. The
    connection then repeated slow start. Permitted: shorter responses or paths. Wrong: one connection.
    Connections with one request each are only permitted: connection-per-request claims the RTTs of their slow
    starts. No time is claimed twice (an earlier form of this rule required both).
``competing-bundle``
    Required: several simultaneous connections in slow start without a drop. Their first responses are at least
    1.5 times the initial window, and overlap on a path of at least 5 ms. Permitted: other simultaneous
    connections. Wrong: one connection at a time. (An earlier form required it after drops on several
    connections. By the cases of both detectors, that is parallel-connection-burst, and slow start is then
    over.)
``initial-window``
    Required: a server with an initial window under 10 segments (RFC 6928). A flow's first response is at
    least 1.5 times that window, on a path of at least 5 ms. Permitted: a shorter path. Permitted also: a link
    that needs an RTT to serialize this window. It is never idle, and a larger window saves nothing. Wrong:
    ten segments or more.
``syn-retransmission``, ``refused-connection``
    Evidence: packets. Required: a repeated SYN or SYN-ACK; an RST in answer to a SYN. Permitted: a SYN dropped
    by the emulator before the capture point. Permitted also: a path slower than the timer (one second, RFC
    6298). The first SYN was answered there, and the second cost nothing. (An earlier form required these cases,
    on which a detector of lost time is silent.)
``idle-timeout-race``
    Required: an unanswered request on a connection with an earlier response, after an idle period of at least
    200 ms. The server's FIN or RST came within an RTT (at least 10 ms) before or after it. Permitted: the
    same without idle time, because no timeout can have passed. (An earlier form did not require idle time.)
``lost-pipelined-requests``
    Required: at least two unanswered requests at the server's end of the connection, in a flow without gaps.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from .rules_losses import has_gap
from .rules_segments import initial_window
from .scene import ANYWHERE, NOWHERE, Place, Rule, Scene, Truth
from .wire import FIN, RST, SYN

if TYPE_CHECKING:
    from .exchanges import Exchange
    from .wire import Flow

__all__ = ["RULES"]

_SERIAL_MIN: Final = 4
#: Firefox and Chromium open at most six connections per host.
_BROWSER_CONNECTIONS: Final = 6
_SHARED_MIN: Final = 3
#: Initial RTO before the first RTT sample (RFC 6298, section 2.1).
_SYN_TIMER_MS: Final = 1000.0
#: Below this RTT, one more RTT is within the testbed's noise.
_PATH_MIN_MS: Final = 5.0
#: A server that habitually ends the connection does so at once.
_RACE_MIN_MS: Final = 10.0
#: No server has a shorter idle timeout; most have seconds.
_IDLE_MIN_MS: Final = 200.0
#: One or two segments beyond the initial window may be sent before a second flight is visible.
_MORE_THAN: Final = 1.5
#: RFC 6928.
_INITIAL_WINDOW: Final = 10


def _by_host_pair(scene: Scene) -> list[list[Flow]]:
    pairs: dict[tuple[bytes, bytes, int], list[Flow]] = defaultdict(list)
    for flow in scene.flows:
        if scene.of_flow(flow):
            pairs[flow.client[0], flow.server[0], flow.server[1]].append(flow)
    return list(pairs.values())


def _ports(flows: list[Flow]) -> tuple[Place, ...]:
    return tuple(Place(flow.client_port) for flow in flows)


def _connection_per_request(scene: Scene) -> Truth:
    must, may = [], []
    for flows in _by_host_pair(scene):
        single = [flow for flow in flows if len(scene.of_flow(flow)) == 1]
        if len(single) >= _SERIAL_MIN and single == flows:
            must.append(Place())
        elif len(single) > 1:
            may += _ports(single)
    return Truth.at(tuple(must), tuple(may))


def _burst(scene: Scene) -> Truth:
    most = scene.max_concurrent()
    if most > _BROWSER_CONNECTIONS or (most >= _SHARED_MIN and len(_dropped(scene)) > 1):
        return Truth.at((Place(),))
    return ANYWHERE if most >= _SHARED_MIN else NOWHERE


def _keep_alive_refused(scene: Scene) -> Truth:
    refused = [exchange for exchange in scene.exchanges if _is_refused(scene, exchange)]
    if len({exchange.client_port for exchange in refused}) > 1:
        return Truth.at((Place(),))
    return Truth(may=tuple(Place(exchange.client_port) for exchange in refused))


def _is_refused(scene: Scene, exchange: Exchange) -> bool:
    request, response = exchange.request, exchange.response
    if request is None or response is None or not response.is_complete:
        return False
    wanted = request.fields.get("connection", "").lower()
    requested = wanted != "close" if request.start_line.endswith("HTTP/1.1") else wanted == "keep-alive"
    if response.fields.get("connection", "").lower() == "close":
        return requested
    flow = scene.flow_of(exchange)
    end = next((p for p in flow.packets if p.has(FIN) or p.has(RST)), None)
    if end is None or end.from_client or exchange != scene.of_flow(flow)[-1]:
        return False
    return requested and (end.time_ns - response.last.time_ns) / 1e6 <= _RACE_MIN_MS


def _repeated_slow_start(scene: Scene) -> Truth:
    window = initial_window(scene) or _INITIAL_WINDOW
    must, may = [], []
    for flows in _by_host_pair(scene):
        certain = scene.rtt_ms >= _PATH_MIN_MS and all(_outgrows(scene, flow, window) for flow in flows)
        again = [flow for flow in flows if len(scene.of_flow(flow)) > 1 and _begins_after_one(flows, flow)]
        if certain and len(again) > 1:
            must.append(_ports(again))
        if len(flows) > 1:
            may += _ports(flows)
    return Truth(tuple(must), tuple(may))


def _begins_after_one(flows: list[Flow], flow: Flow) -> bool:
    """Return whether another flow had sent all its data before this flow began."""
    done = [max((p.time_ns for p in other.packets if p.payload_bytes), default=0) for other in flows]
    return any(0 < end < flow.packets[0].time_ns for end in done)


def _outgrows(scene: Scene, flow: Flow, window: int) -> bool:
    """Return whether the flow's first response is at least 1.5 times the initial window."""
    first = next(iter(scene.of_flow(flow)), None)
    length = first.response.wire_bytes if first is not None and first.response else 0
    return length >= _MORE_THAN * window * flow.segment_bytes


def _dropped(scene: Scene) -> set[int]:
    """Return the client ports whose data the emulator's full queue dropped."""
    return {drop["dport"] for drop in scene.drops if drop.get("why") == "queue" and drop["dir"] == "down"}


def _competing(scene: Scene) -> Truth:
    if scene.max_concurrent() <= 1:
        return NOWHERE
    window = initial_window(scene) or _INITIAL_WINDOW
    spans = sorted(
        (first.response.first.time_ns, first.response.last.time_ns)
        for flow in scene.flows
        if (first := next(iter(scene.of_flow(flow)), None)) and first.response and _outgrows(scene, flow, window)
    )
    overlap = any(later < end for (_, end), (later, _) in itertools.pairwise(spans))
    certain = overlap and scene.rtt_ms >= _PATH_MIN_MS and not scene.drops
    return Truth.at((Place(),)) if certain else ANYWHERE


def _initial_window(scene: Scene) -> Truth:
    window = initial_window(scene)
    if window is None:
        return ANYWHERE
    if window >= _INITIAL_WINDOW:
        return NOWHERE
    longer = [flow for flow in scene.flows if _outgrows(scene, flow, window)]
    # Only text describes the BSD-like stack's window, and half of its end is ours.
    certain = scene.rtt_ms >= _PATH_MIN_MS and not scene.is_lwip
    idle = [flow for flow in longer if certain and not _fills_path(scene, window * flow.segment_bytes)]
    return Truth.at(_ports(idle), _ports([flow for flow in longer if flow not in idle]))


def _fills_path(scene: Scene, window_bytes: int) -> bool:
    """Return whether the link takes an RTT to serialize a window."""
    rate = float(scene.link.get("rate") or math.inf)
    return window_bytes * 8 >= rate * scene.rtt_ms / 1000


def _syn_again(scene: Scene) -> Truth:
    must, may = [], []
    dropped = {port for drop in scene.drops if drop.get("why") == "syn" for port in (drop["sport"], drop["dport"])}
    for flow in scene.flows:
        syns = [p.from_client for p in flow.packets if p.has(SYN)]
        if syns.count(True) > 1 or syns.count(False) > 1:
            (must if scene.rtt_ms < _SYN_TIMER_MS else may).append(flow)
        elif flow.client_port in dropped:
            may.append(flow)
    return Truth.at(_ports(must), _ports(may))


def _refused(scene: Scene) -> Truth:
    return Truth.at(_ports([flow for flow in scene.flows if is_refused(flow)]))


def is_refused(flow: Flow) -> bool:
    """Return whether an RST, and no SYN-ACK, answered a SYN (RFC 9293, section 3.5.2)."""
    sent = {p.from_client: p for p in reversed(flow.packets)}
    first, answer = sent.get(True), sent.get(False)
    return bool(first and answer and first.has(SYN) and answer.has(RST) and not answer.has(SYN))


def _race(scene: Scene) -> Truth:
    places, may = [], []
    for flow in scene.flows:
        exchanges = scene.of_flow(flow)
        last = exchanges[-1] if len(exchanges) > 1 else None
        end = next((p for p in flow.packets if not p.from_client and (p.has(FIN) or p.has(RST))), None)
        if last is None or last.request is None or last.response is not None or end is None:
            continue
        apart_ms = abs(end.time_ns - last.request.first.time_ns) / 1e6
        if apart_ms <= max(_RACE_MIN_MS, scene.rtt_ms) and exchanges[-2].response is not None:
            idle_ms = (last.request.first.time_ns - exchanges[-2].response.last.time_ns) / 1e6
            (places if idle_ms >= _IDLE_MIN_MS else may).append(Place(flow.client_port))
    return Truth.at(tuple(places), tuple(may))


def _lost_pipelined(scene: Scene) -> Truth:
    places = []
    for flow in scene.flows:
        unanswered = [e for e in scene.of_flow(flow) if e.request and e.response is None]
        ended = any(not p.from_client and (p.has(FIN) or p.has(RST)) for p in flow.packets)
        if len(unanswered) > 1 and ended and not has_gap(flow):
            places.append(Place(flow.client_port))
    return Truth.at(tuple(places))


RULES: Final = {
    "connection-per-request": Rule(_connection_per_request, costs=False, opinion="four connections make a habit"),
    "parallel-connection-burst": Rule(_burst, costs=False, opinion="over six must, three to six may"),
    "keep-alive-refused": Rule(
        _keep_alive_refused, costs=False, opinion="twice is a refusal, once may be a limit"
    ),
    "repeated-slow-start": Rule(_repeated_slow_start),
    "competing-bundle": Rule(_competing, costs=False, opinion="competition that dropped nothing may be named"),
    "initial-window": Rule(_initial_window, costs=False, opinion="ten segments (RFC 6928), not four (RFC 3390)"),
    "syn-retransmission": Rule(_syn_again, costs=False),
    "refused-connection": Rule(_refused, costs=False),
    "idle-timeout-race": Rule(_race, costs=False),
    "lost-pipelined-requests": Rule(_lost_pipelined, costs=False),
}

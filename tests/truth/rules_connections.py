"""How connections are made, used and ended.

``connection-per-request``
    By the packets: four or more connections of one client to one server with one transaction each, and
    none with more. Two or three, or a mix, may be named.
``parallel-connection-burst``
    Most connections open at once (SYN to last data): more than six, what browsers open to a host today,
    must be found, and three or more of whose packets the emulator's full queue dropped some of several; three to
    six may; one or two not (RFC 2616, section 8.1.4).
``keep-alive-refused``
    By the messages: the client did not ask to close (HTTP/1.1 without ``Connection: close``, or 1.0 with
    ``keep-alive``) and was told ``Connection: close`` or answered by a FIN within 10 ms of the response, on two
    flows or more. Once may be named. Where the client asked for it, nowhere.
``repeated-slow-start``
    A connection of several requests that began after an earlier one of the two hosts was done, where first
    responses were half as long again as the initial window, or longer, on a path of 5 ms or more: it opened
    its window anew. Shorter responses or paths may be named; one connection not. Where each connection has
    one request it may: connection-per-request claims the round trips of their slow starts, and no time is
    claimed twice (an earlier form of this rule asked for both).
``competing-bundle``
    Several connections at once whose first responses are half as long again as the initial window, or longer,
    and overlap on a path of 5 ms or more, without a drop, must be found: all are in slow start. Others of several
    at once may be. One at a time not. (An earlier form of this rule asked for it where a queue had dropped
    packets of several: that is parallel-connection-burst by the cases of both, and slow start is over then.)
``initial-window``
    A server whose configuration gives an initial window under 10 segments (RFC 6928), where a flow's first
    response is half as long again or longer, on a path of 5 ms or more. On a shorter path it may be named,
    and where the link takes as long for that window as the path for its round trip: it is never idle, and a
    larger one would have saved nothing. With ten or more not.
``syn-retransmission``, ``refused-connection``
    By the packets: a client's SYN (or the server's SYN-ACK) seen twice; a SYN answered by an RST. Where the
    emulator dropped a SYN before the capture point nothing can be seen: it may be named. So it may where
    the path alone takes longer than the timer (one second, RFC 6298): the first SYN was answered, and
    the second cost nothing. (The rule asked for those too, and a detector of lost time is silent there.)
``idle-timeout-race``
    A request on a connection that had answered before and then been idle for 200 ms or more, which got no
    byte of an answer, where the server's FIN or RST came within a round trip (but 10 ms at least) of it,
    before or after. Where it had not been idle no timeout can have passed: it may. (An earlier form of this
    rule did not ask for the idle time that the name has.)
``lost-pipelined-requests``
    Two requests or more that the server left unanswered when it ended the connection, in a flow without gaps.
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
#: Firefox and Chromium open six connections to a host at most.
_BROWSER_CONNECTIONS: Final = 6
_SHARED_MIN: Final = 3
#: Below this a round trip more is within the noise of the testbed.
#: The first retransmission timeout before any round trip is known (RFC 6298, section 2.1).
_SYN_TIMER_MS: Final = 1000.0
_PATH_MIN_MS: Final = 5.0
#: A server that ends the connection as its habit does so at once.
_RACE_MIN_MS: Final = 10.0
#: No server has a shorter idle timeout; most have seconds.
_IDLE_MIN_MS: Final = 200.0
#: A segment or two behind the initial window may go out before anybody sees a second flight.
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
    asked = wanted != "close" if request.start_line.endswith("HTTP/1.1") else wanted == "keep-alive"
    if response.fields.get("connection", "").lower() == "close":
        return asked
    flow = scene.flow_of(exchange)
    end = next((p for p in flow.packets if p.has(FIN) or p.has(RST)), None)
    if end is None or end.from_client or exchange != scene.of_flow(flow)[-1]:
        return False
    return asked and (end.time_ns - response.last.time_ns) / 1e6 <= _RACE_MIN_MS


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
    """Return whether another of the flows had sent all its data before this one began."""
    done = [max((p.time_ns for p in other.packets if p.payload_bytes), default=0) for other in flows]
    return any(0 < end < flow.packets[0].time_ns for end in done)


def _outgrows(scene: Scene, flow: Flow, window: int) -> bool:
    """Return whether the flow's first response is half as long again as the initial window, or longer."""
    first = next(iter(scene.of_flow(flow)), None)
    length = first.response.wire_bytes if first is not None and first.response else 0
    return length >= _MORE_THAN * window * flow.segment_bytes


def _dropped(scene: Scene) -> set[int]:
    """Return ports of the clients whose data the emulator's full queue dropped."""
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
    # The BSD-like stack's window is told in words only, and half of its end is ours.
    certain = scene.rtt_ms >= _PATH_MIN_MS and not scene.is_lwip
    idle = [flow for flow in longer if certain and not _fills_path(scene, window * flow.segment_bytes)]
    return Truth.at(_ports(idle), _ports([flow for flow in longer if flow not in idle]))


def _fills_path(scene: Scene, window_bytes: int) -> bool:
    """Return whether the link takes a round trip for a window."""
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
    """Return whether a SYN was answered by an RST, and by no SYN-ACK (RFC 9293, section 3.5.2)."""
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

"""Rules for short segments and the data that waits behind them.

``short-initial-segment``, ``odd-short-final-segment``, ``slow-start-restart``
    The stalls of ``kernel_truth`` (its docstring has the rules): its required stalls are required in their
    frames, others permitted. If the server runs Nagle's algorithm, any short hold is permitted. If no
    inspection looked for restarts (no ``verdict``), any restart is permitted. A restart inside a response
    after a zero window is also permitted: the truth covers only restarts between responses. The next ACK
    releases a tail held by MSG_MORE like a Nagle hold: both names are permitted.
``nagle-delayed-ack``, ``nagle-hold``
    Required: the client's Nagle algorithm held a piece of a request (``split`` or ``post_sep`` without
    ``nodelay``). The hold lasted at least 3 ms, and longer than the application's pause. If the hold exceeded
    the RTT by 10 ms, the server delayed its ACK: the first name is required, otherwise the second. Required
    also: a stall in the middle of a response. Permitted: the server's other stalls, by the names of their
    causes above. If a sidecar lists only part of its holds, any other hold is also permitted. Wrong:
    elsewhere.
``cork-timeout``
    A server that sets TCP_CORK or MSG_MORE and never clears it (``--cork-forget``, ``--more-forget``).
    Required: a response longer than one segment, with a gap of at least 150 ms before its held tail (the
    kernel's timer has 200 ms). Permitted: a response within one segment. It was held as a whole, as if the
    server were slow.
``delayed-ack-first-segment``
    A server with an initial window of one segment (``route_server`` with ``initcwnd 1``). Required: the
    second segment of a flow's first response followed the first after a delayed ACK (over 10 ms beyond the
    RTT). Permitted: an initial window of 2 whose first flight shows a single segment.
``unfilled-segments``
    Evidence: packets, per response. Required: at least three short segments, each followed by more data
    within 2 ms. They are at least as many as the segments that the response needs. Permitted: more segments
    than needed. An application that wrote later (after 2 ms) could not have filled them. Wrong: a flow with
    super-segments, which hide the segments' fill.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from .kernel_truth import MIDDLE, RESTART, SHORT_FINAL, SHORT_INITIAL, Stall, runs_nagle, truth_of
from .rules_requests import in_pieces, own_pause_ms, runs_nagle_in_client
from .scene import ANYWHERE, NOWHERE, Place, Rule, Scene, Truth, of_exchanges
from .wire import has_zero_window

if TYPE_CHECKING:
    from collections.abc import Callable

    from .exchanges import Message
    from .wire import Flow

__all__ = ["RULES"]

#: A hold by a forgotten cork lasts 200 ms less up to a timer tick (observed: 208-267).
_CORK_MIN_MS: Final = 150.0
#: Ten is the shortest delayed ACK of a tuned stack; otherwise a first segment is acknowledged sooner.
_DELAYED_ACK_MIN_MS: Final = 10.0
#: Both ends' views of a hold differ by as much as the tolerance exceeds the reporting threshold of 2 ms.
_HELD_MIN_MS: Final = 3.0
_WASTED_SEGMENTS_MIN: Final = 3
_AT_ONCE_MS: Final = 2.0


def _named(detector: str) -> Callable[[Scene], Truth]:
    def judge(scene: Scene) -> Truth:
        if detector == RESTART and "verdict" not in scene.sidecar:
            return ANYWHERE
        if detector != RESTART and "--more-forget" in scene.server_args:
            return ANYWHERE
        stalls = [stall for stall in truth_of(scene.capture) if stall.detector == detector]
        must = tuple(_place(stall) for stall in stalls if stall.required)
        may = tuple(_place(stall) for stall in stalls if not stall.required)
        if detector == RESTART:
            may += tuple(Place(flow.client_port) for flow in scene.flows if has_zero_window(flow))
        elif runs_nagle(scene.capture):
            # Holds under 3 ms are in no list; the table of ``truth.table`` judges their size.
            may += tuple(Place(flow.client_port) for flow in scene.flows)
        return Truth.at(must, may)

    return judge


def _place(stall: Stall) -> Place:
    return Place(stall.client_port, None, stall.first_frame, stall.released_frame)


def _by_cause(cause: str, *, is_delayed: bool) -> Callable[[Scene], Truth]:
    def judge(scene: Scene) -> Truth:
        stalls = [stall for stall in truth_of(scene.capture) if stall.cause in {None, cause}]
        middle = [stall for stall in stalls if stall.detector == MIDDLE[is_delayed] and stall.required]
        pieces = in_pieces(scene)
        must = [exchange for exchange, apart_ms in pieces if _is_held(scene, apart_ms, is_delayed=is_delayed)]
        may = [exchange for exchange, _ in pieces if exchange not in must]
        places = tuple(_place(stall) for stall in stalls) + of_exchanges(may)
        if runs_nagle(scene.capture) and not _lists_all(scene):
            places += tuple(Place(flow.client_port) for flow in scene.flows)
        return Truth.at((*of_exchanges(must), *(_place(stall) for stall in middle)), places)

    return judge


def _is_held(scene: Scene, apart_ms: float, *, is_delayed: bool) -> bool:
    """Return whether the client's Nagle algorithm held a part of a request, until a delayed or ordinary ACK."""
    if not runs_nagle_in_client(scene) or apart_ms - 2 * own_pause_ms(scene) < _HELD_MIN_MS:
        return False
    return (apart_ms >= scene.rtt_ms + _DELAYED_ACK_MIN_MS) == is_delayed


def _lists_all(scene: Scene) -> bool:
    """Return whether the sidecar lists all gaps and holds that it counts."""
    gaps = scene.sidecar["observed"].get("gaps", {}).values()
    held = scene.sidecar.get("server_truth_holds") or {"count_by_cause": {}, "list": []}
    has_all = sum(held["count_by_cause"].values()) == len(held["list"])
    return has_all and all(gap.get("count", 0) == len(gap.get("list", [])) for gap in gaps)


def _cork_timeout(scene: Scene) -> Truth:
    if not {"--cork-forget", "--more-forget"} & set(scene.server_args):
        return NOWHERE
    whole, tails = [], []
    for exchange in scene.exchanges:
        if exchange.response is None:
            continue
        pauses = _pauses_ms(exchange.response)
        (tails if any(pause >= _CORK_MIN_MS for pause in pauses) else whole).append(exchange)
    return Truth.at(of_exchanges(tails), of_exchanges(whole))


def _pauses_ms(message: Message) -> list[float]:
    return [(b.time_ns - a.time_ns) / 1e6 for a, b in itertools.pairwise(message.packets)]


def initial_window(scene: Scene) -> int | None:
    """Return segments of the server's initial window by its configuration; None if unknown."""
    words = str((scene.sidecar.get("kernel") or {}).get("route_server") or "").split()
    if "initcwnd" in words:
        return int(words[words.index("initcwnd") + 1])
    if scene.is_lwip and scene.sidecar.get("server", {}).get("software", "").lower().startswith("lwip"):
        return 2
    return 10 if (scene.sidecar.get("kernel") or {}).get("sysctl_server") else None


def _delayed_ack_first(scene: Scene) -> Truth:
    window = initial_window(scene)
    if window is None:
        return ANYWHERE
    if window > 2:
        return NOWHERE
    hit = [flow for flow in scene.flows if _second_segment_waited(scene, flow)]
    places = of_exchanges(scene.of_flow(flow)[0] for flow in hit)
    return Truth.at(places) if window == 1 else Truth(may=places)


def _second_segment_waited(scene: Scene, flow: Flow) -> bool:
    data = flow.data(by_client=False)
    later = [packet for packet in data if packet.seq >= data[0].end] if data else []
    if not later:
        return False
    return (later[0].time_ns - data[0].time_ns) / 1e6 > scene.rtt_ms + _DELAYED_ACK_MIN_MS


def _unfilled(scene: Scene) -> Truth:
    must, may = [], []
    for flow in scene.flows:
        full = flow.segment_bytes
        if any(packet.payload_bytes > full for packet in flow.data(by_client=False)):
            continue
        for exchange in scene.of_flow(flow):
            if exchange.response is None:
                continue
            needed = -(-exchange.response.wire_bytes // full)
            wasted = _followed_at_once(exchange.response, full)
            if wasted >= max(_WASTED_SEGMENTS_MIN, needed):
                must.append(exchange)
            elif len(exchange.response.packets) > needed:
                may.append(exchange)
    return Truth.at(of_exchanges(must), of_exchanges(may))


def _followed_at_once(message: Message, full: int) -> int:
    """Return short segments followed at once by more data, which would have filled them."""
    pairs = itertools.pairwise(message.packets)
    return sum(a.payload_bytes < full and (b.time_ns - a.time_ns) / 1e6 <= _AT_ONCE_MS for a, b in pairs)


RULES: Final = {
    SHORT_INITIAL: Rule(_named(SHORT_INITIAL)),
    SHORT_FINAL: Rule(_named(SHORT_FINAL)),
    RESTART: Rule(_named(RESTART)),
    "nagle-delayed-ack": Rule(
        _by_cause("stall.nagle_delayed_ack", is_delayed=True),
        opinion="a stall that has a name of its own may have this one too",
    ),
    "nagle-hold": Rule(_by_cause("stall.nagle_hold", is_delayed=False), opinion="as nagle-delayed-ack"),
    "cork-timeout": Rule(_cork_timeout, opinion="a response that was held whole looks like a slow server"),
    "delayed-ack-first-segment": Rule(_delayed_ack_first),
    "unfilled-segments": Rule(_unfilled, costs=False, opinion="three wasted segments, and half of all"),
}

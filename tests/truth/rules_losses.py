"""Rules for losses, retransmissions, reordering and aborted responses.

The losses are known exactly: the emulator logs every dropped packet with its sequence number. The sender's
reaction is read from the complete capture at its own end.

``tail-loss``
    Required in its transaction: a dropped data segment after which no other segment of its flight arrived
    before its retransmission. No duplicate ACK could report such a loss. A flight ends when its sender
    neither sends nor receives for an RTT plus 10 ms. The next segment is a probe (RFC 8985, section 7.3: new
    data if available, a single segment), or new data. Permitted: several segments of new data, which report
    the loss like later data of a flight. Permitted also: no such silence before the retransmission. No timer
    was involved then: other segments of the flight had started a recovery (RACK; RFC 8985, section 6). (An
    earlier form required these cases.)
``retransmission-timeout``
    Required: a dropped data segment with later arrivals, retransmitted after at least 190 ms (Linux's minimum
    RTO is 200 ms). Meanwhile its sender neither sent data nor received a packet. Permitted: a tail loss.
    Permitted also: any place, if the kernel's counters have timeouts that this rule does not find. (An
    earlier form counted only data sent before. A wait for a SACK then counted as a timeout, although the
    kernels counted none. A probe had elicited that SACK, or it was queued.)
``spurious-retransmission``
    Required at either end: data that its receiver already had, by the capture at that end. Without that
    capture, the kernel's D-SACK counters permit findings anywhere. Keep-alive probes (at most one byte before
    the next number) do not count. Permitted: a flow whose client sometimes had no room and may have discarded
    data. Permitted also: a sender with one or two cases, each with its last segment, at least 10 ms after it.
    These are tail-loss probes, sent on suspicion (RFC 8985, section 7). (An earlier form required these
    cases.)
``reordering``
    Required: new data that arrived after later data, without a dropped copy. The original was overtaken,
    whether retransmitted meanwhile or not. Without the emulator's log, only data sent once counts. Wrong:
    packets without reordering.
``reset-in-response``, ``truncated-response``
    Evidence: packets. Required: an incomplete response of known length. With an RST of either side the first
    name is required and the second permitted. With a FIN of the server the second is required. Wrong: a
    capture that ends before the connection, or has gaps.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .scene import ANYWHERE, Place, Rule, Scene, Truth
from .wire import FIN, RST, SYN, distance, has_zero_window, read_flows

if TYPE_CHECKING:
    from .exchanges import Exchange
    from .wire import Flow, Packet

__all__ = ["RULES"]

#: Linux's TCP_RTO_MIN is 200 ms; its timers have ticks of 4 ms, and the capture is not at the socket.
_TIMEOUT_SILENCE_MS: Final = 190.0
#: A probe is sent two RTTs after the flight, and never sooner than this (RFC 8985, section 7.2).
_FLIGHT_SLACK_MS: Final = 10.0
_KEEP_ALIVE_BYTES: Final = 1
#: This many spurious probes of a sender exceed suspicion.
_PROBES_MANY: Final = 3


@dataclass(frozen=True, slots=True)
class _Loss:
    """Dropped data segment: its flow, the sender's reaction, and the waiting transaction."""

    place: Place
    is_tail: bool
    waited: bool  #: for a timer of the sender
    silence_ms: float


def _ends(scene: Scene) -> tuple[list[Flow] | None, list[Flow] | None]:
    """Return the flows as captured at the client and at the server; None without that capture."""
    folder, sidecar = scene.capture.path.parent, scene.sidecar
    both = [sidecar.get("capture"), sidecar.get("capture_server_side")]
    client, server = (read_flows(folder / name) if name else None for name in both)
    return client, server


def _losses(scene: Scene) -> list[_Loss]:
    client, server = _ends(scene)
    found = []
    for drop in scene.drops:
        if not drop.get("payload"):
            continue
        by_client = drop["dir"] == "up"
        flows = client if by_client else server
        port = drop["sport"] if by_client else drop["dport"]
        flow = next((flow for flow in flows or [] if flow.client_port == port), None)
        if flow is not None and (loss := _loss(scene, flow, drop, by_client=by_client)):
            found.append(loss)
    return found


def _loss(scene: Scene, flow: Flow, drop: dict, *, by_client: bool) -> _Loss | None:
    seq = distance(drop["seq_raw"], flow.initial[by_client])
    data = flow.data(by_client=by_client)
    # The emulator stamps the drop after the packet left the sender's capture.
    before = [p for p in data if p.seq <= seq < p.end and p.time_ns <= drop["t"] * 1e9 + 1e6]
    after = [p for p in data if p.seq <= seq < p.end and p.frame > (before[-1].frame if before else 0)]
    if not before or not after:
        return None
    lost, again = before[-1], after[0]
    gone = _dropped_numbers(scene, flow, by_client=by_client)
    # For a repeatedly lost packet, the first flight already reported the loss.
    ended = _flight_ended(scene, flow, before[0], by_client=by_client)
    same_flight = [p for p in data if before[0].frame < p.frame < min(again.frame, ended)]
    behind = [p for p in same_flight if p.seq >= lost.end and p.seq not in gone]
    place = Place(flow.client_port, _transaction_at(scene, flow, seq, by_client=by_client))
    waited = ended == again.frame or (ended < again.frame and _is_alone(flow, ended, by_client=by_client))
    return _Loss(place, not behind, waited, _silence_ms(flow, again, by_client=by_client))


def _silence_ms(flow: Flow, packet: Packet, *, by_client: bool) -> float:
    """Return how long the sender of a packet had neither sent data nor received a packet."""
    before = [
        p.time_ns
        for p in flow.packets
        if p.frame < packet.frame and (p.payload_bytes or p.from_client != by_client)
    ]
    return (packet.time_ns - max(before)) / 1e6 if before else 0.0


def _flight_ended(scene: Scene, flow: Flow, lost: Packet, *, by_client: bool) -> float:
    """Return the frame of the first data in a later flight than ``lost``."""
    limit_ms = scene.rtt_ms + _FLIGHT_SLACK_MS
    later = (p for p in flow.data(by_client=by_client) if p.frame > lost.frame)
    return next((p.frame for p in later if _silence_ms(flow, p, by_client=by_client) >= limit_ms), math.inf)


def _is_alone(flow: Flow, frame: float, *, by_client: bool) -> bool:
    """Return whether the sender received a packet before it sent further data: a probe is one segment."""
    behind = next((p for p in flow.packets if p.frame > frame), None)
    return behind is None or behind.from_client != by_client


def _dropped_numbers(scene: Scene, flow: Flow, *, by_client: bool) -> set[int]:
    port, way = ("sport", "up") if by_client else ("dport", "down")
    drops = [drop for drop in scene.drops if drop["dir"] == way and drop[port] == flow.client_port]
    return {distance(drop["seq_raw"], flow.initial[by_client]) for drop in drops}


def _transaction_at(scene: Scene, flow: Flow, seq: int, *, by_client: bool) -> int | None:
    """Return the transaction whose request or response has this byte."""
    for exchange in scene.exchanges:
        message = exchange.request if by_client else exchange.response
        same = exchange.client_port == flow.client_port
        if same and message is not None and message.start <= seq - 1 < message.end:
            return exchange.index
    return None


def _tail(scene: Scene) -> Truth:
    tails = [loss for loss in _losses(scene) if loss.is_tail]
    must = dict.fromkeys(loss.place for loss in tails if loss.waited)
    return Truth.at(must, dict.fromkeys(loss.place for loss in tails if loss.place not in must))


def _timeout(scene: Scene) -> Truth:
    losses = _losses(scene)
    must = {loss.place for loss in losses if not loss.is_tail and loss.silence_ms >= _TIMEOUT_SILENCE_MS}
    may = {loss.place for loss in losses if loss.is_tail}
    counted = scene.counter("server", "TCPTimeouts") + scene.counter("client", "TCPTimeouts")
    if counted > len(must) + len(may):
        return Truth.at(_sorted(must), (Place(),))
    return Truth.at(_sorted(must), _sorted(may))


def _sorted(places: set[Place]) -> list[Place]:
    return sorted(places, key=str)


def _spurious(scene: Scene) -> Truth:
    client, server = _ends(scene)
    full = {flow.client_port for flow in scene.flows if has_zero_window(flow)}
    places, certain = set(), set()
    for flows, by_client in ((client, False), (server, True)):
        for flow in flows or []:
            needless = _needless(flow, by_client=by_client)
            of_flow = {
                Place(flow.client_port, _transaction_at(scene, flow, packet.seq, by_client=by_client))
                for packet in needless
            }
            places |= of_flow
            ends = (flow, _of_port(client if by_client else server, flow.client_port))
            probes = [packet for packet in needless if _may_be_probe(ends, packet, by_client=by_client)]
            are_probes = len(probes) == len(needless) < _PROBES_MANY
            if flow.client_port not in full and not are_probes:
                certain |= of_flow
    unseen = server is None and any(scene.counter("client", f"TCPDSACK{word}Recv") for word in ("", "Ofo"))
    return Truth.at(_sorted(certain), (Place(),) if unseen else _sorted(places - certain))


def _needless(flow: Flow, *, by_client: bool) -> list[Packet]:
    """Return retransmissions of data that the receiver already had, from the receiver's capture."""
    had: list[tuple[int, int]] = []
    found = []
    for packet in flow.data(by_client=by_client):
        is_probe = packet.payload_bytes <= _KEEP_ALIVE_BYTES
        if any(start <= packet.seq and packet.end <= end for start, end in had) and not is_probe:
            found.append(packet)
        had = _with(had, packet.seq, packet.end)
    return found


def _of_port(flows: list[Flow] | None, port: int) -> Flow | None:
    return next((flow for flow in flows or [] if flow.client_port == port), None)


def _may_be_probe(ends: tuple[Flow, Flow | None], copy: Packet, *, by_client: bool) -> bool:
    """Return whether a packet looks like a probe: repeated, with no later data, after a probe's delay.

    ``ends`` are its flow at the receiver and at the sender; without them the result is unknown.
    """
    receiver, sender = ends
    if sender is None:
        return False
    before = (p for p in receiver.data(by_client=by_client) if p.frame < copy.frame)
    sent = [p.time_ns for p in sender.data(by_client=by_client) if p.seq <= copy.seq < p.end]
    waited = any(later - time >= _FLIGHT_SLACK_MS * 1e6 for time, later in itertools.pairwise(sent))
    return waited and all(packet.end <= copy.end for packet in before)


def _with(ranges: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    touching = [r for r in ranges if r[0] <= end and start <= r[1]]
    others = [r for r in ranges if r not in touching]
    return [*others, (min([start, *(r[0] for r in touching)]), max([end, *(r[1] for r in touching)]))]


def _reordering(scene: Scene) -> Truth:
    client, server = _ends(scene)
    has_log = scene.sidecar.get("emulator") is not None
    places = set()
    for flows, by_client in ((client, False), (server, True)):
        sender = {flow.client_port: flow for flow in (server if not by_client else client) or []}
        for flow in flows or []:
            gone = _dropped_numbers(scene, flow, by_client=by_client)
            for packet in _overtaken(flow, by_client=by_client):
                origin = sender.get(flow.client_port)
                twice = (
                    origin is not None and sum(p.seq == packet.seq for p in origin.data(by_client=by_client)) > 1
                )
                if packet.seq not in gone and (has_log or not twice):
                    index = _transaction_at(scene, flow, packet.seq, by_client=by_client)
                    places.add(Place(flow.client_port, index))
    return Truth.at(_sorted(places))


def _overtaken(flow: Flow, *, by_client: bool) -> list[Packet]:
    highest, had, found = 0, set(), []
    for packet in flow.data(by_client=by_client):
        if packet.seq < highest and packet.seq not in had:
            found.append(packet)
        had.add(packet.seq)
        highest = max(highest, packet.end)
    return found


def _ended(scene: Scene, exchange: Exchange) -> tuple[bool, bool]:
    """Return whether the flow had an RST of either side, and a FIN of the server."""
    packets = scene.flow_of(exchange).packets
    reset = any(p.has(RST) for p in packets)
    return reset, any(p.has(FIN) and not p.from_client for p in packets)


def _unfinished(scene: Scene) -> list[Exchange]:
    return [
        exchange
        for exchange in scene.exchanges
        if exchange.response is not None
        and not exchange.response.lasts_until_close
        and not exchange.response.is_complete
        and not has_gap(scene.flow_of(exchange))
    ]


def has_gap(flow: Flow) -> bool:
    """Return whether bytes were acknowledged that the capture lacks."""
    for by_client in (True, False):
        had: list[tuple[int, int]] = [(0, 1)]
        for packet in flow.sent(by_client=by_client):
            had = _with(had, packet.seq, packet.end + packet.has(SYN) + packet.has(FIN))
        acked = max((p.ack for p in flow.sent(by_client=not by_client) if not p.has(RST)), default=0)
        reached = next((end for start, end in had if start <= 0), 0)
        if flow.sent(by_client=by_client) and acked > reached + 1:
            return True
    return False


def _reset_in_response(scene: Scene) -> Truth:
    hit = [e for e in _unfinished(scene) if _ended(scene, e)[0]]
    return Truth.at(Place(e.client_port, e.index) for e in hit)


def _truncated(scene: Scene) -> Truth:
    must, may = [], []
    for exchange in _unfinished(scene):
        reset, finished = _ended(scene, exchange)
        if reset or finished:
            (may if reset else must).append(Place(exchange.client_port, exchange.index))
    return Truth.at(must, may)


def _or_unknown(judge):
    """Permit findings: without the end's capture or the emulator's log, a loss is undecidable."""

    def judged(scene: Scene) -> Truth:
        known = scene.disturbances == [] or scene.sidecar.get("capture_server_side")
        return judge(scene) if known else ANYWHERE

    return judged


RULES: Final = {
    "tail-loss": Rule(_or_unknown(_tail)),
    "retransmission-timeout": Rule(_or_unknown(_timeout)),
    "spurious-retransmission": Rule(_spurious, costs=False),
    "reordering": Rule(_or_unknown(_reordering), costs=False),
    "reset-in-response": Rule(_reset_in_response, costs=False, opinion="it is a truncated response, too"),
    "truncated-response": Rule(_truncated, costs=False),
}

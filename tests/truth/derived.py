"""Captures edited from others, with a truth known by construction.

Each edit takes a capture of one of the folders, changes packets, and states the resulting truth. The
originals are complete captures: only the edit's packets are missing. The captures are not committed, because
making them takes seconds. The name of the capture alone selects flow, transaction and packets.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import dpkt

from .exchanges import Exchange, exchanges_of
from .kernel_truth import Capture, captures_of
from .wire import ACK, FIN, RST, SYN, Flow, Packet, read_flows, records_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["EDITS", "Source", "write_derived"]

Record = tuple[int, bytes]

#: Number of originals per edit.
_OF_EACH: Final = 6
_ETHERNET: Final = 1
_NANOSECOND_PCAP: Final = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, _ETHERNET)
_MILLISECOND: Final = 1_000_000
_SNAP_BYTES: Final = 96
#: Longer than any delayed ACK, shorter than Linux's minimum RTO.
_THINK_NS: Final = 150 * _MILLISECOND
_SHUT_NS: Final = 400 * _MILLISECOND
#: Apache's default KeepAliveTimeout, the shortest of common servers.
_IDLE_NS: Final = 5000 * _MILLISECOND
#: Servers with waits of their own.
_WAITING: Final = {"--think-ms", "--gap-ms", "--chunk-gap-ms", "--cork-forget", "--more-forget"}
_QUALITY: Final = (
    "capture-gap",
    "one-sided-capture",
    "segmentation-offload",
    "truncated-payload",
    "mid-stream-start",
)
_LOSSES: Final = ("tail-loss", "retransmission-timeout", "spurious-retransmission", "reordering")
_ENDS: Final = ("reset-in-response", "truncated-response", "lost-pipelined-requests", "idle-timeout-race")


@dataclass(frozen=True, slots=True)
class Source:
    """Original: its records, flows and exchanges, and a number derived from its name."""

    capture: Capture
    records: list[Record]
    flows: list[Flow]
    exchanges: list[Exchange]
    number: int

    def choose(self, candidates: list[Any]) -> Any:
        return candidates[self.number % len(candidates)]

    def flow_of(self, exchange: Exchange) -> Flow:
        return next(flow for flow in self.flows if flow.client_port == exchange.client_port)


@dataclass(frozen=True, slots=True)
class Made:
    """Result of an edit: records in order, and the truth about them."""

    records: list[Record]
    detector: str
    must: list[dict[str, int]]  #: each to be found
    may: tuple[str, ...] = ()  #: detectors that may find something, anywhere
    none: tuple[str, ...] = ()  #: detectors that must find nothing


def write_derived(folders: Iterable[Path], output: Path) -> list[str]:
    """Write captures with sidecars into ``output``; return their names."""
    sources = [source for folder in folders for source in _sources(folder)]
    names = []
    for edit_name, edit in EDITS.items():
        made_of_it = 0
        for source in sorted(sources, key=lambda each: zlib.crc32((edit_name + each.capture.name).encode())):
            made = edit(source)
            if made is not None and made_of_it < _OF_EACH:
                made_of_it += 1
                names.append(f"{edit_name}_of_{source.capture.name}")
                _write(output, names[-1], source, made)
    return names


def _sources(folder: Path) -> Iterable[Source]:
    for capture in captures_of(folder):
        if not _is_clean(capture):
            continue
        if capture.path.suffix != ".pcap" or capture.sidecar.get("link", {}).get("kind") != "tap":
            continue
        read = list(records_of(capture.path))
        if read and read[0][1] == _ETHERNET:
            flows = read_flows(capture.path)
            exchanges = [exchange for flow in flows for exchange in exchanges_of(flow)]
            records = [(time, data) for time, _, data in read]
            yield Source(capture, records, flows, exchanges, zlib.crc32(capture.name.encode()))


def _is_clean(capture: Capture) -> bool:
    """Return whether the original has no losses, holds and retransmissions besides the edit's."""
    sidecar = capture.sidecar
    counters = (sidecar.get("mib_counters") or {}).values()
    return not (
        (sidecar.get("emulator") or {}).get("drops")
        or sidecar.get("truth")
        or sidecar.get("link", {}).get("env")
        or any(end.get("RetransSegs") for end in counters)
        or "zero-window" in sidecar.get("intended", [])
    )


def _write(folder: Path, name: str, source: Source, made: Made) -> None:
    judged = dict.fromkeys((made.detector, *made.may, *made.none))
    truth: dict[str, Any] = {detector: {"must": [], "may": []} for detector in judged}
    truth[made.detector]["must"] = [[place] for place in made.must]
    for detector in made.may:
        truth[detector]["may"] = [{}]
    sidecar = {
        "name": name,
        "capture": f"{name}.pcap",
        "port": source.capture.sidecar["port"],
        "observed": {},
        "note": f"made of {source.capture.name}",
        "truth": truth,
        "judged": list(judged),
    }
    (folder / f"{name}.json").write_text(json.dumps(sidecar))
    records = [
        struct.pack("<IIII", time // 10**9, time % 10**9, len(data), max(len(data), _wire_bytes(data))) + data
        for time, data in made.records
    ]
    (folder / f"{name}.pcap").write_bytes(_NANOSECOND_PCAP + b"".join(records))


def _wire_bytes(data: bytes) -> int:
    """Return the frame's length by its IP header, even if the frame is truncated."""
    return 14 + int.from_bytes(data[16:18], "big")


# --- parts of the edits -------------------------------------------------------------------------------


def _without(source: Source, frames: set[int]) -> list[Record]:
    return [record for frame, record in enumerate(source.records, start=1) if frame not in frames]


def _with(source: Source, frame: int, extra: list[Record]) -> list[Record]:
    """Return the records with additional records after a frame."""
    return [*source.records[:frame], *extra, *source.records[frame:]]


def _shifted(records: list[Record], by_ns: int) -> list[Record]:
    return [(time + by_ns, data) for time, data in records]


def _clocks_go_on(records: list[Record], by_ns: int) -> list[Record]:
    """Return the records later, with both ends' timestamps shifted.

    Unshifted timestamps would show packets sent in time that waited in a queue.
    """
    ticks = by_ns // _MILLISECOND
    first: dict[bytes, int] = {}
    edited = []
    for time, data in records:

        def later(ip: Any, tcp: Any) -> None:
            at = _timestamps_at(tcp.opts)
            if at is None:
                return
            value, echo = struct.unpack_from("!II", tcp.opts, at)
            first.setdefault(ip.src, value)
            # Timestamps from before the pause are echoed unchanged.
            is_after = ip.dst in first and (echo - first[ip.dst]) & 0x80000000 == 0
            stamps = struct.pack("!II", value + ticks & 0xFFFFFFFF, echo + ticks * is_after & 0xFFFFFFFF)
            tcp.opts = tcp.opts[:at] + stamps + tcp.opts[at + len(stamps) :]

        edited.append((time + by_ns, _edited(data, later)))
    return edited


def _timestamps_at(options: bytes) -> int | None:
    """Return the offset of the two values of the timestamps option (RFC 7323, section 3.2)."""
    at = 0
    while at < len(options) and options[at] != dpkt.tcp.TCP_OPT_EOL:
        if options[at] == dpkt.tcp.TCP_OPT_TIMESTAMP:
            return at + 2
        at += 1 if options[at] == dpkt.tcp.TCP_OPT_NOP else options[at + 1]
    return None


def _crafted(source: Source, like: Packet, flags: int, *, seq: int | None = None, ack: int | None = None) -> bytes:
    """Return a packet without payload in the direction of ``like``, with numbers relative to ``like``'s."""
    frame = dpkt.ethernet.Ethernet(source.records[like.frame - 1][1])
    ip = frame.data
    tcp = ip.data
    tcp.seq = tcp.seq + ((like.end if seq is None else seq) - like.seq) & 0xFFFFFFFF
    tcp.ack = tcp.ack + ((like.ack if ack is None else ack) - like.ack) & 0xFFFFFFFF
    tcp.flags, tcp.data, tcp.opts, tcp.off = flags, b"", b"", 5
    ip.len, ip.id = 40, ip.id + 1000 & 0xFFFF
    ip.sum = tcp.sum = 0
    return bytes(frame)


def _edited(data: bytes, change: Callable[[Any, Any], None]) -> bytes:
    frame = dpkt.ethernet.Ethernet(data)
    change(frame.data, frame.data.data)
    frame.data.sum = frame.data.data.sum = 0
    return bytes(frame)


def _long(source: Source, segments: int) -> list[Exchange]:
    """Return exchanges with this many response segments, each captured once."""
    return [
        exchange
        for exchange in source.exchanges
        if exchange.request and exchange.response and len(exchange.response.packets) >= segments
    ]


def _place(exchange: Exchange) -> dict[str, int]:
    return {"client_port": exchange.client_port, "transaction": exchange.index}


def _after(flow: Flow, frame: int) -> set[int]:
    return {packet.frame for packet in flow.packets if packet.frame > frame}


def _is_at_client(source: Source) -> bool:
    return not source.capture.at_server


# --- quality ------------------------------------------------------------------------------------------


def _one_side(source: Source, *, by_client: bool) -> Made:
    frames = {p.frame for flow in source.flows for p in flow.packets if p.from_client != by_client}
    ports = [{"client_port": flow.client_port} for flow in source.flows]
    none = ("segmentation-offload", "truncated-payload", "mid-stream-start", *_LOSSES[2:])
    return Made(_without(source, frames), "one-sided-capture", ports, ("capture-gap",), none)


def _no_handshake(source: Source) -> Made:
    frames = {p.frame for flow in source.flows for p in flow.packets[:3]}
    return _mid_stream(source, frames)


def _second_half(source: Source) -> Made | None:
    frames = set(range(1, len(source.records) // 2))
    return _mid_stream(source, frames)


def _mid_stream(source: Source, frames: set[int]) -> Made:
    rest = [(flow, [p for p in flow.packets if p.frame not in frames]) for flow in source.flows]
    joined = [
        {"client_port": flow.client_port}
        for flow, packets in rest
        if any(p.payload_bytes for p in packets) and not any(p.has(SYN) for p in packets)
    ]
    none = ("capture-gap", "one-sided-capture", "segmentation-offload", "truncated-payload", *_LOSSES[2:])
    return Made(_without(source, frames), "mid-stream-start", joined, (), none)


def _lost_by_capture(source: Source) -> Made | None:
    """Remove three data segments of a response that the client acknowledged."""
    if not (candidates := _long(source, 5)):
        return None
    exchange = source.choose(candidates)
    frames = {packet.frame for packet in exchange.response.packets[1:4]}
    none = ("one-sided-capture", "truncated-payload", "mid-stream-start", *_LOSSES, *_ENDS)
    return Made(_without(source, frames), "capture-gap", [{"client_port": exchange.client_port}], (), none)


def _request_not_captured(source: Source) -> Made | None:
    candidates = [e for e in _long(source, 1) if e.index and len(e.request.packets) == 1]
    if not candidates:
        return None
    exchange = source.choose(candidates)
    none = ("one-sided-capture", "truncated-payload", "mid-stream-start", *_LOSSES)
    place = {"client_port": exchange.client_port}
    return Made(_without(source, {exchange.request.first.frame}), "capture-gap", [place], (), none)


def _cut_short(source: Source) -> Made | None:
    if not _long(source, 2):
        return None
    records = [(time, data[:_SNAP_BYTES]) for time, data in source.records]
    none = ("capture-gap", "one-sided-capture", "mid-stream-start", *_LOSSES, *_ENDS)
    return Made(records, "truncated-payload", [{}], (), none)


def _merged(source: Source) -> Made | None:
    """Merge two consecutive full segments of the server into one packet, as receive offload does."""
    pairs = [
        (a, b)
        for exchange in _long(source, 3)
        for a, b in zip(exchange.response.packets, exchange.response.packets[1:], strict=False)
        if b.frame == a.frame + 1 and a.end == b.seq and a.payload_bytes > 1000
    ]
    if not pairs:
        return None
    first, second = source.choose(pairs)

    def longer(ip: Any, tcp: Any) -> None:
        tcp.data = bytes(tcp.data)[: first.payload_bytes] + second.payload
        ip.len += second.payload_bytes

    time, data = source.records[first.frame - 1]
    records = [*source.records[: first.frame - 1], (time, _edited(data, longer)), *source.records[second.frame :]]
    none = ("capture-gap", "one-sided-capture", "truncated-payload", "mid-stream-start", *_LOSSES)
    return Made(records, "segmentation-offload", [{}], (), none)


# --- losses and ends ----------------------------------------------------------------------------------


def _overtaken(source: Source) -> Made | None:
    """Move a data segment after the two segments sent after it."""
    if not _is_at_client(source):
        return None
    runs = [
        (exchange, packets)
        for exchange in _long(source, 5)
        for packets in zip(*(exchange.response.packets[at:] for at in (1, 2, 3)), strict=False)
        if packets[2].frame == packets[0].frame + 2
    ]
    if not runs:
        return None
    exchange, (first, second, third) = source.choose(runs)
    swapped = list(source.records)
    order = (second, third, first)
    for at, packet in zip((first, second, third), order, strict=True):
        swapped[at.frame - 1] = (source.records[at.frame - 1][0], source.records[packet.frame - 1][1])
    none = (*_QUALITY, "tail-loss", "retransmission-timeout", "spurious-retransmission", *_ENDS)
    return Made(swapped, "reordering", [_place(exchange)], (), none)


def _sent_needlessly(source: Source) -> Made | None:
    """Repeat a data segment just after its ACK."""
    if not _is_at_client(source) or not (candidates := _long(source, 3)):
        return None
    exchange = source.choose(candidates)
    packet = exchange.response.packets[1]
    acks = [p for p in source.flow_of(exchange).sent(by_client=True) if p.ack >= packet.end]
    if not acks:
        return None

    def another(ip: Any, _: Any) -> None:
        ip.id = ip.id + 1000 & 0xFFFF

    copy = _edited(source.records[packet.frame - 1][1], another)
    records = _with(source, acks[0].frame, [(acks[0].time_ns + 1000, copy)])
    none = (*_QUALITY, "tail-loss", "reordering", *_ENDS)
    return Made(records, "spurious-retransmission", [_place(exchange)], (), none)


def _syn_again(source: Source) -> Made | None:
    if not _is_at_client(source):
        return None
    first = source.flows[0].packets[0]
    time, data = source.records[first.frame - 1]
    place = {"client_port": source.flows[0].client_port}
    records = [(time - 1000 * _MILLISECOND, data), *source.records]
    return Made(records, "syn-retransmission", [place], (), (*_QUALITY, "refused-connection", *_ENDS))


def _refused(source: Source) -> Made | None:
    """Keep only the SYN of the last flow, and answer it with an RST."""
    flow = source.flows[-1]
    if not flow.packets[0].has(SYN) or not flow.packets[1].has(SYN):
        return None
    answer = flow.packets[1]
    reset = (answer.time_ns, _crafted(source, answer, RST | ACK, seq=-flow.initial[False]))
    gone = {packet.frame for packet in flow.packets[2:]}
    records = [reset if f == answer.frame else r for f, r in enumerate(source.records, 1) if f not in gone]
    none = ("capture-gap", "mid-stream-start", "truncated-payload", "syn-retransmission", *_ENDS)
    return Made(records, "refused-connection", [{"client_port": flow.client_port}], (), none)


def _ended_inside(source: Source, *, flags: int, detector: str, may: tuple[str, ...]) -> Made | None:
    """End the connection from the server in the middle of a response."""
    candidates = [e for e in _long(source, 4) if "content-length" in e.response.fields]
    candidates = [e for e in candidates if not _is_followed(source, e)]
    if not candidates or not _is_at_client(source):
        return None
    exchange = source.choose(candidates)
    flow = source.flow_of(exchange)
    last = exchange.response.packets[2]
    end = (last.time_ns + _MILLISECOND, _crafted(source, last, flags))
    gone = _after(flow, last.frame)
    records = sorted([*_without(source, gone), end], key=lambda record: record[0])
    none = tuple(name for name in (*_ENDS, *_QUALITY) if name not in {detector, *may})
    return Made(records, detector, [_place(exchange)], may, none)


def _is_followed(source: Source, exchange: Exchange) -> bool:
    """Return whether the next request was already sent, and would be lost, too."""
    return any(
        other.client_port == exchange.client_port
        and other.index > exchange.index
        and other.request is not None
        and other.request.first.frame < exchange.response.last.frame
        for other in source.exchanges
    )


def _race(source: Source) -> Made | None:
    """Make the connection idle for five seconds, until the server closes it as the client sends a request."""
    candidates = [e for e in _long(source, 1) if e.index and len(e.request.packets) == 1]
    if not candidates or not _is_at_client(source):
        return None
    exchange = source.choose(candidates)
    flow, request = source.flow_of(exchange), exchange.request.first
    before = [p for p in flow.sent(by_client=False) if p.frame < request.frame][-1]
    path_ns = round((flow.handshake_ms() or 0.0) * 1e6)
    closing = (request.time_ns + path_ns // 3 + 1000, _crafted(source, before, FIN | ACK, ack=request.seq))
    reset_ns = request.time_ns + path_ns + 2000
    reset = (reset_ns, _crafted(source, before, RST, seq=before.end + 1, ack=request.seq))
    after = _after(flow, request.frame)
    before_it = [r for frame, r in enumerate(source.records[: request.frame - 1], start=1) if frame not in after]
    rest = [r for frame, r in enumerate(source.records, start=1) if frame >= request.frame and frame not in after]
    later = sorted([*rest, closing, reset], key=lambda record: record[0])
    records = [*before_it, *_shifted(later, _IDLE_NS)]
    none = ("reset-in-response", "truncated-response", "lost-pipelined-requests", *_QUALITY)
    return Made(records, "idle-timeout-race", [{"client_port": exchange.client_port}], (), none)


def _pipeline_lost(source: Source) -> Made | None:
    """Close from the server after the second of several pipelined responses."""
    piped = [
        exchange
        for exchange, later in zip(source.exchanges, source.exchanges[3:], strict=False)
        if later.client_port == exchange.client_port
        and exchange.response
        and later.request
        and later.request.last.frame < exchange.response.first.frame
    ]
    if not piped:
        return None
    exchange = piped[0]
    flow, last = source.flow_of(exchange), exchange.response.last
    closing = (last.time_ns + 1000, _crafted(source, last, FIN | ACK))
    reset = (last.time_ns + 2 * _MILLISECOND, _crafted(source, last, RST, seq=last.end + 1))
    records = sorted([*_without(source, _after(flow, last.frame)), closing, reset], key=lambda record: record[0])
    # The last packet may contain the beginning of the next response.
    may = ("truncated-response", "reset-in-response")
    place = {"client_port": exchange.client_port}
    return Made(records, "lost-pipelined-requests", [place], may, ("capture-gap", "mid-stream-start"))


# --- time ---------------------------------------------------------------------------------------------


def _thinking(source: Source) -> Made | None:
    """Add 150 ms of server time to one response; all later packets are delayed."""
    candidates = [e for e in _long(source, 1) if e.index and not _is_followed(source, e)]
    args = set(source.capture.sidecar.get("server", {}).get("args") or ())
    if len(source.flows) != 1 or not candidates or not args or args & _WAITING:
        return None
    exchange = source.choose(candidates)
    at = exchange.response.first.frame - 1
    records = [*source.records[:at], *_clocks_go_on(source.records[at:], _THINK_NS)]
    none = ("cork-timeout", "zero-window", "head-of-line-blocking", "expect-continue-wait", *_LOSSES, *_QUALITY)
    return Made(records, "slow-server", [_place(exchange)], (), none)


def _shut_window(source: Source) -> Made | None:
    """Close the client's window after all data, and open it 400 ms later."""
    candidates = [
        (exchange, ack)
        for exchange in _long(source, 5)
        for ack in source.flow_of(exchange).sent(by_client=True)
        if not ack.payload_bytes
        and ack.ack in {packet.end for packet in exchange.response.packets[1:-2]}
        and ack.flags == ACK
        and source.flow_of(exchange).packets[-1].frame > ack.frame
    ]
    if not _is_at_client(source) or len(source.flows) != 1 or not candidates:
        return None
    exchange, ack = source.choose(candidates)
    time, data = source.records[ack.frame - 1]

    def shut(ip: Any, tcp: Any) -> None:
        tcp.win = 0
        ip.id = ip.id - 1 & 0xFFFF

    at = ack.frame - 1
    records = [*source.records[:at], (time, _edited(data, shut)), *_shifted(source.records[at:], _SHUT_NS)]
    none = ("slow-server", "truncated-response", "reset-in-response", *_LOSSES, *_QUALITY)
    return Made(records, "zero-window", [{"client_port": exchange.client_port}], (), none)


def _few_acks(source: Source) -> Made | None:
    """Keep every fourth of the client's pure ACKs: the server lost no time by that."""
    if not _is_at_client(source) or len(source.flows) != 1:
        return None
    flow = source.flows[0]
    acks = [p for p in flow.sent(by_client=True) if p.flags == ACK and not p.payload_bytes][1:]
    if len(acks) < 60 or not _long(source, 40):
        return None
    gone = {ack.frame for number, ack in enumerate(acks) if number % 4 != 3}
    none = (*_QUALITY, *_LOSSES)
    return Made(_without(source, gone), "stretch-ack", [], (), none)


EDITS: Final[dict[str, Callable[[Source], Made | None]]] = {
    "one_side_client": lambda source: _one_side(source, by_client=True),
    "one_side_server": lambda source: _one_side(source, by_client=False),
    "no_handshake": _no_handshake,
    "second_half": _second_half,
    "lost_by_capture": _lost_by_capture,
    "request_not_captured": _request_not_captured,
    "cut_short": _cut_short,
    "merged": _merged,
    "overtaken": _overtaken,
    "sent_needlessly": _sent_needlessly,
    "syn_again": _syn_again,
    "refused": _refused,
    "reset_inside": lambda source: _ended_inside(
        source, flags=RST | ACK, detector="reset-in-response", may=("truncated-response",)
    ),
    "fin_inside": lambda source: _ended_inside(source, flags=FIN | ACK, detector="truncated-response", may=()),
    "race": _race,
    "pipeline_lost": _pipeline_lost,
    "thinking": _thinking,
    "shut_window": _shut_window,
    "few_acks": _few_acks,
}

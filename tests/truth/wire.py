"""TCP packets of a capture by dpkt, grouped into flows: the truth uses no output of the analyser."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import dpkt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["ACK", "FIN", "RST", "SYN", "Flow", "Packet", "distance", "has_zero_window", "read_flows", "records_of"]

FIN, SYN, RST, ACK = dpkt.tcp.TH_FIN, dpkt.tcp.TH_SYN, dpkt.tcp.TH_RST, dpkt.tcp.TH_ACK

# LINKTYPE_ numbers (https://www.tcpdump.org/linktypes.html), and the offset of their packet.
_ETHERNET: Final = 1
_LINK_HEADER_BYTES: Final = {_ETHERNET: 14, 12: 0, 101: 0, 113: 16, 276: 20}
# Byte order and nanoseconds per tick, by magic number.
_PCAP: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_FILE_HEADER_BYTES: Final = 24
_RECORD_HEADER_BYTES: Final = 16
_VLAN: Final = b"\x81\x00"
_TIMESTAMP_OPTION_BYTES: Final = 12
_DEFAULT_MSS: Final = 536  # RFC 9293, section 3.7.1


@dataclass(frozen=True, slots=True)
class Packet:
    """TCP packet; ``seq`` and ``ack`` are relative to the SYN (0), or to the first packet seen without one."""

    frame: int
    time_ns: int
    from_client: bool
    seq: int
    ack: int
    flags: int
    window: int  #: scaled where the handshake told the scale
    payload: bytes  #: what was captured of it
    payload_bytes: int  #: its length on the wire

    @property
    def end(self) -> int:
        return self.seq + self.payload_bytes

    def has(self, flag: int) -> bool:
        return bool(self.flags & flag)


@dataclass(slots=True)
class Flow:
    """Connection. The client sent the SYN; without a SYN, the client is the end with the higher port."""

    client: tuple[bytes, int]
    server: tuple[bytes, int]
    packets: list[Packet] = field(default_factory=list)
    initial: dict[bool, int] = field(default_factory=dict)  #: by direction: from the client or not
    mss: dict[bool, int] = field(default_factory=dict)  #: as each end announced it
    scale: dict[bool, int] = field(default_factory=dict)
    has_timestamps: bool = False

    @property
    def client_port(self) -> int:
        return self.client[1]

    @property
    def segment_bytes(self) -> int:
        """Payload of the server's full segment: the MSS less the timestamps option (RFC 9293, section 3.7.1)."""
        announced = self.mss.get(True) or self.mss.get(False) or _DEFAULT_MSS
        both = min(announced, self.mss.get(False) or announced)
        return both - (_TIMESTAMP_OPTION_BYTES if self.has_timestamps else 0)

    @property
    def has_syn(self) -> bool:
        return any(packet.has(SYN) for packet in self.packets)

    def sent(self, *, by_client: bool) -> list[Packet]:
        return [packet for packet in self.packets if packet.from_client == by_client]

    def data(self, *, by_client: bool) -> list[Packet]:
        return [packet for packet in self.sent(by_client=by_client) if packet.payload_bytes]

    def handshake_ms(self) -> float | None:
        """Return time from SYN to SYN-ACK plus time to the client's ACK: independent of the capture point."""
        syns = [packet for packet in self.packets if packet.has(SYN)]
        if len(syns) != 2:
            return None
        last = next(
            (p for p in self.packets if p.from_client and not p.has(SYN) and p.frame > syns[1].frame), None
        )
        return (last.time_ns - syns[0].time_ns) / 1e6 if last else None


def read_flows(path: Path) -> list[Flow]:
    """Return the flows of a capture in the order of their first packets, numbered as tshark's ``tcp.stream``."""
    flows: list[Flow] = []
    open_flows: dict[frozenset[tuple[bytes, int]], Flow] = {}
    for frame, (time_ns, link_type, data) in enumerate(records_of(path), start=1):
        read = _tcp(link_type, data)
        if read is None:
            continue
        source, destination, tcp, payload_bytes = read
        key = frozenset((source, destination))
        flow = open_flows.get(key)
        if flow is None or _starts_anew(flow, source, tcp):
            flow = _new_flow(source, destination, tcp)
            open_flows[key] = flow
            flows.append(flow)
        _add(flow, frame, time_ns, source, tcp, payload_bytes)
    return flows


def has_zero_window(flow: Flow) -> bool:
    """Return whether the client advertised a zero window on an open connection."""
    return any(not (p.has(RST) or p.has(SYN)) and p.window == 0 for p in flow.sent(by_client=True))


def records_of(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield (time in nanoseconds, link type, captured bytes) of every frame of a pcap or pcapng file."""
    content = path.read_bytes()
    if content[:4] not in _PCAP:
        with path.open("rb") as file:
            reader = dpkt.pcapng.Reader(file)
            for time, data in reader:
                yield round(float(time) * 1e6) * 1000, reader.datalink(), bytes(data)
        return
    order, tick_ns = _PCAP[content[:4]]
    (link_type,) = struct.unpack_from(order + "I", content, 20)
    at = _FILE_HEADER_BYTES
    while at + _RECORD_HEADER_BYTES <= len(content):
        seconds, ticks, captured, _ = struct.unpack_from(order + "IIII", content, at)
        at += _RECORD_HEADER_BYTES
        yield seconds * 10**9 + ticks * tick_ns, link_type & 0xFFFF, content[at : at + captured]
        at += captured


def _tcp(link_type: int, data: bytes):
    """Return addresses, header and payload length of a TCP packet; None for other packets."""
    packet = data[_LINK_HEADER_BYTES[link_type] :]
    if link_type == _ETHERNET and data[12:14] == _VLAN:
        packet = packet[4:]
    try:
        ip = dpkt.ip6.IP6(packet) if packet[:1] and packet[0] >> 4 == 6 else dpkt.ip.IP(packet)
    except dpkt.UnpackError:
        return None
    tcp = ip.data
    if not isinstance(tcp, dpkt.tcp.TCP):
        return None
    is_v6 = isinstance(ip, dpkt.ip6.IP6)
    # A super-segment of offload may have a length field of 0, or below its real length.
    claimed = ip.plen if is_v6 else ip.len - ip.hl * 4
    payload_bytes = claimed - tcp.off * 4 if claimed > 0 else len(tcp.data)
    return (ip.src, tcp.sport), (ip.dst, tcp.dport), tcp, payload_bytes


def _starts_anew(flow: Flow, source: tuple[bytes, int], tcp: dpkt.tcp.TCP) -> bool:
    """Return whether a SYN has another number than the flow's: the ports are reused."""
    is_first_syn = tcp.flags & SYN and not tcp.flags & ACK
    return bool(is_first_syn and flow.initial.get(source == flow.client) != tcp.seq)


def _new_flow(source: tuple[bytes, int], destination: tuple[bytes, int], tcp: dpkt.tcp.TCP) -> Flow:
    is_client = not tcp.flags & ACK if tcp.flags & SYN else source[1] > destination[1]
    return Flow(source, destination) if is_client else Flow(destination, source)


def _add(flow: Flow, frame: int, time_ns: int, source: tuple[bytes, int], tcp: dpkt.tcp.TCP, length: int) -> None:
    from_client = source == flow.client
    flow.initial.setdefault(from_client, tcp.seq if tcp.flags & SYN else tcp.seq - 1 & 0xFFFFFFFF)
    if tcp.flags & SYN:
        _note_options(flow, from_client, tcp)
    elif tcp.flags & ACK:
        flow.initial.setdefault(not from_client, tcp.ack - 1 & 0xFFFFFFFF)
    shift = flow.scale.get(from_client, 0) if len(flow.scale) == 2 and not tcp.flags & SYN else 0
    flow.packets.append(
        Packet(
            frame,
            time_ns,
            from_client,
            distance(tcp.seq, flow.initial[from_client]),
            distance(tcp.ack, flow.initial.get(not from_client, tcp.ack)) if tcp.flags & ACK else 0,
            tcp.flags,
            tcp.win << shift,
            bytes(tcp.data)[:length],
            length,
        )
    )


def _note_options(flow: Flow, from_client: bool, tcp: dpkt.tcp.TCP) -> None:
    options = dict(dpkt.tcp.parse_opts(tcp.opts))
    if dpkt.tcp.TCP_OPT_MSS in options:
        flow.mss[from_client] = int.from_bytes(options[dpkt.tcp.TCP_OPT_MSS], "big")
    if dpkt.tcp.TCP_OPT_WSCALE in options:
        flow.scale[from_client] = options[dpkt.tcp.TCP_OPT_WSCALE][0]
    if tcp.flags & ACK:
        flow.has_timestamps = dpkt.tcp.TCP_OPT_TIMESTAMP in options


def distance(number: int, start: int) -> int:
    """Return the distance of ``number`` from ``start``, modulo 2^32 (RFC 9293, section 3.4)."""
    return (number - start + (1 << 31) & 0xFFFFFFFF) - (1 << 31)

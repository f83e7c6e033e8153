"""Responses of a capture as data segments, read without the code under test.

The module covers the needs of the ground truth: connections to one server port, in-order data, ACKs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import dpkt

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Connection", "Response", "Segment", "read_connections"]

# LINKTYPE_ numbers (https://www.tcpdump.org/linktypes.html).
_ETHERNET: Final = 1
_RAW_IP: Final = (12, 101)
_LINUX_SLL2: Final = 276
_SLL2_HEADER_BYTES: Final = 20

_HALF_SEQUENCE_SPACE: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Segment:
    """TCP segment; ``seq`` and ``ack`` are relative to the initial sequence numbers."""

    frame: int
    time_ms: float
    from_server: bool
    seq: int
    ack: int
    bytes: int
    #: The payload ends with a response head, without body bytes.
    ends_head: bool = False

    @property
    def end(self) -> int:
        return self.seq + self.bytes


@dataclass(slots=True)
class Response:
    """New data of the server between two requests; ``index`` counts on the connection."""

    client_port: int
    index: int
    segments: list[Segment] = field(default_factory=list)

    @property
    def opening(self) -> Segment:
        return self.segments[0]

    def ends_with(self, frame: int) -> bool:
        return self.segments[-1].frame == frame


@dataclass(slots=True)
class Connection:
    """Connection: its RTT, its segment size and its responses."""

    client_port: int
    rtt_ms: float = 0.0
    segment_bytes: int = 0
    segments: list[Segment] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)

    def previous_data(self, released: Segment) -> Segment | None:
        """Return the data segment before ``released`` in the same response."""
        for response in self.responses:
            for before, after in itertools.pairwise(response.segments):
                if after.frame == released.frame:
                    return before
        return None

    def response_of(self, frame: int) -> Response | None:
        for response in self.responses:
            if any(segment.frame == frame for segment in response.segments):
                return response
        return None


def read_connections(path: Path, port: int) -> dict[int, Connection]:
    """Return the connections to ``port`` by client port (no capture here reuses a port)."""
    initial: dict[tuple[int, bool], int] = {}
    syn_times: dict[int, float] = {}
    connections: dict[int, Connection] = {}
    for frame, (time_ms, ip) in enumerate(_ip_packets(path), start=1):
        tcp = ip.data if ip is not None else None
        if not isinstance(tcp, dpkt.tcp.TCP) or port not in (tcp.sport, tcp.dport):
            continue
        from_server = tcp.sport == port
        client_port = tcp.dport if from_server else tcp.sport
        connection = connections.setdefault(client_port, Connection(client_port))
        if tcp.flags & dpkt.tcp.TH_SYN:
            initial.setdefault((client_port, from_server), tcp.seq)
            _note_handshake(connection, tcp, from_server, time_ms, syn_times)
            continue
        own = initial.get((client_port, from_server), tcp.seq)
        peer = initial.get((client_port, not from_server), tcp.ack)
        segment = Segment(
            frame,
            time_ms,
            from_server,
            _distance(tcp.seq, own) - 1,
            _distance(tcp.ack, peer) - 1,
            _payload_bytes(ip, tcp),
            bytes(tcp.data).startswith(b"HTTP/") and bytes(tcp.data).endswith(b"\r\n\r\n"),
        )
        connection.segments.append(segment)
    for connection in connections.values():
        _cut_into_responses(connection)
    return connections


def _note_handshake(
    connection: Connection,
    tcp: dpkt.tcp.TCP,
    from_server: bool,
    time_ms: float,
    syn_times: dict[int, float],
) -> None:
    options = dict(dpkt.tcp.parse_opts(tcp.opts))
    mss = int.from_bytes(options.get(dpkt.tcp.TCP_OPT_MSS, b"\x02\x18"), "big")
    if dpkt.tcp.TCP_OPT_TIMESTAMP in options:
        mss -= 12  # The timestamps option and its padding ride in every segment (RFC 7323).
    smaller = min(mss, connection.segment_bytes or mss)
    connection.segment_bytes = smaller
    if from_server:
        connection.rtt_ms = time_ms - syn_times.get(connection.client_port, time_ms)
    else:
        syn_times.setdefault(connection.client_port, time_ms)


def _cut_into_responses(connection: Connection) -> None:
    """Start the next response: new client data follows server data."""
    client_end = server_end = 0
    current: Response | None = None
    for segment in connection.segments:
        if not segment.bytes:
            continue
        if not segment.from_server:
            if segment.end > client_end and (current is None or current.segments):
                current = Response(connection.client_port, len(connection.responses))
                connection.responses.append(current)
            client_end = max(client_end, segment.end)
        elif segment.seq >= server_end:
            server_end = segment.end
            if current is not None:
                current.segments.append(segment)


def _ip_packets(path: Path):
    """Yield time in milliseconds and IP packet (None if absent) of every frame."""
    with path.open("rb") as file:
        reader = dpkt.pcap.UniversalReader(file)
        link_type = reader.datalink()
        for time, frame in reader:
            yield float(time) * 1000, _ip(link_type, frame)


def _ip(link_type: int, frame: bytes):
    if link_type == _ETHERNET:
        packet = dpkt.ethernet.Ethernet(frame).data
    elif link_type in _RAW_IP:
        packet = dpkt.ip.IP(frame)
    elif link_type == _LINUX_SLL2:
        packet = dpkt.ip.IP(frame[_SLL2_HEADER_BYTES:])
    else:
        raise ValueError(f"link type {link_type} is not among those of the kernel captures")
    return packet if isinstance(packet, dpkt.ip.IP) else None


def _payload_bytes(ip: dpkt.ip.IP, tcp: dpkt.tcp.TCP) -> int:
    # dpkt reads the padding of short Ethernet frames as payload; the IP length is correct.
    return ip.len - ip.hl * 4 - tcp.off * 4


def _distance(number: int, start: int) -> int:
    """Return the distance of ``number`` from ``start``, modulo 2^32 (RFC 9293, section 3.4)."""
    wrapped = (number - start + _HALF_SEQUENCE_SPACE) & 0xFFFFFFFF
    return wrapped - _HALF_SEQUENCE_SPACE

"""In-memory captures for tests: frames by struct, files by format, one HTTP exchange as a template."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
ETHERNET, LINUX_COOKED = 1, 113
MILLISECOND = 1_000_000
START = 1_700_000_000 * 1_000_000_000
# Sequence numbers begin shortly before they wrap, to expose comparisons of plain integers.
CLIENT_ISN, SERVER_ISN = 2**32 - 40, 2**32 - 300
MSS = 1460
REQUEST = b"GET /page HTTP/1.1\r\nHost: a.example\r\n\r\n"

Record = tuple[int, bytes]


Endpoint = tuple[str, int]


def tcp(
    source: Endpoint,
    destination: Endpoint,
    seq: int,
    ack: int,
    flags: int,
    payload: bytes = b"",
    *,
    window: int = 65535,
    options: bytes | None = None,
    urgent: int = 0,
) -> bytes:
    """Return an Ethernet frame with a TCP segment over IPv4; a SYN has an MSS option by default."""
    if options is None:
        options = struct.pack(">BBH", 2, 4, MSS) if flags & SYN else b""
    offset = (20 + len(options)) // 4 << 4
    ports_and_numbers = struct.pack(">HHII", source[1], destination[1], seq % 2**32, ack % 2**32)
    header = ports_and_numbers + struct.pack(">BBHHH", offset, flags, window, 0, urgent)
    return ethernet(ipv4(source[0], destination[0], header + options + payload))


def ipv4(
    source: str, destination: str, content: bytes, *, identification: int = 1, fragment_field: int = 0x4000
) -> bytes:
    """Return an IPv4 packet with TCP in it; ``fragment_field`` holds flags (default DF) and offset."""
    lengths = struct.pack(">BBHHH", 0x45, 0, 20 + len(content), identification, fragment_field)
    addresses = socket.inet_aton(source) + socket.inet_aton(destination)
    return lengths + struct.pack(">BBH", 64, 6, 0) + addresses + content


def ethernet(packet: bytes) -> bytes:
    return bytes(12) + b"\x08\x00" + packet


@dataclass
class Connection:
    """Connection captured at the client: both sides' next sequence numbers, and the records so far."""

    client: tuple[str, int] = ("10.0.0.1", 1029)
    server: tuple[str, int] = ("10.0.0.2", 8080)
    time: int = START
    records: list[Record] = field(default_factory=list)
    client_seq: int = CLIENT_ISN
    server_seq: int = SERVER_ISN

    def from_client(self, payload: bytes = b"", flags: int = ACK, after: int = 0) -> None:
        self.time += after
        ack = 0 if flags == SYN else self.server_seq
        self.records.append((self.time, tcp(self.client, self.server, self.client_seq, ack, flags, payload)))
        self.client_seq += len(payload) + bool(flags & (SYN | FIN))

    def from_server(self, payload: bytes = b"", flags: int = ACK, after: int = 0) -> None:
        self.time += after
        frame = tcp(self.server, self.client, self.server_seq, self.client_seq, flags, payload)
        self.records.append((self.time, frame))
        self.server_seq += len(payload) + bool(flags & (SYN | FIN))

    def open(self) -> None:
        self.from_client(flags=SYN)
        self.from_server(flags=SYN | ACK, after=MILLISECOND)
        self.from_client(after=10_000)

    def exchange(self, request: bytes = REQUEST, body: bytes = b"x" * 4000, *, think: int = MILLISECOND) -> None:
        """Add a request and, after ``think``, its response in full segments, each acknowledged at once."""
        response = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        self.from_client(request, PSH | ACK, after=MILLISECOND)
        for start in range(0, len(response), MSS):
            self.from_server(response[start : start + MSS], after=think if start == 0 else 12_000)
            self.from_client(after=20_000)

    def close(self) -> None:
        self.from_client(flags=FIN | ACK, after=MILLISECOND)
        self.from_server(flags=FIN | ACK, after=MILLISECOND)
        self.from_client(after=20_000)


def clean_exchange(exchanges: int = 1, **of_connection: object) -> list[Record]:
    """Return a connection without findings: short round trips, no holds, no losses, no repeated fetches."""
    connection = Connection(**of_connection)  # type: ignore[arg-type]
    connection.open()
    for number in range(exchanges):
        connection.exchange(body=b"%04d" % (number % 10_000) * 1000)
    connection.close()
    return connection.records


def stalled_exchange(stall: int = 180 * MILLISECOND, *, fields: bytes = b"") -> list[Record]:
    """Return a response whose headers (with ``fields``) form a short first segment.

    The body waits for their delayed ACK.
    """
    connection = Connection()
    connection.open()
    body = b"x" * 1000
    connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n" + fields + b"\r\n"
    connection.from_server(head, PSH | ACK, after=2 * MILLISECOND)
    connection.from_client(after=stall)
    connection.from_server(body, PSH | ACK, after=MILLISECOND)
    connection.from_client(after=20_000)
    connection.close()
    return connection.records


def pcap(records: list[Record], *, link_type: int = ETHERNET, order: str = "<", magic: int = 0xA1B23C4D) -> bytes:
    """Return a pcap file with nanosecond times."""
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)]
    for time, frame in records:
        seconds, nanoseconds = divmod(time, 1_000_000_000)
        parts += [struct.pack(order + "IIII", seconds, nanoseconds, len(frame), len(frame)), frame]
    return b"".join(parts)


def block(kind: int, body: bytes) -> bytes:
    """Return a pcapng block (draft-ietf-opsawg-pcapng, section 3.1)."""
    body += bytes(-len(body) % 4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def section_header() -> bytes:
    return block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(link_type: int = ETHERNET) -> bytes:
    nanoseconds = struct.pack("<HHB3x", 9, 1, 9)
    return block(1, struct.pack("<HHI", link_type, 0, 0) + nanoseconds + struct.pack("<HH", 0, 0))


def enhanced_packet(time: int, frame: bytes, *, wire_bytes: int | None = None, interface: int = 0) -> bytes:
    """Return a packet block; ``wire_bytes`` is the length before a snap length cut the frame."""
    original = len(frame) if wire_bytes is None else wire_bytes
    header = struct.pack("<IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(frame), original)
    return block(6, header + frame)


def pcapng(records: list[Record], *, link_type: int = ETHERNET) -> bytes:
    """Return a pcapng file of one section and one interface, with nanosecond times."""
    packets = [enhanced_packet(time, frame) for time, frame in records]
    return b"".join([section_header(), interface(link_type), *packets])

"""Figures 2 and 4 of Heidemann, "Performance Interactions Between P-HTTP and TCP Implementations".

(ACM Computer Communication Review 27(2), 1997.) The figures print tcpdump lines. This module rebuilds the
packets: ``python -m reference_sim.papers.heidemann_1996 OUTDIR`` writes both as pcap files.

The module keeps all printed fields exactly: times, flags, sequence and acknowledgment numbers, payload
lengths, windows, the MSS option, ports. It supplies the missing fields: addresses, dates, the initial
sequence numbers of Figure 4 (both directions wrap), and HTTP text of exactly the printed lengths. It adds no
packet.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from reference_sim.papers.published import published
from tcptrace_http.trace import write_pcap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["FIGURES", "Figure", "packets", "write_figures"]

_CLIENT_ADDRESS: Final = bytes((10, 0, 0, 1))
_SERVER_ADDRESS: Final = bytes((10, 0, 0, 2))
# Locally administered addresses (IEEE 802: second-least significant bit of the first byte).
_CLIENT_STATION: Final = bytes.fromhex("020000000001")
_SERVER_STATION: Final = bytes.fromhex("020000000002")
_SERVER_PORT: Final = 8080

_ETHERTYPE_IPV4: Final = 0x0800
_PROTOCOL_TCP: Final = 6
_TIME_TO_LIVE: Final = 64
_FLAG_BITS: Final = {"S": 0x02, "P": 0x08}
_ACK: Final = 0x10
_MSS_OPTION_KIND: Final = 2

# 8192 bytes before the wrap, so that the response of Figure 4 (relative 6676 to 10785) crosses it.
_SERVER_WRAPPING_START: Final = (1 << 32) - 8192
# Its request (relative 53 to 111) crosses the wrap, too.
_CLIENT_WRAPPING_START: Final = (1 << 32) - 64


@dataclass(frozen=True, slots=True)
class Figure:
    """Printed trace, and the data supplied to make packets of it."""

    name: str
    client_port: int
    start: datetime
    #: Absolute numbers of relative sequence number 0.
    client_start: int
    server_start: int
    #: Relative position of each stream where the figure's HTTP text begins.
    client_offset: int
    server_offset: int
    request: bytes
    response: bytes


def _response_head(content_type: str, content_length: int, date: str, requests_left: int) -> bytes:
    """Return the head that Apache 1.1 sent on a persistent connection: 226 bytes, as printed."""
    return (
        "HTTP/1.0 200 OK\r\n"
        f"Date: {date}\r\n"
        "Server: Apache/1.1b4\r\n"
        f"Content-type: {content_type}\r\n"
        f"Content-length: {content_length}\r\n"
        "Last-modified: Mon, 01 Jul 1996 12:00:00 GMT\r\n"
        f"Keep-Alive: timeout=15, max={requests_left}\r\n"
        "Connection: Keep-Alive\r\n"
        "\r\n"
    ).encode("ascii")


def _request(target: str) -> bytes:
    return f"GET {target} HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n".encode("ascii")


def _html(length: int) -> bytes:
    line = b"<p>Persistent connections meet delayed acknowledgments.</p>\n"
    return (line * (length // len(line) + 1))[:length]


def _gif(length: int) -> bytes:
    return (b"GIF89a" + bytes(range(256)) * (length // 256 + 1))[:length]


# Figure 2 stops after three full segments of the body. The response consists of exactly these segments, and
# its Content-Length equals their size: nothing beyond the figure is invented.
_FIGURE_2_BODY_BYTES: Final = 3 * 1460
# The document of Figure 4: 4109 bytes less the 226 of the head.
_FIGURE_4_BODY_BYTES: Final = 3883

FIGURES: Final = (
    Figure(
        name="heidemann_1996_figure2",
        client_port=3199,
        start=datetime(1996, 8, 1, 9, 0, 0, tzinfo=UTC),
        client_start=676352001,
        server_start=1807168001,
        client_offset=1,
        server_offset=1,
        request=_request("/index.html"),
        response=_response_head("text/html", _FIGURE_2_BODY_BYTES, "Thu, 01 Aug 1996 09:00:00 GMT", 5)
        + _html(_FIGURE_2_BODY_BYTES),
    ),
    Figure(
        name="heidemann_1996_figure4",
        client_port=1029,
        # "base time 9:44:07.871221"; the date is not printed.
        start=datetime(1996, 8, 1, 9, 44, 7, 871221, tzinfo=UTC),
        client_start=_CLIENT_WRAPPING_START,
        server_start=_SERVER_WRAPPING_START,
        client_offset=53,
        server_offset=6676,
        request=_request("/images/logo1.gif"),
        response=_response_head("image/gif", _FIGURE_4_BODY_BYTES, "Thu, 01 Aug 1996 09:44:07 GMT", 4)
        + _gif(_FIGURE_4_BODY_BYTES),
    ),
)


def packets(figure: Figure) -> Iterator[tuple[int, bytes]]:
    """Yield time (nanoseconds since the epoch) and Ethernet frame of every line of the figure."""
    start_ns = _nanoseconds(figure.start)
    for identification, line in enumerate(published(figure.name), start=1):
        seconds, microseconds = line["time_s"].split(".")
        time_ns = start_ns + int(seconds) * 1_000_000_000 + int(microseconds) * 1000
        from_client = line["sender"] == "client"
        yield time_ns, _frame(from_client, identification, _segment(figure, line, from_client))


def write_figures(folder: Path) -> list[Path]:
    """Write every figure as a pcap file into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in FIGURES:
        path = folder / f"{figure.name}.pcap"
        with path.open("wb") as file:
            write_pcap(file, packets(figure))
        written.append(path)
    return written


def _segment(figure: Figure, line: dict[str, str], from_client: bool) -> bytes:
    own, peer = figure.client_start, figure.server_start
    if not from_client:
        own, peer = peer, own
    seq, length = int(line["seq_start"]), int(line["payload_bytes"])
    is_syn = "S" in line["flags"]
    # Tcpdump prints a SYN's numbers as absolute, all others relative to them.
    raw_seq = seq if is_syn else own + seq
    raw_ack = _raw_ack(line["ack"], peer, is_syn)
    payload = _payload(figure, from_client, seq, length)
    options = _options(line["options"])
    flags = sum(_FLAG_BITS.get(letter, 0) for letter in line["flags"]) | (_ACK if line["ack"] else 0)
    ports = (figure.client_port, _SERVER_PORT) if from_client else (_SERVER_PORT, figure.client_port)
    offset_and_flags = (5 + len(options) // 4) << 12 | flags
    fields = (*ports, raw_seq % (1 << 32), raw_ack % (1 << 32), offset_and_flags, int(line["window"]))
    header = struct.pack(">HHIIHHHH", *fields, 0, 0) + options
    checksum = _checksum(_pseudo_header(from_client, len(header) + length) + header + payload)
    return header[:16] + struct.pack(">H", checksum) + header[18:] + payload


def _raw_ack(printed: str, peer_start: int, is_syn: bool) -> int:
    if not printed:
        return 0
    return int(printed) if is_syn else peer_start + int(printed)


def _payload(figure: Figure, from_client: bool, seq: int, length: int) -> bytes:
    text = figure.request if from_client else figure.response
    start = seq - (figure.client_offset if from_client else figure.server_offset)
    payload = text[start : start + length] if length else b""
    if len(payload) != length:
        raise ValueError(f"{figure.name}: the HTTP text ends before relative sequence number {seq + length}")
    return payload


def _options(printed: str) -> bytes:
    if not printed:
        return b""
    name, value = printed.split()
    if name != "mss":
        raise ValueError(f"the TCP option {printed!r} is not in the figures")
    return struct.pack(">BBH", _MSS_OPTION_KIND, 4, int(value))


def _frame(from_client: bool, identification: int, segment: bytes) -> bytes:
    stations = (_SERVER_STATION, _CLIENT_STATION) if from_client else (_CLIENT_STATION, _SERVER_STATION)
    before = struct.pack(">BBHHHBB", 0x45, 0, 20 + len(segment), identification, 0, _TIME_TO_LIVE, _PROTOCOL_TCP)
    addresses = _addresses(from_client)
    checksum = struct.pack(">H", _checksum(before + b"\0\0" + addresses))
    return b"".join((*stations, struct.pack(">H", _ETHERTYPE_IPV4), before, checksum, addresses, segment))


def _addresses(from_client: bool) -> bytes:
    """Return the source and destination addresses."""
    return _CLIENT_ADDRESS + _SERVER_ADDRESS if from_client else _SERVER_ADDRESS + _CLIENT_ADDRESS


def _pseudo_header(from_client: bool, length: int) -> bytes:
    """Return the pseudo-header of the TCP checksum (RFC 9293, section 3.1)."""
    return _addresses(from_client) + struct.pack(">BBH", 0, _PROTOCOL_TCP, length)


def _checksum(covered: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    padded = covered + b"\0" * (len(covered) % 2)
    total: int = sum(word for (word,) in struct.iter_unpack(">H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _nanoseconds(time: datetime) -> int:
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000

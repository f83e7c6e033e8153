"""Captures that try to exhaust memory, as streams: never complete in memory or on disk.

Each ends with an ordinary exchange, which the analysis must find despite the preceding data.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from typing import TYPE_CHECKING

from captures import block, clean_exchange, pcap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
RAW = 101
START_SECONDS = 1_600_000_000
#: Sequence numbers begin shortly before they wrap.
ISN = 2**32 - 1000
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, RAW)
#: Payload of the longest IP packet with headers without options.
LONGEST = 65_535 - 40
WRITE_BYTES = 1 << 20

CLIENT, SERVER = 0, 1


class Writer:
    """TCP segments over IPv4 as pcap records, a microsecond apart."""

    def __init__(self) -> None:
        self.number = 0

    def stamp(self, packet: bytes, captured: int | None = None) -> bytes:
        self.number += 1
        seconds, microseconds = divmod(self.number, 1_000_000)
        length = len(packet) if captured is None else captured
        header = struct.pack("<IIII", START_SECONDS + seconds, microseconds * 1000, length, len(packet))
        return header + packet[:length]

    def tcp(self, flow: int, side: int, seq: int, ack: int, flags: int = ACK, payload: bytes = b"") -> bytes:
        client, server = 0x0A00_0000 + (flow >> 14), 0xC0A8_0001
        port = 49152 + (flow & 0x3FFF)
        ends = (client, server, port, 80) if side == CLIENT else (server, client, 80, port)
        ip = struct.pack(">BBHIBBHII", 0x45, 0, 40 + len(payload), 0x0001_4000, 64, 6, 0, *ends[:2])
        header = struct.pack(">HHIIBBHI", *ends[2:], seq % 2**32, ack % 2**32, 0x50, flags, 65535, 0)
        return self.stamp(ip + header + payload)

    def handshake(self, flow: int) -> bytes:
        return (
            self.tcp(flow, CLIENT, ISN, 0, SYN)
            + self.tcp(flow, SERVER, ISN, ISN + 1, SYN | ACK)
            + self.tcp(flow, CLIENT, ISN + 1, ISN + 1)
        )


def syn_flood(count: int) -> Iterator[bytes]:
    """Yield connections that consist of a SYN."""
    writer = Writer()
    for flow in range(count):
        yield writer.tcp(flow, CLIENT, ISN, 0, SYN)


def syn_flood_v6(count: int) -> Iterator[bytes]:
    writer = Writer()
    for flow in range(count):
        addresses = struct.pack(">QQQQ", 0x20010DB8 << 32, flow, 0x20010DB8 << 32, 2**63)
        header = struct.pack(">IHBB", 0x6000_0000, 20, 6, 64) + addresses
        segment = struct.pack(">HHIIBBHI", 49152, 80, ISN, 0, 0x50, SYN, 65535, 0)
        yield writer.stamp(header + segment)


def _stream(flow: int, side: int, beginning: bytes, rest: bytes, count: int) -> Iterator[bytes]:
    """Yield one direction with a beginning and a repeated continuation, each segment acknowledged."""
    writer = Writer()
    yield writer.handshake(flow)
    seq = ISN + 1
    for payload in itertools.chain([beginning], itertools.repeat(rest, count)):
        yield writer.tcp(flow, side, seq, ISN + 1, PSH | ACK, payload)
        seq += len(payload)
        yield writer.tcp(flow, 1 - side, ISN + 1, seq)


def endless_header_line(count: int) -> Iterator[bytes]:
    return _stream(0, CLIENT, b"GET / HTTP/1.1\r\nX: ", b"x" * LONGEST, count)


def endless_header_lines(count: int) -> Iterator[bytes]:
    return _stream(0, SERVER, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 10_000, count)


def endless_chunk_size(count: int) -> Iterator[bytes]:
    return _stream(0, SERVER, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=", b"x" * LONGEST, count)


def endless_trailers(count: int) -> Iterator[bytes]:
    beginning = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    return _stream(0, SERVER, beginning, b"X: y\r\n" * 10_000, count)


def interim_responses(count: int) -> Iterator[bytes]:
    """Return a request followed by endless 100 Continue responses, a thousand per segment."""
    return _stream(0, SERVER, b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, count)


def huge_gaps(count: int) -> Iterator[bytes]:
    """Yield segments a gigabyte apart, none of them acknowledged."""
    writer = Writer()
    yield writer.handshake(0)
    for place in range(count):
        yield writer.tcp(0, SERVER, ISN + 1 + (place << 30), ISN + 1, ACK, b"x" * 1448)


def single_bytes(count: int) -> Iterator[bytes]:
    """Yield every other byte of a stream whose first byte never arrives."""
    writer = Writer()
    yield writer.handshake(0)
    for place in range(count):
        yield writer.tcp(0, SERVER, ISN + 2 + 2 * place, ISN + 1, ACK, b"x")


def waiting_on_many_flows(count: int) -> Iterator[bytes]:
    """Yield almost 4 MiB after a hole of one byte, on each of many flows."""
    writer = Writer()
    payload = b"x" * LONGEST
    for flow in range(count):
        yield writer.handshake(flow)
        for place in range(64):
            yield writer.tcp(flow, SERVER, ISN + 2 + place * LONGEST, ISN + 1, ACK, payload)


def heads_on_many_flows(count: int) -> Iterator[bytes]:
    """Yield almost 256 KiB of an incomplete head, on each of many flows."""
    writer = Writer()
    line = b"x" * LONGEST
    for flow in range(count):
        yield writer.handshake(flow)
        seq = ISN + 1
        for payload in (b"GET / HTTP/1.1\r\nX: ", line, line, line, line[:-4000]):
            yield writer.tcp(flow, CLIENT, seq, ISN + 1, PSH | ACK, payload)
            seq += len(payload)


def pipelined_requests(count: int) -> Iterator[bytes]:
    """Yield unanswered requests with long targets, a thousand per flow."""
    writer = Writer()
    request = b"GET /" + b"x" * 8000 + b" HTTP/1.1\r\n\r\n"
    payload = request * (LONGEST // len(request))
    for flow in range(-(-count // 1000)):
        yield writer.handshake(flow)
        seq = ISN + 1
        for _ in range(1000 // (LONGEST // len(request))):
            yield writer.tcp(flow, CLIENT, seq, ISN + 1, PSH | ACK, payload)
            seq += len(payload)


def pipelined_on_one_flow(count: int) -> Iterator[bytes]:
    """Return a thousand small unanswered requests per segment."""
    return _stream(0, CLIENT, b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n" * 1000, count)


def unacknowledged_on_many_flows(count: int) -> Iterator[bytes]:
    """Yield sixteen thousand unacknowledged segments, on each of many flows."""
    writer = Writer()
    for flow in range(-(-count // 16_000)):
        yield writer.handshake(flow)
        for place in range(16_000):
            yield writer.tcp(flow, SERVER, ISN + 1 + place, ISN + 1, ACK, b"x")


def tiny_transactions(count: int) -> Iterator[bytes]:
    """Yield requests with one-byte targets and responses without a body, on one flow."""
    writer = Writer()
    request, response = b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 204 N\r\n\r\n"
    yield writer.handshake(0)
    for number in range(count):
        client, server = ISN + 1 + number * len(request), ISN + 1 + number * len(response)
        yield writer.tcp(0, CLIENT, client, server, PSH | ACK, request)
        yield writer.tcp(0, SERVER, server, client + len(request), PSH | ACK, response)


def stalls(count: int) -> Iterator[bytes]:
    """Yield responses of two short segments, the second held for a delayed ACK: each is a finding."""
    writer = Writer()
    request, head = b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
    yield writer.handshake(0)
    client = server = ISN + 1
    for _ in range(count):
        yield writer.tcp(0, CLIENT, client, server, PSH | ACK, request)
        client += len(request)
        yield writer.tcp(0, SERVER, server, client, PSH | ACK, head)
        writer.number += 40_000
        server += len(head)
        yield writer.tcp(0, CLIENT, client, server)
        yield writer.tcp(0, SERVER, server, client, PSH | ACK, b"body")
        server += 4


def texts(count: int) -> Iterator[bytes]:
    """Yield text pages with distinct 8 kB URLs and bodies, each fetched twice."""
    writer = Writer()
    yield writer.handshake(0)
    client = server = ISN + 1
    for number in range(count):
        for version in range(2):
            body = b"%08d %d\n" % (number, version) * 5000
            request = b"GET /%08d%s HTTP/1.1\r\n\r\n" % (number, b"x" * 8000)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body)
            yield writer.tcp(0, CLIENT, client, server, PSH | ACK, request)
            client += len(request)
            yield writer.tcp(0, SERVER, server, client, PSH | ACK, head + body)
            server += len(head) + len(body)


def texts_on_many_flows(count: int) -> Iterator[bytes]:
    """Yield almost 1 MiB of endless text, on each of many flows."""
    writer = Writer()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nfffff0\r\n"
    for flow in range(count):
        yield writer.handshake(flow)
        seq = ISN + 1
        for payload in (head, *[b"x" * LONGEST] * 15):
            yield writer.tcp(flow, SERVER, seq, ISN + 1, PSH | ACK, payload)
            seq += len(payload)


def announced_lengths(count: int) -> Iterator[bytes]:
    """Yield responses with exabytes of Content-Length and few bytes; each connection then ends."""
    writer = Writer()
    request = b"GET /announced HTTP/1.1\r\n\r\n"
    for flow in range(count):
        length = (10**15, 2**63 - 1, 2**64 - 1)[flow % 3]
        kind = (b"text/html", b"image/png")[flow % 2]
        response = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n<p>" % (kind, length)
        client, server = ISN + 1 + len(request), ISN + 1 + len(response)
        yield writer.handshake(flow)
        yield writer.tcp(flow, CLIENT, ISN + 1, ISN + 1, PSH | ACK, request)
        yield writer.tcp(flow, SERVER, ISN + 1, client, FIN | PSH | ACK, response)
        yield writer.tcp(flow, CLIENT, client, server + 1, FIN | ACK)
        yield writer.tcp(flow, SERVER, server + 1, client + 1)


def redirects(count: int) -> Iterator[bytes]:
    """Yield redirects from and to long URLs, none of them followed."""
    writer = Writer()
    yield writer.handshake(0)
    client = server = ISN + 1
    for number in range(count):
        request = b"GET /%08d%s HTTP/1.1\r\n\r\n" % (number, b"x" * 8000)
        response = b"HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: /y%08d%s\r\n\r\n" % (number, b"x" * 8000)
        yield writer.tcp(0, CLIENT, client, server, PSH | ACK, request)
        client += len(request)
        yield writer.tcp(0, SERVER, server, client, PSH | ACK, response)
        server += len(response)


def _documents(first: int, targets: list[bytes], bodies: list[bytes]) -> Iterator[bytes]:
    """Yield exchanges on one connection, in as few segments as possible."""
    writer = Writer()
    writer.number = first
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    requests = b"".join(b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % target for target in targets)
    responses = b"".join(head % len(body) + body for body in bodies)
    yield writer.handshake(first)
    for side, other, text in ((CLIENT, ISN + 1, requests), (SERVER, ISN + 1 + len(requests), responses)):
        for start in range(0, len(text), LONGEST):
            yield writer.tcp(first, side, ISN + 1 + start, other, PSH | ACK, text[start : start + LONGEST])


def _images(count: int) -> bytes:
    return zlib.compress(b"".join(b"<img src=i%d>" % number for number in range(count)), wbits=31)


def links_of_long_urls(count: int) -> Iterator[bytes]:
    """Yield pages of one text with hundreds of links, each page with a distinct 8 kB URL."""
    body = _images(512)
    for first in range(0, count, 100):
        targets = [b"/%d/%s" % (number, b"a/" * 4000) for number in range(first, first + 100)]
        yield from _documents(first, targets, [body] * 100)


def followed_links(count: int) -> Iterator[bytes]:
    """Yield pages with hundreds of links to objects fetched earlier."""
    yield from _documents(0, [b"/i%d" % number for number in range(512)], [_images(0)] * 512)
    body = _images(512)
    for first in range(1000, 1000 + count, 100):
        yield from _documents(first, [b"/%d" % number for number in range(first, first + 100)], [body] * 100)


def packed_documents(count: int) -> Iterator[bytes]:
    """Yield pages of about a hundred bytes that unpack to 256 KiB of distinct tags."""
    tags = b"<a " * 87_000
    for first in range(0, count, 100):
        numbers = range(first, first + 100)
        bodies = [zlib.compress(b"<img src=%d>" % number + tags, wbits=31) for number in numbers]
        yield from _documents(first, [b"/%d" % number for number in numbers], bodies)


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return an HTTP/2 frame (RFC 9113, section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0)
#: GET / of http://.
GET = b"\x82\x84\x86"


def _client_of_http2(writes: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a client that sends acknowledged segments, and a server that sends nothing else."""
    writer = Writer()
    yield writer.handshake(0)
    seq = ISN + 1
    for payload in itertools.chain([PREFACE], writes):
        yield writer.tcp(0, CLIENT, seq, ISN + 1, PSH | ACK, payload)
        seq += len(payload)
        yield writer.tcp(0, SERVER, ISN + 1, seq)


def http2_settings(count: int) -> Iterator[bytes]:
    """Return SETTINGS that change the window of all open streams, a thousand times per segment."""
    change = struct.pack(">HIHI", 4, 1, 4, 2**31 - 1) * 341
    opened = (
        b"".join(_frame(1, 4, stream, GET) for stream in range(first, first + 4000, 2))
        for first in range(1, 32_000, 4000)
    )
    return _client_of_http2(itertools.chain(opened, itertools.repeat(_frame(4, 0, 0, change) * 10, count)))


def http2_pings(count: int) -> Iterator[bytes]:
    return _client_of_http2(itertools.repeat(_frame(6, 0, 0, bytes(8)) * 3000, count))


def http2_resets(count: int) -> Iterator[bytes]:
    """Return streams that are opened and reset at once (CVE-2023-44487), a thousand per segment."""
    return _client_of_http2(
        b"".join(
            _frame(1, 5, stream, GET) + _frame(3, 0, stream, b"\0\0\0\x08")
            for stream in range(first, first + 2000, 2)
        )
        for first in range(1, 2000 * count, 2000)
    )


def http2_continuations(count: int) -> Iterator[bytes]:
    """Return a header block that never ends."""
    part = _frame(9, 0, 1, (b"\0\1a\1b" * 3276)[:16_380])
    return _client_of_http2(itertools.chain([_frame(1, 0, 1, GET)], itertools.repeat(part * 3, count)))


def http2_bombs(count: int) -> Iterator[bytes]:
    """Return header blocks that insert a field of 4000 bytes and refer to it 12,000 times."""
    block = GET + b"\x40\1a\x7f\xa1\x1e" + b"x" * 4000 + b"\xbe" * 12_000
    return _client_of_http2(_frame(1, 5, stream, block) for stream in range(1, 2 * count, 2))


def http2_open_streams(count: int) -> Iterator[bytes]:
    """Return unanswered requests with 8 kB targets, seven per segment."""
    block = b"\x82\x86\x04\x7f\xc1\x3d/" + b"x" * 7999
    return _client_of_http2(
        b"".join(_frame(1, 5, stream, block) for stream in range(first, first + 14, 2))
        for first in range(1, 14 * count, 14)
    )


def http2_blocks_on_many_flows(count: int) -> Iterator[bytes]:
    """Yield almost 256 KiB of an incomplete header block, on each of many flows."""
    writer = Writer()
    part = _frame(9, 0, 1, bytes(16_000)) * 4
    for flow in range(count):
        yield writer.handshake(flow)
        seq = ISN + 1
        for payload in (PREFACE + _frame(1, 0, 1, GET), part, part, part):
            yield writer.tcp(flow, CLIENT, seq, ISN + 1, PSH | ACK, payload)
            seq += len(payload)


def http2_windows(count: int) -> Iterator[bytes]:
    """Yield connection window updates of one byte for the DATA of a thousand uploads."""
    writer = Writer()
    yield writer.handshake(0)
    client = server = ISN + 1
    opened = b"".join(_frame(1, 4, stream, GET) for stream in range(1, 2000, 2))
    used = [_frame(0, 0, stream, bytes(16_383)) for stream in (1, 3, 5, 7)] + [_frame(0, 0, 1, b"xxx")]
    for payload in (PREFACE, opened, *used):
        yield writer.tcp(0, CLIENT, client, server, PSH | ACK, payload)
        client += len(payload)
    given, taken = _frame(8, 0, 0, b"\0\0\0\1"), _frame(0, 0, 1, b"x")
    for _ in range(count):
        yield writer.tcp(0, SERVER, server, client, PSH | ACK, given)
        server += len(given)
        yield writer.tcp(0, CLIENT, client, server, PSH | ACK, taken)
        client += len(taken)


def fragments(count: int) -> Iterator[bytes]:
    """Yield first fragments of datagrams whose other fragments never arrive."""
    writer = Writer()
    for number in range(count):
        addresses = struct.pack(">II", 0x0A00_0000 + (number >> 16), 0xC0A8_0001)
        yield writer.stamp(
            struct.pack(">BBHHHBBH", 0x45, 0, 1420, number & 0xFFFF, 0x2000, 64, 6, 0) + addresses + bytes(1400)
        )


def anomalies(count: int) -> Iterator[bytes]:
    """Yield packets truncated inside their TCP headers, with decreasing times."""
    writer = Writer()
    for number in range(count):
        packet = writer.tcp(number, CLIENT, ISN, 0, SYN)[16:]
        writer.number -= 4 * (number % 2)
        yield writer.stamp(packet, 24)


def _section() -> bytes:
    return block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def pcapng_interfaces(count: int) -> Iterator[bytes]:
    """Yield sections with more interfaces than the limit."""
    description = block(1, struct.pack("<HHI", RAW, 0, 0)) * 1000
    for number in range(-(-count // 1000)):
        if number % 500 == 0:
            yield _section()
        yield description


def pcapng_long_blocks(count: int) -> Iterator[bytes]:
    """Yield packets and unknown blocks of the greatest length that is read or skipped."""
    yield _section() + block(1, struct.pack("<HHI", RAW, 0, 0))
    comment = struct.pack("<HH", 1, 65_532) + bytes(65_532)
    options = comment * 255
    for _ in range(count):
        yield block(6, struct.pack("<IIIII", 0, 0, 0, 4, 4) + bytes(4) + options)
        yield struct.pack("<II", 0xBAD, 1 << 26)
        yield from itertools.repeat(bytes(1 << 20), 63)
        yield bytes((1 << 20) - 12) + struct.pack("<I", 1 << 26)


def empty_records(count: int) -> Iterator[bytes]:
    """Yield zeros: each sixteen zeros are a record of an empty packet."""
    yield from itertools.repeat(bytes(16_000), -(-count // 1000))


def _exchange_records() -> bytes:
    """Return the ordinary exchange, without its Ethernet headers."""
    return pcap([(time, frame[14:]) for time, frame in clean_exchange(client=("192.0.2.77", 50_000))])[24:]


def _exchange_blocks() -> Iterator[bytes]:
    yield _section() + block(1, struct.pack("<HHI", RAW, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))
    for time, frame in clean_exchange(client=("192.0.2.77", 50_000)):
        packet = frame[14:]
        yield block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(packet), len(packet)) + packet)


def stream(generator: Callable[[int], Iterator[bytes]], count: int) -> Iterator[bytes]:
    """Yield a complete capture, in pieces of about a megabyte."""
    if generator.__name__.startswith("pcapng"):
        parts = itertools.chain(generator(count), _exchange_blocks())
    else:
        parts = itertools.chain([PCAP_HEADER], generator(count), [_exchange_records()])
    gathered = bytearray()
    for part in parts:
        gathered += part
        if len(gathered) >= WRITE_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def gzip_of(pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def zstd_of(pieces: Iterator[bytes], window_log: int) -> Iterator[bytes]:
    """Yield a zstd frame whose window has its declared size."""
    from backports.zstd import CompressionParameter, ZstdCompressor

    packer = ZstdCompressor(
        options={CompressionParameter.window_log: window_log, CompressionParameter.compression_level: 1}
    )
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()

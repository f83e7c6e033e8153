"""Writer of the initial inputs of every fuzz target: ``python tests/fuzz/seeds.py FOLDER``.

The inputs come from ``sample_traces`` and from the tests' knowledge of HTTP. `make fuzz` starts from the
corpora, which grew from these inputs.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.mpls import MPLS
from scapy.layers.dot11 import Dot11, Dot11QoS, RadioTap
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import LLC, SNAP, CookedLinux, Dot1Q, Ether, Loopback
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

ROOT = Path(__file__).resolve().parents[2]
PCAP_HEADER_BYTES, RECORD_HEADER_BYTES = 24, 16
#: First records of a capture: a handshake, a request and the start of its response.
RECORDS = 14
CUT = b"\0\0\0\7"
CLIENT, SERVER = 0xE0, 0xE1
GAP, END = 0x04, 0x06

EXCHANGES = {
    "plain": [
        (CLIENT, b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"),
        (SERVER, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ],
    "pipelined": [
        (CLIENT, b"GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\nGET /c HTTP/1.0\r\n\r\n"),
        (SERVER, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
        (SERVER, b"HTTP/1.0 200 OK\r\n\r\nuntil the close"),
        (SERVER | END, b""),
    ],
    "chunked": [
        (CLIENT, b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: u\r\n\r\n"),
        (SERVER, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        (SERVER, b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"),
    ],
    "tunnel": [
        (CLIENT, b"CONNECT h:443 HTTP/1.1\r\n\r\n"),
        (SERVER, b"HTTP/1.1 200 OK\r\n\r\n"),
        (CLIENT, b"\x16\x03\x01"),
    ],
    "upgrade": [
        (CLIENT, b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"),
        (SERVER, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x05hello"),
    ],
    "lost": [
        (CLIENT, b"GET /a HTTP/1.1\r\n\r\n"),
        (SERVER | GAP, b"so many bytes are missing"),
        (SERVER, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        (CLIENT, b"GET /b HTTP/1.1\r\n\r\n"),
        (SERVER, b"HTTP/1.1 304\r\nServer: s\r\nContent-Type: t\r\nContent-Encoding: gzip\r\n\r\n"),
    ],
    "reversed": [(SERVER, b"GET http://u@a:81/x HTTP/1.1\r\n\r\n"), (CLIENT, b"HTTP/1.1 204 No Content\r\n\r\n")],
    "http2": [(CLIENT, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4")],
    "odd": [
        (CLIENT, b"\r\nGET /\xc3\xa9 HTTP/1.1\nno field\n fold\nContent-Length: 1, 2\n\nx"),
        (SERVER, b"HTTP/1.1 200\r\nConnection: close, keep-alive\r\nTransfer-Encoding: identity\r\n\r\nrest"),
    ],
    "cut": [(CLIENT, b"GET /a HT"), (CLIENT, b"TP/1.1\r\nHost: "), (CLIENT, b"h\r\n\r"), (CLIENT, b"\nGET /b")],
}


#: Ciphertext lengths: Finished of TLS 1.3 with a hash of 32 bytes, an alert, a ticket.
FINISHED, ALERT, TICKET = 53, 19, 234


def beginning(file: bytes) -> bytes:
    """Return the first records of a pcap file in this machine's byte order."""
    end = PCAP_HEADER_BYTES
    for _ in range(RECORDS):
        if end + RECORD_HEADER_BYTES > len(file):
            break
        end += RECORD_HEADER_BYTES + struct.unpack_from("<I", file, end + 8)[0]
    return file[:end]


def pcap(link_type: int, frames: list[bytes], order: str = "<") -> bytes:
    parts = [struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type)]
    for second, frame in enumerate(frames):
        parts += [struct.pack(order + "IIII", second, 0, len(frame), len(frame)), frame]
    return b"".join(parts)


def encapsulated() -> dict[str, bytes]:
    """Return one request in every encapsulation."""
    request = TCP(sport=49152, dport=80, seq=2**32 - 2, flags="PA") / Raw(b"GET / HTTP/1.1\r\n\r\n")
    v4 = IP(src="192.0.2.1", dst="198.51.100.2") / request
    v6 = IPv6(src="2001:db8::1", dst="2001:db8::2") / request
    udp = IP() / UDP(sport=1)
    whole = bytes(request)
    first = IP(flags="MF", id=7, proto=6) / Raw(whole[:24])
    second = IP(frag=3, id=7, proto=6) / Raw(whole[24:])
    wrapped: dict[str, tuple[int, list[Packet]]] = {
        "vlan_qinq": (1, [Ether() / Dot1Q(type=0x88A8) / Dot1Q() / v4]),
        "vn_tag": (1, [Ether(type=0x8926) / Raw(b"\0\1\0\2\x08\0") / v4]),
        "pktap": (258, [Raw(struct.pack("<III96x", 108, 1, 1)) / Ether() / v4]),
        "mpls": (1, [Ether(type=0x8847) / MPLS(s=0) / MPLS(s=1) / v4]),
        "pppoe": (1, [Ether(type=0x8864) / PPPoE() / PPP() / v4]),
        "gre_ipip": (1, [Ether() / IP() / GRE() / IP(proto=4) / v4]),
        "vxlan": (1, [Ether() / udp / VXLAN() / Ether() / v6]),
        "gtp": (1, [Ether() / IP() / UDP(sport=1, dport=2152) / GTP_U_Header(gtp_type=255) / v4]),
        "teredo": (1, [Ether() / IP() / UDP(sport=1, dport=3544) / v6]),
        "icmp_error": (1, [Ether() / IP() / ICMP(type=3) / v4]),
        "fragments": (1, [Ether() / first, Ether() / second]),
        "fragments_v6": (1, [Ether() / IPv6() / IPv6ExtHdrFragment(nh=6, offset=0, m=0) / request]),
        "cooked": (113, [CookedLinux(proto=0x0800) / v4]),
        "raw": (101, [v4, v6]),
        "loopback": (0, [Loopback(type=2) / v4]),
        "radiotap": (127, [RadioTap() / Dot11(type=2, subtype=8) / Dot11QoS() / LLC() / SNAP() / v4]),
    }
    made = {
        name: pcap(link_type, [bytes(each) for each in frames]) for name, (link_type, frames) in wrapped.items()
    }
    return made | {"big_endian": pcap(1, [bytes(Ether() / v4)], ">")}


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def pcapng(frames: list[bytes]) -> bytes:
    resolution = struct.pack("<HHB3xHHqHH", 9, 1, 9, 14, 8, 3, 0, 0)
    blocks = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 1, 0, 96) + resolution),
    ]
    for time, frame in enumerate(frames):
        header = struct.pack("<IIIII", 0, 0, time, len(frame), len(frame))
        blocks += [block(6, header + frame), block(3, struct.pack("<I", len(frame)) + frame[:96])]
    return b"".join([*blocks, block(0xBAD, b"custom"), block(5, bytes(12))])


def http(events: list[tuple[int, bytes]]) -> bytes:
    return b"".join(bytes([control]) + text for control, text in events)


def tls(events: list[tuple[int, bytes]]) -> bytes:
    return b"".join(struct.pack(">BH", control & 0x1F, len(content)) + content for control, content in events)


def record(content: int, fragment: bytes) -> bytes:
    return struct.pack(">BHH", content, 0x0303, len(fragment)) + fragment


def application(length: int) -> bytes:
    return record(23, bytes(length))


def hello(kind: int, middle: bytes, *extensions: tuple[int, bytes], random: bytes = bytes(32)) -> bytes:
    """Return a ClientHello (1) or a ServerHello (2) in a record of its own."""
    made = b"".join(struct.pack(">HH", number, len(data)) + data for number, data in extensions)
    body = b"\3\3" + random + b"\0" + middle + struct.pack(">H", len(made)) + made
    return record(22, bytes([kind]) + len(body).to_bytes(3, "big") + body)


def tls_exchanges() -> dict[str, bytes]:
    """Return handshakes of all kinds, and following data."""
    name = (0, b"\0\x0e\0\0\x0bexample.com")
    protocols = (16, b"\0\x0c\2h2\x08http/1.1")
    requested = hello(1, b"\0\4\x13\1\xc0\x2f\1\0", name, protocols)
    early = hello(1, b"\0\2\x13\1\1\0", name, (42, b""), (41, bytes(40)))
    answered = hello(2, b"\x13\1\0", (43, b"\3\4"))
    again = bytes.fromhex("CF21AD74E59A6111BE1D8C021E65B891C2A211167ABB8C5E079E09E2C8A8339C")
    retry = hello(2, b"\x13\1\0", (43, b"\3\4"), random=again)
    old = hello(2, b"\xc0\x2f\0", (16, b"\0\3\2h2"))
    change, closing = record(20, b"\1"), record(22, bytes(40))
    flight = answered + change + application(23) + application(800) + application(FINISHED)
    opened = [(CLIENT, requested), (SERVER, flight), (CLIENT, change + application(FINISHED))]
    chain = record(22, b"\x0b\0\1\0" + bytes(256)) + record(22, b"\x0e\0\0\0")
    keys = record(22, b"\x10\0\0\x21" + bytes(33))
    question, answer = (CLIENT, application(100)), (SERVER, application(206) + application(2000))
    return {
        "exchanges": tls([*opened, question, answer, question, answer, (SERVER | END, b"")]),
        "tickets": tls([*opened, question, (SERVER, application(TICKET) * 2), answer]),
        "group": tls([*opened, question, answer, (CLIENT, application(26)), answer]),
        "early_data": tls(
            [
                (CLIENT, early + change + application(90)),
                (SERVER, flight),
                (CLIENT, application(21) + application(53)),
            ]
        ),
        "certificate": tls(
            [*opened[:2], (CLIENT, application(900) + application(300) + application(FINISHED)), answer]
        ),
        "retry": tls(
            [(CLIENT, requested), (SERVER, retry), (CLIENT, change + requested), (SERVER, flight), question]
        ),
        "tls12": tls(
            [
                (CLIENT, requested),
                (SERVER, old + chain),
                (CLIENT, keys + change + closing),
                (SERVER, change + closing),
                question,
            ]
        ),
        "resumed": tls(
            [(CLIENT, requested), (SERVER, old + change + closing), (CLIENT, change + closing), question, answer]
        ),
        "alerts": tls([(CLIENT, requested), (SERVER, record(21, b"\2\x28")), (CLIENT, application(ALERT))]),
        "joined": tls([answer, question, answer]),
        "lost": tls(
            [*opened, question, (SERVER, application(9000)[:4000]), (SERVER | GAP, bytes(6000)), answer, answer]
        ),
        "odd": tls([*opened, (SERVER, b"no record at all"), (SERVER, record(23, b"")), question, answer]),
    }


#: No ordinary record: the first byte gives its kind.
UPDATE, TICKET, PADDED, DAMAGED, RAW = (bytes([kind]) for kind in range(1, 6))


def sealed_exchanges() -> dict[str, bytes]:
    """Return exchanges within TLS, alone and with possible interruptions."""
    question, answer = EXCHANGES["plain"]
    between = {
        "update": [(CLIENT | END, UPDATE), (SERVER | END, UPDATE)],
        "ticket": [(SERVER | END, TICKET + b"new session")],
        "padded": [(CLIENT | END, PADDED + b"GET /p HTTP/1.1\r\n\r\n"), answer],
        "damaged": [(SERVER | END, DAMAGED + b"HTTP/1.1 200 OK\r\n\r\n")],
        "raw": [(SERVER | END, RAW + b"\x17\3\3\0\x14no record of these keys")],
        "lost_ticket": [question, (SERVER | GAP, bytes(200))],
    }
    mixed = {name: http([*events, question, answer, question, answer]) for name, events in between.items()}
    return {name: http(events) for name, events in EXCHANGES.items()} | mixed


def frames(how: int, steps: list[tuple[Any, ...]]) -> bytes:
    """Steps of `http2`: (control, type, flags, stream, payload), or the raw bytes of another step."""
    made = bytes([how])
    for control, *rest in steps:
        *numbers, last = rest or [b""]
        made += bytes([control, *numbers]) + (bytes([len(last)]) + last if numbers else last)
    return made


def http2_exchanges() -> dict[str, bytes]:
    """Return streams: serial, concurrent, window-limited, pushed, reset, lost, with fragmented header blocks."""
    client, server, start, gap, raw, end = 0, 1, 6, 4, 12, 14
    get = bytes.fromhex("828684410f7777772e6578616d706c652e636f6d")
    again, answer = bytes.fromhex("828684be"), bytes.fromhex("885f0a746578742f68746d6c")
    grpc = bytes.fromhex("83860582") + b"/sx"[:2] + bytes.fromhex("5f106170706c69636174696f6e2f67727063")
    settings = bytes.fromhex("000100001000000300000064000400000014")
    opened = [(start,), (client, 4, 0, 0, settings), (server, 4, 0, 0, b""), (server, 4, 1, 0, b"")]
    requested, answered = (client, 1, 5, 1, get), (server, 1, 4, 1, answer)
    one = [requested, answered, (server, 0, 1, 1, b"hello")]
    third = [(client, 1, 5, 3, again), (server, 1, 4, 3, answer)]
    window = [(client, 8, 0, 1, b"\0\0\0\x14"), (client, 8, 0, 0, b"\0\1\0\0")]
    made = {
        "exchange": [*opened, *one, (end,), (end | 1,)],
        "multiplexed": [
            *opened,
            requested,
            *third,
            answered,
            (server, 0, 0, 3, b"a"),
            (server, 0, 1, 1, b"b"),
            (server, 0, 1, 3, b""),
        ],
        "windows": [
            *opened,
            requested,
            answered,
            (server, 0, 0, 1, bytes(20)),
            *window,
            (server, 0, 1, 1, bytes(20)),
        ],
        "continued": [
            *opened,
            (client, 1, 1, 1, get[:3]),
            (client, 9, 4, 1, get[3:]),
            answered,
            (server, 0, 9, 1, b"\2abcd"),
        ],
        "pushed": [
            *opened,
            requested,
            (server, 5, 4, 1, b"\0\0\0\2" + again),
            (server, 1, 5, 2, answer),
            answered,
        ],
        "reset": [
            *opened,
            requested,
            answered,
            (client, 3, 0, 1, b"\0\0\0\x08"),
            (server, 0, 1, 1, b"late"),
            (server, 7, 0, 0, bytes(8)),
        ],
        "lost": [
            *opened,
            *one,
            (gap | 1, b"\x1e"),
            *third,
            (server, 0, 1, 3, b"x"),
            (gap, b"\x09"),
            (client, 1, 5, 5, again),
        ],
        "grpc": [
            *opened,
            (client, 1, 4, 1, grpc),
            (client, 0, 1, 1, b"\0\0\0\0\1x"),
            answered,
            (server, 1, 5, 1, b"\x40\x0bgrpc-status\x010"),
        ],
        "interim": [
            *opened,
            requested,
            (server, 1, 4, 1, b"\x08\x03100"),
            answered,
            (server, 0x10, 0, 0, b"\0\0\0\1u=1"),
        ],
        "sizes": [
            *opened,
            (client, 1, 5, 1, b"\x3f\xe1\x1f" + get),
            (client, 1, 5, 3, b"\x20" + again),
            (server, 6, 0, 0, bytes(8)),
        ],
        "priorities": [
            *opened,
            (client, 2, 0, 1, bytes(5)),
            (client, 1, 0x2D, 1, b"\1" + bytes(5) + get + b"\0"),
            *one[1:],
        ],
        "broken": [*opened, requested, (raw | 1, b"\x08no frame"), *third, (server, 0, 1, 3, b"x")],
    }
    return {f"{name}_{how}": frames(how, made[name]) for at, name in enumerate(made) for how in {0, at % 4}}


def seeds() -> dict[str, dict[str, bytes]]:
    """Return the inputs by target and name."""
    samples = {path.stem: path.read_bytes() for path in sorted((ROOT / "sample_traces").glob("*.pcap"))}
    captures = {name: beginning(file) for name, file in samples.items()} | encapsulated()
    frame = captures["mpls"][PCAP_HEADER_BYTES + RECORD_HEADER_BYTES :]
    captures["pcapng"] = pcapng([frame, frame])
    steps = [
        bytes([what, 0, place, 5, 0, what])
        for what in (0x81, 0x82, 0x08, 0xD1)
        for place in (0, 20, 24, 22, 16, 18)
    ]
    return {
        "decoder": {name: file + CUT for name, file in captures.items()},
        "end_to_end": captures,
        "http": {name: http(events) for name, events in EXCHANGES.items()},
        "http2": http2_exchanges(),
        "tls": tls_exchanges(),
        "tls_keys": sealed_exchanges(),
        "reassembler": {f"steps_{at}": b"".join(steps[at:] + steps[:at]) for at in range(0, len(steps), 4)},
    }


if __name__ == "__main__":
    for target, inputs in seeds().items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in inputs.items():
            (folder / name).write_bytes(content)

"""Packet scripts: captures written down as tcpdump prints them, for the detectors' cases.

A line is a segment::

    +0.004911 S > C . 227:1687(1460) ack 53 win 16384 <mss 1460> {200 head=226 body=6425}

``+`` and the time in seconds since the start; ``C`` is the client, ``S`` the server; a number behind
``C`` is another connection of that client, with numbers of its own (``C2 > S``, ``S > C2``); flags as tcpdump
shows them (S F P R, ``.`` for a lone ACK); sequence numbers relative to the initial ones, as are
acknowledgments; then the window and the options in ``<>``: ``mss N``, ``sackOK``, ``ts``,
``wscale N``. What the payload says stands in ``{}``: ``{GET /path}`` is a request head that fills the
segment, ``{200 head=H body=B}`` a response head of H bytes (default: the whole segment) that announces
a body of B bytes; either with the word ``close`` says ``Connection: close``. All other payload is
body. A line that starts with ``#`` is a remark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import dpkt

#: Close to the end of the sequence space, so that every case wraps.
INITIAL = {"C": 2**32 - 40, "S": 2**32 - 1500}
ADDRESS = {"C": bytes([10, 0, 0, 1]), "S": bytes([10, 0, 0, 2])}
PORT = {"C": 40000, "S": 80}
FLAGS = {"S": 0x02, "F": 0x01, "P": 0x08, "R": 0x04, ".": 0}
LINE = re.compile(
    r"\+(?P<seconds>\d+)\.(?P<micros>\d{6}) (?P<sender>C\d*|S) > (?P<receiver>C\d*|S) (?P<flags>[SFPR.]+)"
    r"(?: (?P<start>\d+):\d+\((?P<length>\d+)\))?(?: ack (?P<ack>\d+))? win (?P<window>\d+)"
    r"(?: <(?P<options>[^>]*)>)?(?: \{(?P<payload>[^}]*)\})?$"
)


@dataclass(frozen=True, slots=True)
class Segment:
    time_ns: int
    sender: str
    #: 0 for ``C`` alone.
    connection: int
    flags: str
    start: int
    length: int
    ack: int | None
    window: int
    options: str
    payload: str


def parse(script: str) -> list[Segment]:
    """The segments of a script; a pure ACK starts where its sender has got to."""
    sent: dict[tuple[int, str], int] = {}
    segments = []
    for line in script.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = LINE.match(line.strip())
        if found is None:
            raise ValueError(f"not a segment: {line!r}")
        length = int(found["length"] or 0)
        sender = found["sender"][0]
        connection = int((found["sender"] + found["receiver"]).strip("CS") or 0)
        start = int(found["start"]) if found["start"] else sent.get((connection, sender), 1)
        segments.append(
            Segment(
                time_ns=int(found["seconds"]) * 10**9 + int(found["micros"]) * 1000,
                sender=sender,
                connection=connection,
                flags=found["flags"],
                start=start,
                length=length,
                ack=int(found["ack"]) if found["ack"] else None,
                window=int(found["window"]),
                options=found["options"] or "",
                payload=found["payload"] or "",
            )
        )
        is_syn = "S" in found["flags"]
        so_far = sent.get((connection, sender), 1)
        sent[connection, sender] = max(so_far, 1 if is_syn else start + length)
    return segments


def records(script: str) -> list[tuple[int, bytes]]:
    """(time in nanoseconds, Ethernet frame) for each segment of a script."""
    return [(segment.time_ns, frame(segment)) for segment in parse(script)]


def frame(segment: Segment) -> bytes:
    receiver = "S" if segment.sender == "C" else "C"
    is_syn = "S" in segment.flags
    port = PORT | {"C": PORT["C"] + segment.connection}
    flags = sum(FLAGS[flag] for flag in segment.flags) | (0x10 if segment.ack is not None else 0)
    tcp = dpkt.tcp.TCP(
        sport=port[segment.sender],
        dport=port[receiver],
        seq=(INITIAL[segment.sender] + (0 if is_syn else segment.start)) % 2**32,
        ack=0 if segment.ack is None else (INITIAL[receiver] + segment.ack) % 2**32,
        flags=flags,
        win=segment.window,
        opts=options(segment.options),
        data=payload(segment),
    )
    tcp.off = (20 + len(tcp.opts)) // 4
    ip = dpkt.ip.IP(src=ADDRESS[segment.sender], dst=ADDRESS[receiver], p=6, ttl=64, data=tcp)
    ip.len = 20 + len(tcp)
    return bytes(dpkt.ethernet.Ethernet(src=b"\2" * 6, dst=b"\4" * 6, type=0x0800, data=ip))


def options(text: str) -> bytes:
    made = b""
    for option in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = option.partition(" ")
        if name == "mss":
            made += b"\x02\x04" + int(value).to_bytes(2, "big")
        elif name == "wscale":
            made += b"\x03\x03" + bytes([int(value)])
        elif name == "sackOK":
            made += b"\x04\x02"
        elif name == "ts":
            made += b"\x08\x0a" + bytes(8)
        else:
            raise ValueError(f"unknown option: {option!r}")
    return made + b"\x01" * (-len(made) % 4)


def payload(segment: Segment) -> bytes:
    if not segment.payload:
        return b"x" * segment.length
    first, *rest = segment.payload.split()
    given = dict(part.split("=") for part in rest if "=" in part)
    if first.isdigit():
        head_bytes = int(given.get("head", segment.length))
        lines = [f"HTTP/1.1 {first} Fine", f"Content-Length: {given['body']}"]
    else:
        head_bytes = segment.length
        lines = [f"{first} {rest[0]} HTTP/1.1", "Host: h"]
    if "close" in rest:
        lines.append("Connection: close")
    head = padded(lines, head_bytes)
    if len(head) > segment.length:
        raise ValueError(f"the head does not fit in {segment.length} bytes: {segment}")
    return head + b"x" * (segment.length - len(head))


def padded(lines: list[str], length: int) -> bytes:
    """A head of exactly that length: a field of padding is put in."""
    missing = length - len("\r\n".join([*lines, "", ""]).encode())
    if missing:
        if missing < len("P: \r\n"):
            raise ValueError(f"no head of {length} bytes can be made of {lines}")
        lines = [*lines, "P: " + "p" * (missing - len("P: \r\n"))]
    return "\r\n".join([*lines, "", ""]).encode()

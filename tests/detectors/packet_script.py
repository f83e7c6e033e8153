"""Packet scripts: captures in tcpdump's notation, for the detectors' cases.

Each line is a segment, in capture order::

    +0.004911 S > C . 227:1687(1460) ack 53 win 16384 <mss 1460> {200 head=226 body=6425}

The fields in order, optional fields in brackets:

``+0.004911``
    Seconds since the start, with six digits (microseconds) or nine.
``S > C``
    Sender and receiver. ``C`` is a client, ``S`` a server. ``C2``, ``C3`` … is the client's next port, ``S2``,
    ``S3`` … another server (each with its own address), and ``S:445`` another port of a server. Each pair is a
    connection. Only the times show the capture point.
``.``
    Flags as tcpdump shows them: S F R P U E W, ``.`` for none; ``ack N`` adds the ACK flag.
``[227:1687(1460)]``
    Sequence numbers, relative to the initial one (SYN is 0, the first byte 1), and the payload.
    Without it, the segment has no payload and the sender's next sequence number. FIN takes a number.
``[ack 53]``, ``win 16384``
    Relative acknowledgment number; window as in the header, not scaled.
``[<mss 1460, sackOK>]``
    TCP options: ``mss N``, ``wscale N``, ``sackOK``, ``nop``, ``ts`` (both values zero) or ``ts val N ecr N``,
    ``sack 1461:2921 4381:5841`` with relative blocks (a first block below the acknowledgment, or inside the
    second, is a D-SACK).
``[id N]``, ``[captured N]``
    IP identification, by default zero. Number of captured payload bytes; the snapshot length cut off the rest.
``[{…}]``
    Messages in the payload. All other payload is filler: incompressible bytes, unique within the script.

The payload is a list of messages, separated by `` ; ``. It may continue in later segments. Retransmitted data
repeats its first content.

``GET /path`` (any method in capitals)
    A request head, followed by: ``body=N`` (Content-Length), ``referer=URL``, ``cookie=N`` (a value of
    N bytes), ``range=0-99``, ``accept-encoding=gzip``, ``if-none-match=TAG``, ``expect``
    (100-continue), ``host=NAME`` (default h).
``200`` (any status)
    A response head, followed by: ``body=N`` (Content-Length), ``chunked=500,300`` (the sizes of the chunks; the
    last chunk follows them), ``text=NAME`` (a text body that depends only on the name; ``NAME.2`` is the same
    text with another first line), ``type=text/html``, ``encoding=gzip``, ``etag=TAG``, ``location=URL``,
    ``cookie=N`` (Set-Cookie), ``server=NAME``. A response has a body unless its status forbids a body (1xx,
    204, 304). Without ``body`` or ``chunked``, the body ends with ``close``.
both
    ``head=N``: bytes of the start line and all fields, by padding; by default, the head of a lone message fills
    its segment. ``close``, ``keep-alive``: the Connection field. ``version=1.0``. A key with a capital letter
    is a literal field: ``Cache-Control=no-store``. Values with spaces need quotes.
``filler=N``
    N bytes outside any message: for example the end of a body before the next message's head.
``client_hello``, ``server_flight`` and other words of TLS
    See ``tls_script``.
``h2 HEADERS 1 GET /path end``, ``h2 DATA 1 1300`` and other frames of HTTP/2
    See ``h2_script``.

A line that starts with ``#`` is a comment. Any other content is an error.
"""

from __future__ import annotations

import re
import shlex
import struct
from dataclasses import dataclass, field
from hashlib import sha256

import dpkt

from . import h2_script, tls_script

#: Close to the end of the sequence space, so that every case wraps.
INITIAL = {"C": 2**32 - 40, "S": 2**32 - 1500}
PORT = {"C": 40000, "S": 80}
FLAGS = {"F": 0x01, "S": 0x02, "R": 0x04, "P": 0x08, "U": 0x20, "E": 0x40, "W": 0x80, ".": 0}
ACK = 0x10
LINE = re.compile(
    r"\+(?P<seconds>\d+)\.(?P<fraction>\d{6}(?:\d{3})?) "
    r"(?P<sender>[CS]\d*(?::\d+)?) > (?P<receiver>[CS]\d*(?::\d+)?)"
    r" (?P<flags>[SFPRUEW.]+)(?: (?P<start>\d+):(?P<end>\d+)\((?P<length>\d+)\))?(?: ack (?P<ack>\d+))?"
    r" win (?P<window>\d+)(?: <(?P<options>[^>]*)>)?(?: id (?P<id>\d+))?(?: captured (?P<captured>\d+))?"
    r"(?: \{(?P<payload>[^}]*)\})?"
)
PCAP_NANOSECONDS, ETHERNET = 0xA1B23C4D, 1
PCAP_SNAPSHOT_BYTES = 262_144

#: Fields for a message's keyword; a number makes a value of that many bytes.
REQUEST_FIELDS = {
    "referer": "Referer",
    "range": "Range",
    "accept-encoding": "Accept-Encoding",
    "if-none-match": "If-None-Match",
}
RESPONSE_FIELDS = {
    "type": "Content-Type",
    "encoding": "Content-Encoding",
    "etag": "ETag",
    "location": "Location",
    "server": "Server",
}
COOKIE = {"request": "Cookie", "response": "Set-Cookie"}
#: Fields for a keyword without a value.
REQUEST_WORDS = {
    "close": "Connection: close",
    "keep-alive": "Connection: keep-alive",
    "expect": "Expect: 100-continue",
}
RESPONSE_WORDS = {"close": "Connection: close", "keep-alive": "Connection: keep-alive"}


@dataclass(frozen=True, slots=True)
class Segment:
    time_ns: int
    sender: str
    receiver: str
    flags: str
    start: int
    length: int
    ack: int | None
    window: int
    options: str
    identification: int
    captured: int | None
    payload: bytes


@dataclass(slots=True)
class Stream:
    """Sent data of one end of a connection: its next sequence number, and its messages."""

    name: str
    next: int = 1
    said: dict[int, bytes] = field(default_factory=dict)

    def payload(self, start: int, length: int) -> bytes:
        """Return the bytes from ``start``: messages, else filler."""
        made = bytearray(filler(self.name, start, length))
        for place, text in self.said.items():
            first, last = max(place, start), min(place + len(text), start + length)
            if first < last:
                made[first - start : last - start] = text[first - place : last - place]
        return bytes(made)


def parse(script: str) -> list[Segment]:
    """Return the segments of a script."""
    streams: dict[tuple[str, str], Stream] = {}
    return [
        segment(line.strip(), streams)
        for line in script.splitlines()
        if line.strip() and not line.strip().startswith("#")
    ]


def segment(line: str, streams: dict[tuple[str, str], Stream]) -> Segment:
    """Return the segment of a line; a pure ACK starts at its sender's next sequence number."""
    found = LINE.fullmatch(line)
    if found is None or {found["sender"][0], found["receiver"][0]} != {"C", "S"}:
        raise ValueError(f"not a segment: {line!r}")
    ends = (found["sender"], found["receiver"])
    stream = streams.setdefault(ends, Stream(" ".join(ends)))
    is_syn = "S" in found["flags"]
    start = int(found["start"]) if found["start"] else 0 if is_syn else stream.next
    length = int(found["length"] or 0)
    if found["end"] and int(found["end"]) != start + length:
        raise ValueError(f"{start} + {length} is not {found['end']}: {line!r}")
    # Payload of a SYN (TCP fast open) follows the SYN's own sequence number.
    data = start + is_syn
    if found["payload"] is not None:
        stream.said[data] = messages(found["payload"], length, f"{stream.name} {data}")
    if found["captured"] and int(found["captured"]) > length:
        raise ValueError(f"more captured than sent: {line!r}")
    end = data + length + ("F" in found["flags"])
    stream.next = max(stream.next, end)
    return Segment(
        time_ns=int(found["seconds"]) * 10**9 + int(found["fraction"].ljust(9, "0")),
        sender=found["sender"],
        receiver=found["receiver"],
        flags=found["flags"],
        start=start,
        length=length,
        ack=int(found["ack"]) if found["ack"] else None,
        window=int(found["window"]),
        options=found["options"] or "",
        identification=int(found["id"] or 0),
        captured=int(found["captured"]) if found["captured"] else None,
        payload=stream.payload(data, length),
    )


def connections(script: str) -> int:
    """Return the number of connections in a script."""
    return len({frozenset((one.sender, one.receiver)) for one in parse(script)})


def pcap(script: str) -> bytes:
    """Return the capture file of a script."""
    header = struct.pack("<IHHiIII", PCAP_NANOSECONDS, 2, 4, 0, 0, PCAP_SNAPSHOT_BYTES, ETHERNET)
    return header + b"".join(record(one) for one in parse(script))


def record(one: Segment) -> bytes:
    whole = frame(one)
    captured = whole if one.captured is None else whole[: len(whole) - one.length + one.captured]
    return struct.pack("<IIII", *divmod(one.time_ns, 10**9), len(captured), len(whole)) + captured


def frame(one: Segment) -> bytes:
    """Return the Ethernet frame of a segment."""
    flags = sum(FLAGS[flag] for flag in one.flags) | (0 if one.ack is None else ACK)
    tcp = dpkt.tcp.TCP(
        sport=port(one.sender),
        dport=port(one.receiver),
        seq=(INITIAL[one.sender[0]] + one.start) % 2**32,
        ack=0 if one.ack is None else (INITIAL[one.receiver[0]] + one.ack) % 2**32,
        flags=flags,
        win=one.window,
        opts=options(one.options, INITIAL[one.receiver[0]]),
        data=one.payload,
    )
    tcp.off = (20 + len(tcp.opts)) // 4
    ip = dpkt.ip.IP(
        src=address(one.sender), dst=address(one.receiver), id=one.identification, p=6, ttl=64, data=tcp
    )
    ip.len = 20 + len(tcp)
    return bytes(dpkt.ethernet.Ethernet(src=b"\2" * 6, dst=b"\4" * 6, type=0x0800, data=ip))


def number(name: str) -> int:
    """Return the index (from 0) of the client port or of the server."""
    return int(name[1:].partition(":")[0] or 1) - 1


def port(name: str) -> int:
    _, _, other = name.partition(":")
    return int(other) if other else PORT[name[0]] + (number(name) if name[0] == "C" else 0)


def address(name: str) -> bytes:
    return bytes([10, 0, 0, 2 + number(name) if name[0] == "S" else 1])


def options(text: str, peer_initial: int) -> bytes:
    """Return TCP options in header form, padded with no-operations."""
    made = b"".join(option(part.strip(), peer_initial) for part in text.split(",") if part.strip())
    return made + b"\x01" * (-len(made) % 4)


def option(text: str, peer_initial: int) -> bytes:
    match text.split():
        case ["mss", value]:
            made = struct.pack(">BBH", 2, 4, int(value))
        case ["wscale", value]:
            made = struct.pack(">BBB", 3, 3, int(value))
        case ["sackOK"]:
            made = struct.pack(">BB", 4, 2)
        case ["nop"]:
            made = b"\x01"
        case ["ts"]:
            made = struct.pack(">BBII", 8, 10, 0, 0)
        case ["ts", "val", value, "ecr", echo]:
            made = struct.pack(">BBII", 8, 10, int(value), int(echo))
        case ["sack", *blocks] if blocks:
            edges = [(peer_initial + int(edge)) % 2**32 for block in blocks for edge in block.split(":")]
            made = struct.pack(f">BB{2 * len(blocks)}I", 5, 2 + 8 * len(blocks), *edges)
        case _:
            raise ValueError(f"unknown option: {text!r}")
    return made


def filler(name: str, start: int, length: int) -> bytes:
    """Return bytes from ``start`` of an endless stream of digests, one stream per name."""
    blocks = range(start // 32, (start + length) // 32 + 1)
    made = b"".join(sha256(f"{name} {block}".encode()).digest() for block in blocks)
    return made[start % 32 :][:length]


def html(name: str, length: int) -> bytes:
    """Return this many bytes of text: lines that differ by their numbers."""
    page, _, variant = name.partition(".")
    step = int.from_bytes(page.encode(), "big")
    # A line has at least one byte.
    lines = "".join(f"<li id={number}>{page} {number * step % 10007}</li>\n" for number in range(length))
    comment = f"<!-- {variant} -->" if variant else ""
    return (comment + lines[len(comment) :])[:length].encode()


def messages(text: str, length: int, place: str) -> bytes:
    """Return the bytes of a payload's messages at ``place``; a lone head fills ``length`` bytes."""
    parts: list[list[str]] = [[]]
    for word in shlex.split(text):
        if word == ";":
            parts.append([])
        else:
            parts[-1].append(word)
    if all(words[:1] == [h2_script.WORD] for words in parts):
        return h2_script.frames(parts, length, lambda part, size: filler(f"{place} {part}", 0, size))
    fills = length if len(parts) == 1 else None
    return b"".join(message(words, fills, f"{place} {part}") for part, words in enumerate(parts))


def message(words: list[str], fills: int | None, place: str) -> bytes:
    """Return head and framing of one message, its body as text or filler."""
    if not words:
        raise ValueError("an empty message")
    first, *rest = words
    if first.startswith("filler="):
        return filler(place, 0, int(first.removeprefix("filler=")))
    if first in tls_script.WORDS:
        return tls_script.said(words, fills)
    given = dict(word.split("=", 1) for word in rest if "=" in word)
    is_response = first.isdigit()
    flags = [word for word in rest if "=" not in word]
    target = "" if is_response or not flags else flags.pop(0)
    if not is_response and not (first.isupper() and target):
        raise ValueError(f"neither a request nor a response: {words}")
    version = f"HTTP/{given.pop('version', '1.1')}"
    head_bytes, body, chunks = given.pop("head", None), given.pop("body", None), given.pop("chunked", None)
    text = given.pop("text", None)
    lines = (
        [f"{version} {first} Fine"]
        if is_response
        else [f"{first} {target} {version}", f"Host: {given.pop('host', 'h')}"]
    )
    lines += fields(given, flags, is_response=is_response)
    if is_response:
        lines += framing(int(first), body, chunks, closes="close" in flags)
    elif chunks is None and body is not None:
        lines.append(f"Content-Length: {body}")
    elif chunks is not None:
        lines.append("Transfer-Encoding: chunked")
    head = padded(lines, int(head_bytes) if head_bytes else fills)
    if fills is not None and head_bytes is None and len(head) > fills:
        raise ValueError(f"the head does not fit in {fills} bytes: {words}")
    if chunks is not None:
        sizes = [int(size) for size in [*chunks.split(","), "0"]]
        return head + b"".join(chunk(size, filler(f"{place} {at}", 0, size)) for at, size in enumerate(sizes))
    return head + (html(text, int(body or 0)) if text else filler(place, 0, int(body or 0)))


def framing(status: int, body: str | None, chunks: str | None, *, closes: bool) -> list[str]:
    """Return the fields that determine the response's end."""
    if chunks is not None:
        return ["Transfer-Encoding: chunked"]
    if body is not None:
        return [f"Content-Length: {body}"]
    if status // 100 != 1 and status not in {204, 304} and not closes:
        raise ValueError(f"where does the body of a {status} end? body=, chunked= or close")
    return []


def fields(given: dict[str, str], flags: list[str], *, is_response: bool) -> list[str]:
    names, alone = (RESPONSE_FIELDS, RESPONSE_WORDS) if is_response else (REQUEST_FIELDS, REQUEST_WORDS)
    made = []
    for name, value in given.items():
        if name == "cookie":
            made.append(f"{COOKIE['response' if is_response else 'request']}: {'c' * int(value)}")
        elif name[:1].isupper():
            made.append(f"{name}: {value}")
        elif name in names:
            made.append(f"{names[name]}: {f'bytes={value}' if name == 'range' else value}")
        else:
            raise ValueError(f"unknown word: {name!r}")
    for word in flags:
        if word not in alone:
            raise ValueError(f"unknown word: {word!r}")
        made.append(alone[word])
    return made


def chunk(size: int, data: bytes) -> bytes:
    """Return a chunk of a body (RFC 9112, section 7.1); the empty chunk is the last."""
    return f"{size:x}\r\n".encode() + data + b"\r\n"


def padded(lines: list[str], length: int | None) -> bytes:
    """Return a head padded to exactly this length; None is its natural length."""
    missing = 0 if length is None else length - len("\r\n".join([*lines, "", ""]).encode())
    if missing:
        if missing < len("P: \r\n"):
            raise ValueError(f"no head of {length} bytes can be made of {lines}")
        lines = [*lines, "P: " + "p" * (missing - len("P: \r\n"))]
    return "\r\n".join([*lines, "", ""]).encode()

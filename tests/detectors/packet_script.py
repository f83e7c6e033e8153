"""Packet scripts: captures written down as tcpdump prints them, for the detectors' cases.

A line is a segment::

    +0.004911 S > C . 227:1687(1460) ack 53 win 16384 <mss 1460> {200 head=226 body=6425}

``+`` and the time in seconds since the start; ``C`` is the client, ``S`` the server; flags as tcpdump
shows them (S F P R, ``.`` for a lone ACK); sequence numbers relative to the initial ones, as are
acknowledgments; then the window and the options in ``<>``: ``mss N``, ``sackOK``, ``ts``,
``wscale N``. What the payload says stands in ``{}``: ``{GET /path}`` is a request head that fills the
segment, ``{200 head=H body=B}`` a response head of H bytes (default: the whole segment) that announces
a body of B bytes. All other payload is body. A line that starts with ``#`` is a remark.

Behind these words stand fields of the head, by the short names in ``FIELDS``: ``{200 head=300 body=9000
etag="1" type=text/html}``; a value has no spaces. ``text=NAME`` fills the body with text, the same for
the same name; ``text=NAME.2`` is that text with one line changed. Any other payload differs from byte to
byte and from response to response.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

import dpkt

#: Close to the end of the sequence space, so that every case wraps.
INITIAL = {"C": 2**32 - 40, "S": 2**32 - 1500}
ADDRESS = {"C": bytes([10, 0, 0, 1]), "S": bytes([10, 0, 0, 2])}
PORT = {"C": 40000, "S": 80}
FLAGS = {"S": 0x02, "F": 0x01, "P": 0x08, "R": 0x04, ".": 0}
LINE = re.compile(
    r"\+(?P<seconds>\d+)\.(?P<micros>\d{6}) (?P<sender>[CS]) > [CS] (?P<flags>[SFPR.]+)"
    r"(?: (?P<start>\d+):\d+\((?P<length>\d+)\))?(?: ack (?P<ack>\d+))? win (?P<window>\d+)"
    r"(?: <(?P<options>[^>]*)>)?(?: \{(?P<payload>[^}]*)\})?$"
)


FIELDS = {
    "accept": "Accept-Encoding",
    "match": "If-None-Match",
    "expect": "Expect",
    "etag": "ETag",
    "modified": "Last-Modified",
    "cache": "Cache-Control",
    "type": "Content-Type",
    "coding": "Content-Encoding",
    "location": "Location",
}


@dataclass(frozen=True, slots=True)
class Segment:
    time_ns: int
    sender: str
    flags: str
    start: int
    length: int
    ack: int | None
    window: int
    options: str
    payload: str


def parse(script: str) -> list[Segment]:
    """The segments of a script; a pure ACK starts where its sender has got to."""
    sent = {"C": 1, "S": 1}
    segments = []
    for line in script.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = LINE.match(line.strip())
        if found is None:
            raise ValueError(f"not a segment: {line!r}")
        length = int(found["length"] or 0)
        start = int(found["start"]) if found["start"] else sent[found["sender"]]
        segments.append(
            Segment(
                time_ns=int(found["seconds"]) * 10**9 + int(found["micros"]) * 1000,
                sender=found["sender"],
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
        sent[found["sender"]] = max(sent[found["sender"]], 1 if is_syn else start + length)
    return segments


def records(script: str) -> list[tuple[int, bytes]]:
    """(time in nanoseconds, Ethernet frame) for each segment of a script."""
    segments = parse(script)
    texts = [text for segment in segments if (text := body_text(segment))]
    return [(segment.time_ns, frame(segment, texts)) for segment in segments]


#: Sender, where in its stream, and what.
Text = tuple[str, int, bytes]


def body_text(segment: Segment) -> Text | None:
    """The text of the body whose head stands in the segment, if the script names one."""
    given = dict(part.split("=", 1) for part in segment.payload.split() if "=" in part)
    if "text" not in given:
        return None
    name, _, variant = given["text"].partition(".")
    step = int.from_bytes(name.encode(), "big")
    lines = (f"<li id={number}>{name} {number * step % 10007}</li>\n" for number in range(int(given["body"])))
    text = "".join(lines)[: int(given["body"])]
    changed = text if not variant else f"<!-- {variant} -->{text[len(variant) + 9 :]}"
    return segment.sender, segment.start + int(given.get("head", segment.length)), changed.encode()


def body_bytes(segment: Segment, start: int, texts: list[Text]) -> bytes:
    """What the segment carries from stream offset ``start`` on."""
    end = segment.start + segment.length
    for sender, at, text in texts:
        if sender == segment.sender and at <= start < min(end, at + len(text)):
            found = text[start - at : end - at]
            return found + body_bytes(segment, start + len(found), texts)
    # Digests of the offset: nothing repeats within a script, and no coder makes it smaller.
    blocks = (sha256(block.to_bytes(8, "big")).digest() for block in range(start // 32, end // 32 + 1))
    return b"".join(blocks)[start % 32 :][: end - start]


def frame(segment: Segment, texts: list[Text]) -> bytes:
    receiver = "S" if segment.sender == "C" else "C"
    is_syn = "S" in segment.flags
    flags = sum(FLAGS[flag] for flag in segment.flags) | (0x10 if segment.ack is not None else 0)
    tcp = dpkt.tcp.TCP(
        sport=PORT[segment.sender],
        dport=PORT[receiver],
        seq=(INITIAL[segment.sender] + (0 if is_syn else segment.start)) % 2**32,
        ack=0 if segment.ack is None else (INITIAL[receiver] + segment.ack) % 2**32,
        flags=flags,
        win=segment.window,
        opts=options(segment.options),
        data=payload(segment, texts),
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


def payload(segment: Segment, texts: list[Text]) -> bytes:
    if not segment.payload:
        return body_bytes(segment, segment.start, texts)
    first, *rest = segment.payload.split()
    given = dict(part.split("=", 1) for part in rest if "=" in part)
    fields = [f"{FIELDS[name]}: {value}" for name, value in given.items() if name in FIELDS]
    if first.isdigit():
        head_bytes = int(given.get("head", segment.length))
        length = [f"Content-Length: {given['body']}"] if "body" in given else []
        lines = [f"HTTP/1.1 {first} Fine", *length, *fields]
    else:
        head_bytes = segment.length
        length = [f"Content-Length: {given['body']}"] if "body" in given else []
        lines = [f"{first} {rest[0]} HTTP/1.1", f"Host: {given.get('host', 'h')}", *length, *fields]
    head = padded(lines, head_bytes)
    if len(head) > segment.length:
        raise ValueError(f"the head does not fit in {segment.length} bytes: {segment}")
    return head + body_bytes(segment, segment.start + len(head), texts)


def padded(lines: list[str], length: int) -> bytes:
    """A head of exactly that length: a field of padding is put in."""
    missing = length - len("\r\n".join([*lines, "", ""]).encode())
    if missing:
        if missing < len("P: \r\n"):
            raise ValueError(f"no head of {length} bytes can be made of {lines}")
        lines = [*lines, "P: " + "p" * (missing - len("P: \r\n"))]
    return "\r\n".join([*lines, "", ""]).encode()

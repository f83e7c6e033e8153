"""Output of tshark on HTTP/2 in a capture: its frames, and each stream's result."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["Frame", "Stream", "frame_types", "frames", "streams"]

#: RFC 9113, section 6, in numerical order.
NAMES: Final = (
    *("data", "headers", "priority", "rst_stream", "settings", "push_promise", "ping", "goaway"),
    *("window_update", "continuation"),
)
_PADDED: Final = 8
_FINAL: Final = 200


@dataclass(frozen=True, slots=True)
class Frame:
    flow: int
    source_port: int
    kind: str
    stream: int
    #: Without padding.
    body_bytes: int
    fields: tuple[tuple[str, str], ...]
    promised: int | None


@dataclass(slots=True)
class Stream:
    method: str | None = None
    target: str | None = None
    status: int | None = None
    #: DATA bytes of the client and of the server.
    body_bytes: list[int] = field(default_factory=lambda: [0, 0])


def frames(capture: Path, options: Sequence[str]) -> list[Frame]:
    """Return the frames in order; ``options`` give tshark the ports and keys."""
    command = ["tshark", "-n", "-r", str(capture), *options, "-Y", "http2", "-T", "pdml", "-J", "tcp http2"]
    said = subprocess.run(command, check=True, capture_output=True).stdout
    packets = ET.fromstring(said).findall("packet")
    return [frame for packet in packets for frame in _of_packet(packet)]


def _of_packet(packet: ET.Element) -> Iterator[Frame]:
    (tcp,) = packet.findall("proto[@name='tcp']")
    flow, port = (int(_shown(tcp, name)) for name in ("tcp.stream", "tcp.srcport"))
    for element in packet.findall("proto[@name='http2']/field[@name='http2.stream']"):
        # The connection preface has no frame type.
        if element.find("field[@name='http2.type']") is not None:
            yield _frame(element, flow, port)


def _frame(element: ET.Element, flow: int, port: int) -> Frame:
    kind, stream, length, flags = (
        int(_shown(element, f"http2.{name}"), 0) for name in ("type", "streamid", "length", "flags")
    )
    if kind == NAMES.index("data") and flags & _PADDED:
        length -= 1 + int(_shown(element, "http2.pad_length"))
    promised = _shown(element, "http2.push_promise.promised_stream_id")
    headers = element.findall(".//field[@name='http2.header']")
    fields = tuple((_shown(each, "http2.header.name"), _shown(each, "http2.header.value")) for each in headers)
    name = NAMES[kind] if kind < len(NAMES) else "other"
    return Frame(flow, port, name, stream, length, fields, int(promised) if promised else None)


def _shown(element: ET.Element, name: str) -> str:
    found = element.find(f".//field[@name='{name}']")
    return "" if found is None else found.attrib["show"]


def frame_types(found: Sequence[Frame]) -> dict[int, Counter[str]]:
    """Return the number of frames of each type, by flow."""
    counts: dict[int, Counter[str]] = {}
    for frame in found:
        counts.setdefault(frame.flow, Counter())[frame.kind] += 1
    return counts


def streams(found: Sequence[Frame], server_ports: Sequence[int]) -> dict[tuple[int, int], Stream]:
    """Return the streams with a header block (request or promised response), by flow and number.

    A stream ends with RST_STREAM: the receiver ignores DATA that was on its way (RFC 9113, section 5.1).
    """
    made: dict[tuple[int, int], Stream] = {}
    reset: set[tuple[int, int]] = set()
    for frame in found:
        number = frame.stream if frame.promised is None else frame.promised
        if frame.kind == "rst_stream":
            reset.add((frame.flow, number))
        if (frame.flow, number) in reset:
            continue
        if frame.kind in ("headers", "push_promise", "continuation"):
            _take_fields(made.setdefault((frame.flow, number), Stream()), dict(frame.fields))
        elif frame.kind == "data":
            made[frame.flow, number].body_bytes[frame.source_port in server_ports] += frame.body_bytes
    return made


def _take_fields(stream: Stream, fields: dict[str, str]) -> None:
    stream.method = fields.get(":method", stream.method)
    stream.target = fields.get(":path", stream.target)
    if int(fields.get(":status", 0)) >= _FINAL:
        stream.status = int(fields[":status"])

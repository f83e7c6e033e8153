"""Requests and responses of a flow (RFC 9112), read from packets by dpkt, with the frames of their bytes.

Reading stops at the first missing byte: the truth about messages needs complete messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Flow, Packet

__all__ = ["Exchange", "Message", "exchanges_of"]

_START: Final = re.compile(rb"(?:HTTP/1\.[01] (?P<status>\d{3})|(?P<method>[A-Z]+) (?P<target>\S+) HTTP/1\.[01])")
_NO_BODY_STATUS: Final = (204, 304)
_FIRST_FINAL_STATUS: Final = 200


@dataclass(slots=True)
class Message:
    """Request or response: its place in the stream, and its captured parts."""

    start_line: str
    fields: dict[str, str]
    start: int
    head_bytes: int
    end: int = 0
    body: bytes = b""
    is_complete: bool = False
    lasts_until_close: bool = False
    packets: list[Packet] = field(default_factory=list)  #: those that brought new bytes of it, as captured
    interim: int = 0  #: 1xx responses before it

    @property
    def status(self) -> int:
        return int(self.start_line.split()[1])

    @property
    def method(self) -> str:
        return self.start_line.split()[0]

    @property
    def target(self) -> str:
        return self.start_line.split()[1]

    @property
    def first(self) -> Packet:
        return min(self.packets, key=lambda packet: packet.frame)

    @property
    def last(self) -> Packet:
        return max(self.packets, key=lambda packet: packet.frame)

    @property
    def wire_bytes(self) -> int:
        return self.end - self.start


@dataclass(slots=True)
class Exchange:
    """Request with its response, either of which may be missing; ``index`` counts on the flow."""

    client_port: int
    index: int
    request: Message | None
    response: Message | None


def exchanges_of(flow: Flow) -> list[Exchange]:
    requests = list(_messages(_Stream(flow, by_client=True), []))
    methods = [request.method for request in requests]
    responses = list(_messages(_Stream(flow, by_client=False), methods))
    if not responses and not requests:
        return []
    count = max(len(requests), len(responses))
    return [
        Exchange(
            flow.client_port,
            index,
            requests[index] if index < len(requests) else None,
            responses[index] if index < len(responses) else None,
        )
        for index in range(count)
    ]


class _Stream:
    """Bytes of one direction in order, up to the first uncaptured byte, and their packets."""

    def __init__(self, flow: Flow, *, by_client: bool) -> None:
        self.pieces: list[tuple[int, int, Packet]] = []
        self.is_closed = False
        content = bytearray()
        waiting: dict[int, Packet] = {}
        for packet in flow.sent(by_client=by_client):
            self.is_closed |= packet.has(0x05)
            if packet.payload_bytes and len(packet.payload) == packet.payload_bytes:
                waiting.setdefault(packet.seq, packet)
            while self._take(content, waiting):
                pass
        self.content = bytes(content)

    def _take(self, content: bytearray, waiting: dict[int, Packet]) -> bool:
        at = len(content) + 1  # the SYN is 0
        for seq, packet in list(waiting.items()):
            if packet.end <= at:
                del waiting[seq]
            elif seq <= at:
                del waiting[seq]
                content += packet.payload[at - seq :]
                self.pieces.append((at - 1, packet.end - 1, packet))
                return True
        return False

    def packets(self, start: int, end: int) -> list[Packet]:
        return [packet for first, last, packet in self.pieces if first < end and last > start]


def _messages(stream: _Stream, methods: list[str]) -> Iterator[Message]:
    """Yield the messages of a stream; ``methods`` are the requests' methods, for the framing of responses."""
    at, interim, number = 0, 0, 0
    while at < len(stream.content):
        found = _START.match(stream.content, at)
        head_end = stream.content.find(b"\r\n\r\n", at) + 4
        if not found or head_end < 4:
            return
        lines = stream.content[at : head_end - 4].decode("latin-1").split("\r\n")
        fields = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines[1:])}
        message = Message(lines[0], fields, at, head_end - at, interim=interim)
        if found["status"] and int(found["status"]) < _FIRST_FINAL_STATUS:
            at, interim = head_end, interim + 1
            continue
        method = methods[number] if found["status"] and number < len(methods) else ""
        _frame_body(message, stream, head_end, method if found["status"] else None)
        message.packets = stream.packets(at, message.end)
        at, interim, number = message.end, 0, number + 1
        yield message
        if not message.is_complete:
            return


def _frame_body(message: Message, stream: _Stream, start: int, answered: str | None) -> None:
    """Find the end of the body (RFC 9112, section 6.3); ``answered`` is None for a request."""
    is_response = answered is not None
    if is_response and (answered == "HEAD" or message.status in _NO_BODY_STATUS):
        message.end, message.is_complete = start, True
    elif message.fields.get("transfer-encoding", "").lower() == "chunked":
        _read_chunks(message, stream.content, start)
    elif message.fields.get("content-length", "").isdigit():
        wanted = start + int(message.fields["content-length"])
        message.end = min(wanted, len(stream.content))
        message.body, message.is_complete = stream.content[start : message.end], message.end == wanted
    elif is_response:
        message.end, message.body = len(stream.content), stream.content[start:]
        message.is_complete, message.lasts_until_close = stream.is_closed, True
    else:
        message.end, message.is_complete = start, True


def _read_chunks(message: Message, content: bytes, at: int) -> None:
    body = bytearray()
    message.end = len(content)
    while (line_end := content.find(b"\r\n", at)) >= 0:
        size = int(content[at:line_end].split(b";")[0], 16)
        if size == 0:
            end = content.find(b"\r\n", line_end + 2)
            if end >= 0:
                message.end, message.is_complete = end + 2, True
            break
        body += content[line_end + 2 : line_end + 2 + size]
        at = line_end + 2 + size + 2
        if at > len(content):
            break
    message.body = bytes(body)

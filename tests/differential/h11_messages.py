"""Messages of a byte stream as parsed by h11, with a new parser per message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import h11

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .streams import Stream

__all__ = ["Message", "Parsed", "requests", "responses"]

_SWITCHING_PROTOCOLS: Final = 101
_CHUNK: Final = 64 * 1024
#: The analyser's limit on a head.
_HEAD_MAX: Final = 256 * 1024
#: The analyser's limit on a target.
_TARGET_MAX: Final = 8 * 1024
_FRAMINGS: Final = {
    "ContentLengthReader": "content_length",
    "ChunkedReader": "chunked",
    "Http10Reader": "until_close",
}


@dataclass(slots=True)
class Message:
    """Message as parsed by h11: its position in the stream, and its fields."""

    start: int
    what: tuple[Any, ...]
    version: str
    framing: str
    header_bytes: int
    body_bytes: int = 0
    wire_bytes: int = 0
    is_complete: bool = False
    asks_upgrade: bool = False


@dataclass(slots=True)
class Parsed:
    """Messages of a stream up to h11's stop, and the reason of the stop; empty at the end of the bytes."""

    messages: list[Message] = field(default_factory=list)
    #: Reason for which h11 rejects the next message.
    refused: str = ""
    #: The following bytes may be another protocol.
    may_switch: bool = False
    #: Method of a rejected request.
    refused_method: str = ""


class _Cursor:
    """Feed a connection with a stream's bytes from an offset on, piece by piece."""

    def __init__(self, connection: h11.Connection, stream: Stream, start: int) -> None:
        self.connection, self.stream, self.fed = connection, stream, start
        self.is_at_end = False

    @property
    def place(self) -> int:
        return self.fed - len(self.connection.trailing_data[0])

    def events(self) -> Iterator[Any]:
        while True:
            event = self.connection.next_event()
            if event is not h11.NEED_DATA:
                yield event
                continue
            if self.is_at_end:
                return
            piece = bytes(self.stream.data[self.fed : self.fed + _CHUNK])
            if not piece:
                self.is_at_end = True
                if not self.stream.is_closed:
                    return
            self.fed += len(piece)
            self.connection.receive_data(piece)


def _read(cursor: _Cursor, start: int, parsed: Parsed) -> Message | None:
    """Return the message that begins at ``start``; for responses, the final response."""
    message = None
    for event in cursor.events():
        if isinstance(event, h11.Request | h11.Response):
            message = _begun(event, cursor, start)
            parsed.messages.append(message)
            if message.framing == "tunnel":
                message.is_complete = True
                return message
        elif isinstance(event, h11.InformationalResponse):
            if event.status_code == _SWITCHING_PROTOCOLS:
                message = _begun(event, cursor, start)
                message.framing, message.is_complete = "tunnel", True
                parsed.messages.append(message)
                return message
            start = cursor.place
        elif isinstance(event, h11.Data) and message is not None:
            message.body_bytes += len(event.data)
        elif isinstance(event, h11.EndOfMessage) and message is not None:
            message.wire_bytes = cursor.place - message.start
            message.is_complete = True
            return message
        elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            return message
    return message


def _begun(event: Any, cursor: _Cursor, start: int) -> Message:
    is_request = isinstance(event, h11.Request)
    what: tuple[Any, ...]
    if is_request:
        what = (event.method.decode(), event.target.decode("latin-1")[:_TARGET_MAX])
    else:
        what = (event.status_code,)
    connection = cursor.connection
    reader: Any = connection._reader
    framing = _FRAMINGS.get(type(reader).__name__, "tunnel")
    if framing == "content_length" and reader._length == 0:
        framing = "none"
    if connection.their_state is h11.SWITCHED_PROTOCOL:
        framing = "tunnel"
    size = cursor.place - start
    names = {name for name, _ in event.headers}
    return Message(
        start, what, f"HTTP/{event.http_version.decode()}", framing, size, wire_bytes=size,
        asks_upgrade=is_request and b"upgrade" in names,
    )  # fmt: skip


def _after_empty_lines(stream: Stream, start: int) -> int:
    """Skip empty lines before a message (RFC 9112, section 2.2); they belong to no message."""
    while stream.data[start : start + 1] in (b"\r", b"\n"):
        start += 1
    return start


def _connection(role: Any) -> h11.Connection:
    return h11.Connection(our_role=role, max_incomplete_event_size=_HEAD_MAX)


def requests(stream: Stream) -> Parsed:
    """Return the requests of a client's stream, up to a request that asks for another protocol."""
    parsed = Parsed()
    place = _after_empty_lines(stream, 0)
    while place < len(stream.data):
        cursor = _Cursor(_connection(h11.SERVER), stream, place)
        try:
            message = _read(cursor, place, parsed)
        except h11.RemoteProtocolError as error:
            parsed.refused = _refusal(error)
            parsed.refused_method = (
                bytes(stream.data[place : place + _METHOD_MAX]).split(b" ")[0].decode("latin-1")
            )
            break
        if message is None or not message.is_complete:
            break
        place = _after_empty_lines(stream, cursor.place)
        may_switch = message.what[0] == "CONNECT" or message.asks_upgrade
        parsed.may_switch = may_switch and not _goes_on(stream, place)
        if parsed.may_switch:
            break
    return parsed


#: Length of the longest registered method, UPDATEREDIRECTREF, and a space.
_METHOD_MAX: Final = 18
#: The end of the bytes is no rejection.
_ENDS_EARLY: Final = (
    "peer unexpectedly closed connection",
    "peer closed connection without",
    "can't handle event type ConnectionClosed",
)


def _refusal(error: h11.RemoteProtocolError) -> str:
    return "" if str(error).startswith(_ENDS_EARLY) else str(error)


def _goes_on(stream: Stream, place: int) -> bool:
    """Return whether a request follows an upgrade request, which was therefore not granted."""
    line = bytes(stream.data[place : place + _CHUNK]).partition(b"\n")[0]
    return line.rstrip(b"\r").endswith((b" HTTP/1.1", b" HTTP/1.0")) and not line.startswith(b"PRI ")


def responses(stream: Stream, requested: Parsed) -> Parsed:
    """Return the final responses of a server's stream, each to the request at its index."""
    parsed = Parsed()
    methods = [message.what[0] for message in requested.messages]
    upgrades = [message.asks_upgrade for message in requested.messages]
    if requested.refused and requested.refused_method.isalpha():
        methods[len(methods) - _is_partial(requested) :] = [requested.refused_method]
        upgrades.append(False)
    place = _after_empty_lines(stream, 0)
    while place < len(stream.data):
        number = len(parsed.messages)
        connection = _connection(h11.CLIENT)
        is_known = number < len(methods)
        _ask(connection, methods[number] if is_known else "GET", asks_upgrade=is_known and upgrades[number])
        cursor = _Cursor(connection, stream, place)
        try:
            message = _read(cursor, place, parsed)
        except h11.RemoteProtocolError as error:
            parsed.refused = _refusal(error)
            break
        if message is None or not message.is_complete or message.framing == "tunnel":
            break
        place = _after_empty_lines(stream, cursor.place)
    return parsed


def _is_partial(parsed: Parsed) -> bool:
    """Return whether h11 rejected a message after its head."""
    return bool(parsed.messages) and not parsed.messages[-1].is_complete


def _ask(connection: h11.Connection, method: str, *, asks_upgrade: bool) -> None:
    """Tell h11 the request of the next response."""
    headers = [("Host", "h")]
    if asks_upgrade:
        headers += [("Connection", "upgrade"), ("Upgrade", "any")]
    connection.send(h11.Request(method=method, target="/", headers=headers))
    connection.send(h11.EndOfMessage())

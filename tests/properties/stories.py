"""HTTP/2 connections of the tests' captures: header lists by an independent encoder."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from captures import ACK, PSH, Connection
from hpack import Encoder, NeverIndexedHeaderTuple

if TYPE_CHECKING:
    from random import Random

__all__ = ["PREFACE", "Exchange", "Story", "frame", "told"]

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS, CONTINUATION = 1, 4, 9
END_STREAM, END_HEADERS, PADDED, PRIORITY = 0x1, 0x4, 0x8, 0x20
TABLE_BYTES: Final = 65_536
#: All ASCII characters of a header field, and characters of two to four bytes.
ALPHABET: Final = [*map(chr, range(0x21, 0x7F)), *"\u00e9\u07ff\u20ac\uffee\U0001f600"]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame (RFC 9113, section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


@dataclass(frozen=True)
class Exchange:
    """Header blocks of a stream."""

    stream: int
    method: str
    target: str
    host: str
    status: int
    content_type: str
    content_encoding: str | None


class Story:
    """Connection whose encoders change their tables, and its exchanges."""

    def __init__(self, random: Random, *, number: int, exchanges: int) -> None:
        self.random = random
        self.connection = Connection(client=("10.0.0.1", 50_000 + number))
        self.client, self.server = Encoder(), Encoder()
        self.texts = [self._text() for _ in range(20)]
        self.connection.open()
        settings = frame(SETTINGS, 0, 0, struct.pack(">HI", 1, TABLE_BYTES))
        self.connection.from_client(PREFACE + settings, PSH | ACK, after=10_000)
        self.connection.from_server(settings, PSH | ACK, after=10_000)
        self.exchanges = [self._exchange(2 * number + 1) for number in range(exchanges)]
        self.connection.close()

    def _text(self) -> str:
        return "".join(self.random.choices(ALPHABET, k=self.random.randrange(1, 60)))

    def _familiar(self) -> str:
        """Return a text, mostly an earlier one."""
        if self.random.random() < 0.2:
            self.texts[self.random.randrange(len(self.texts))] = self._text()
        return self.random.choice(self.texts)

    def _exchange(self, stream: int) -> Exchange:
        pick = self.random.choice
        made = Exchange(
            stream,
            pick(["GET", "POST", "PUT"]),
            "/" + self._familiar(),
            f"h{self.random.randrange(8)}.example",
            pick([200, 204, 404, 418, 503]),
            pick(["text/html", "image/png", f"text/x-{self.random.randrange(100)}"]),
            pick([None, "gzip", "br"]),
        )
        request = [(":method", made.method), (":path", made.target), (":authority", made.host)]
        response = [(":status", str(made.status)), ("content-type", made.content_type)]
        if made.content_encoding is not None:
            response.append(("content-encoding", made.content_encoding))
        self.connection.from_client(self._message(self.client, stream, request), PSH | ACK, after=10_000)
        self.connection.from_server(self._message(self.server, stream, response), PSH | ACK, after=10_000)
        self.connection.from_client(after=10_000)
        return made

    def _message(self, encoder: Encoder, stream: int, fields: list[tuple[str, str]]) -> bytes:
        """Return HEADERS, sometimes with CONTINUATION, in at most one segment."""
        if self.random.random() < 0.1:
            encoder.header_table_size = self.random.choice([0, 100, 400, 4096, TABLE_BYTES])
        further = [
            (f"x-{self._familiar().lower()[:4]}", self._familiar()) for _ in range(self.random.randrange(5))
        ]
        made = [NeverIndexedHeaderTuple(*one) if self.random.random() < 0.1 else one for one in fields + further]
        content = encoder.encode(made, huffman=self.random.random() < 0.6)
        cut = self.random.randrange(len(content)) if self.random.random() < 0.2 else len(content)
        flags = END_STREAM | (END_HEADERS if cut == len(content) else 0)
        head = content[:cut]
        if self.random.random() < 0.2:
            flags, head = flags | PRIORITY, bytes(5) + head
        if self.random.random() < 0.2:
            flags, head = flags | PADDED, b"\7" + head + bytes(7)
        frames = frame(HEADERS, flags, stream, head)
        if cut < len(content):
            frames += frame(CONTINUATION, END_HEADERS, stream, content[cut:])
        return frames


def told(row: dict[str, object]) -> Exchange:
    """Return the expected columns of `transactions`."""
    return Exchange(**{name: row[name] for name in Exchange.__annotations__})  # type: ignore[arg-type]

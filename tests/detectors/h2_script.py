"""HTTP/2 in packet scripts: each frame of a payload begins with ``h2``; `` ; `` separates frames.

``h2 PREFACE``
    The client's connection preface (RFC 9113, section 3.4); its SETTINGS follow as a separate frame.
``h2 SETTINGS``
    Followed by ``initial_window=N``, ``max_streams=N``, ``max_frame=N``; or by ``ack``.
``h2 HEADERS STREAM GET /path``, ``h2 HEADERS STREAM 200``, ``h2 HEADERS STREAM trailers``
    The fields of a request, a response, or trailers, followed by: ``host=NAME`` (default h), fields as written
    (``priority=u=0``), ``end`` (END_STREAM), ``bytes=N`` (frame size with header, by padding).
``h2 DATA STREAM N``
    N bytes of incompressible data; followed by ``end``.
``h2 WINDOW_UPDATE STREAM N``, ``h2 RST_STREAM STREAM CODE``, ``h2 GOAWAY STREAM CODE``
    The frames of these names.
``h2 PING``
    Followed by ``ack`` for the response.

The payload must fill its segment exactly. One frame may omit its size (DATA without N, or HEADERS without
``bytes``): it takes the remaining bytes.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

WORD = "h2"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER_BYTES = 9
TYPES = {"DATA": 0, "HEADERS": 1, "RST_STREAM": 3, "SETTINGS": 4, "PING": 6, "GOAWAY": 7, "WINDOW_UPDATE": 8}
ACK = END_STREAM = 1
END_HEADERS = 4
SETTINGS = {"max_streams": 3, "initial_window": 4, "max_frame": 5}
#: Names of the static table (RFC 7541, appendix A).
AUTHORITY, METHOD, PATH, SCHEME, STATUS = 1, 2, 4, 6, 8


def frames(parts: list[list[str]], length: int, filler: Callable[[int, int], bytes]) -> bytes:
    """Return the bytes of all frames of a segment of ``length``; ``filler`` gives the data of the n-th frame."""
    made = [None if is_open(words) else frame(words, None, at, filler) for at, words in enumerate(parts)]
    left = length - sum(len(one) for one in made if one is not None)
    whole = [
        frame(words, left, at, filler) if one is None else one
        for at, (words, one) in enumerate(zip(parts, made, strict=True))
    ]
    if sum(map(len, whole)) < length or made.count(None) > 1:
        raise ValueError(f"{sum(map(len, whole))} bytes of frames do not fill {length}: {parts}")
    return b"".join(whole)


def is_open(words: list[str]) -> bool:
    """Return whether a frame takes the remaining bytes."""
    kind, rest = words[1], words[2:]
    if kind == "HEADERS":
        return not any(word.startswith("bytes=") for word in rest)
    return kind == "DATA" and not any(word.isdigit() for word in rest[1:])


def frame(words: list[str], left: int | None, at: int, filler: Callable[[int, int], bytes]) -> bytes:
    """Return one frame; a frame without a size takes ``left`` bytes."""
    kind, *rest = words[1:]
    given = dict(word.split("=", 1) for word in rest if "=" in word)
    flags = [word for word in rest if "=" not in word]
    ends = END_STREAM if "end" in flags else 0
    if kind == "PREFACE":
        return PREFACE
    match kind, [word for word in flags if word != "end"]:
        case "SETTINGS", ["ack"] | []:
            settings = (struct.pack(">HI", SETTINGS[name], int(value)) for name, value in given.items())
            made = framed(kind, b"".join(settings), 0, ACK if flags else 0)
        case "PING", ["ack"] | []:
            made = framed(kind, bytes(8), 0, ACK if flags else 0)
        case "DATA", [stream, *sizes]:
            size = int(sizes[0]) if sizes else (left or 0) - HEADER_BYTES
            made = framed(kind, filler(at, size), int(stream), ends)
        case "HEADERS", [stream, *said]:
            size = int(given.pop("bytes", left or 0)) - HEADER_BYTES
            made = framed(kind, padded(fields(said, given), size), int(stream), END_HEADERS | ends)
        case "WINDOW_UPDATE" | "RST_STREAM", [stream, number]:
            made = framed(kind, struct.pack(">I", int(number)), int(stream), 0)
        case "GOAWAY", [stream, code]:
            made = framed(kind, struct.pack(">II", int(stream), int(code)), 0, 0)
        case _:
            raise ValueError(f"not a frame: {words}")
    return made


def framed(kind: str, payload: bytes, stream: int, flags: int) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", TYPES[kind], flags, stream) + payload


def fields(said: list[str], given: dict[str, str]) -> bytes:
    """Return a header block of literals without indexing (RFC 7541, section 6.2.2): it uses no dynamic table."""
    host = given.pop("host", "h")
    match said:
        case [method, target] if method.isupper():
            pseudo = {METHOD: method, SCHEME: "http", PATH: target, AUTHORITY: host}
        case [status] if status.isdigit():
            pseudo = {STATUS: status}
        case ["trailers"]:
            pseudo = {}
        case _:
            raise ValueError(f"neither a request, a response nor trailers: {said}")
    block = b"".join(bytes([index]) + text(value) for index, value in pseudo.items())
    return block + b"".join(b"\0" + text(name) + text(value) for name, value in given.items())


def text(value: str) -> bytes:
    """Return a string of less than 16,511 bytes (RFC 7541, sections 5.1 and 5.2)."""
    length, data = len(value), value.encode()
    if length < 127:
        return bytes([length]) + data
    low, high = (length - 127) % 128, (length - 127) // 128
    return (bytes([127, low | 128, high]) if high else bytes([127, low])) + data


def padded(block: bytes, size: int) -> bytes:
    """Return the block padded to this length by a field."""
    if size == len(block):
        return block
    padding = (block + b"\0" + text("p") + text("p" * length) for length in range(max(size - len(block), 0)))
    found = next((made for made in padding if len(made) == size), None)
    if found is None:
        raise ValueError(f"no header block of {size} bytes can be made of {len(block)}")
    return found

"""TLS in packet scripts: payload words for handshake messages and data records.

``client_hello`` (with ``name=HOST``, ``alpn=PROTOCOL``), ``retry``
    A ClientHello; a HelloRetryRequest.
``server_flight`` (with ``bytes=N``, ``version=1.2``, ``resumed``)
    The server's first flight: in TLS 1.3 up to Finished, in TLS 1.2 up to ServerHelloDone with the cleartext
    certificate, or up to Finished if the session is ``resumed``.
``client_flight`` (with ``version=1.2``, ``resumed``), ``server_finished``
    The client's flight up to Finished; and, in TLS 1.2, the server's reply.
``data``
    A record of application data.

``bytes=N`` is the length of a hello, a TLS 1.3 flight or a record; by default, a lone element fills its
segment. Encrypted bytes are zero.
"""

from __future__ import annotations

import struct

WORDS = ("client_hello", "retry", "server_flight", "client_flight", "server_finished", "data")

CHANGE, HANDSHAKE, DATA = 20, 22, 23
CLIENT_HELLO, SERVER_HELLO, CERTIFICATE, HELLO_DONE, KEY_EXCHANGE = 1, 2, 11, 14, 16
RECORD_MAX = 1 << 14
HEADER_BYTES = 5
#: RFC 8446, section 4.1.3.
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
TLS13_SUITE, TLS12_SUITE = 0x1301, 0xC02F
NAME, ALPN, PADDING, PRE_SHARED_KEY, VERSIONS = 0, 16, 21, 41, 43
#: Finished of these suites: a hash of 32 bytes, or 12 bytes before TLS 1.3 (RFC 5246, section 7.4.9).
TLS13_FINISHED, TLS12_FINISHED = 4 + 32 + 17, 4 + 12 + 24


def said(words: list[str], fills: int | None) -> bytes:
    """Return the bytes of one message; a lone message fills this many bytes."""
    first, *rest = words
    given = dict(word.split("=", 1) for word in rest if "=" in word)
    flags = {word for word in rest if "=" not in word}
    is_long = "bytes" in given
    length = int(given.pop("bytes")) if is_long else fills
    version, name, alpn = given.pop("version", "1.3"), given.pop("name", None), given.pop("alpn", None)
    if given or flags - {"resumed"} or version not in {"1.2", "1.3"}:
        raise ValueError(f"unknown words: {words}")
    match first:
        case "client_hello":
            made = client_hello(name, alpn, length)
        case "retry":
            made = record(HANDSHAKE, server_hello(RETRY, "1.3")) + record(CHANGE, b"\1")
        case "server_flight":
            made = server_flight(version, length, resumed="resumed" in flags)
        case "client_flight" if version == "1.2" and not flags:
            made = record(HANDSHAKE, message(KEY_EXCHANGE, bytes(33))) + finished()
        case "client_flight" if version == "1.2":
            made = finished()
        case "client_flight":
            made = record(CHANGE, b"\1") + record(DATA, bytes(TLS13_FINISHED))
        case "server_finished":
            made = finished()
        case _:
            made = records(DATA, length or 0)
    if not is_long and fills not in {None, len(made)}:
        raise ValueError(f"{len(made)} bytes do not fill {fills}: {words}")
    return made


def record(content: int, fragment: bytes) -> bytes:
    return struct.pack(">BHH", content, 0x0303, len(fragment)) + fragment


def records(content: int, length: int) -> bytes:
    """Return records that take this many bytes with their headers."""
    made = b""
    while length > len(made):
        left = length - len(made) - HEADER_BYTES
        if left < 1:
            raise ValueError(f"no record of {left + HEADER_BYTES} bytes can be made")
        made += record(content, bytes(min(left, RECORD_MAX)))
    return made


def message(kind: int, body: bytes) -> bytes:
    return struct.pack(">I", kind << 24 | len(body)) + body


def extension(kind: int, data: bytes) -> bytes:
    return struct.pack(">HH", kind, len(data)) + data


def client_hello(name: str | None, alpn: str | None, length: int | None) -> bytes:
    extensions = extension(VERSIONS, b"\2\3\4")
    if name is not None:
        entry = struct.pack(">BH", 0, len(name)) + name.encode()
        extensions += extension(NAME, struct.pack(">H", len(entry)) + entry)
    if alpn is not None:
        protocol = struct.pack(">B", len(alpn)) + alpn.encode()
        extensions += extension(ALPN, struct.pack(">H", len(protocol)) + protocol)
    made = padded_hello(extensions)
    missing = 0 if length is None else length - len(made)
    return padded_hello(extensions + extension(PADDING, bytes(missing - 4))) if missing else made


def padded_hello(extensions: bytes) -> bytes:
    suites = struct.pack(">HHH", 4, TLS13_SUITE, TLS12_SUITE)
    head = b"\3\3" + bytes(32) + b"\0" + suites + b"\1\0"
    return record(HANDSHAKE, message(CLIENT_HELLO, head + struct.pack(">H", len(extensions)) + extensions))


def server_hello(random: bytes, version: str, *, resumed: bool = False) -> bytes:
    is_tls13 = version == "1.3"
    extensions = extension(VERSIONS, b"\3\4") if is_tls13 else b""
    if resumed and is_tls13:
        extensions += extension(PRE_SHARED_KEY, b"\0\0")
    suite = TLS13_SUITE if is_tls13 else TLS12_SUITE
    head = b"\3\3" + random + b"\0" + struct.pack(">HB", suite, 0)
    return message(SERVER_HELLO, head + struct.pack(">H", len(extensions)) + extensions)


def server_flight(version: str, length: int | None, *, resumed: bool) -> bytes:
    hello = record(HANDSHAKE, server_hello(bytes(32), version, resumed=resumed))
    if version == "1.3":
        begin, end = hello + record(CHANGE, b"\1"), record(DATA, bytes(TLS13_FINISHED))
        return begin + records(DATA, (length or 0) - len(begin) - len(end)) + end
    if resumed:
        return hello + finished()
    done = record(HANDSHAKE, message(HELLO_DONE, b""))
    around = len(hello) + len(done) + HEADER_BYTES + 4
    chain = record(HANDSHAKE, message(CERTIFICATE, bytes((length or 0) - around)))
    return hello + chain + done


def finished() -> bytes:
    """Return ChangeCipherSpec and Finished of TLS 1.2."""
    return record(CHANGE, b"\1") + record(HANDSHAKE, bytes(TLS12_FINISHED))

"""Configurable server, with misbehaviours that common servers do not offer."""

from __future__ import annotations

import argparse
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GARBAGE = b"\x00\x01\x02 this is no HTTP \xff\xfe\r\n\r\n"
TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"


ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
DRIP_SECONDS = 0.2


def hang(connection: socket.socket, _: str) -> bool:
    connection.recv(1)
    return False


def garbage(connection: socket.socket, _: str) -> bool:
    connection.sendall(GARBAGE)
    return False


def tls(connection: socket.socket, _: str) -> bool:
    connection.sendall(TLS_ALERT)
    return False


def close(_: socket.socket, __: str) -> bool:
    return False


def loop(connection: socket.socket, target: str) -> bool:
    connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
    return True


def endless(connection: socket.socket, _: str) -> bool:
    connection.sendall(ANSWER + b"\r\n")
    while True:
        connection.sendall(b"and so on " * 6553)


def endless_head(connection: socket.socket, _: str) -> bool:
    connection.sendall(ANSWER)
    while True:
        connection.sendall(b"X-And-So-On: and so on\r\n" * 1000)


def drip(connection: socket.socket, _: str) -> bool:
    """Send a byte at intervals: never silent, never complete."""
    connection.sendall(ANSWER + b"\r\n")
    turn = threading.Event()
    while not turn.wait(DRIP_SECONDS):
        connection.sendall(b".")
    return False


MISBEHAVIOURS = {
    "hang": hang,
    "garbage": garbage,
    "tls": tls,
    "close": close,
    "loop": loop,
    "endless": endless,
    "endless-head": endless_head,
    "drip": drip,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--nodelay", action="store_true")
    parser.add_argument("--head-alone", action="store_true")
    parser.add_argument("--chunk", type=int, default=0, help="bytes of a write; 0 for all at once")
    parser.add_argument("--send-buffer", type=int, default=0)
    parser.add_argument("--cork", action="store_true", help="cork, and forget to take it back")
    parser.add_argument("--cork-forgotten", type=int, default=0)
    parser.add_argument("--close", type=int, default=0, help="close after so many responses")
    parser.add_argument("--ignores-expect", type=int, default=0, help="wait for bodies without a 100")
    parser.add_argument("--status", type=int, default=200)
    parser.add_argument("--refuse-after", type=int, default=0, help="answer 429 after so many responses")
    parser.add_argument("--die-after", type=int, default=0, help="end after so many responses of a connection")
    parser.add_argument("--misbehave", choices=("", "drop", *MISBEHAVIOURS), default="")
    options = parser.parse_args()
    server = socket.create_server(("127.0.0.1", options.port), backlog=64)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=(connection, options), daemon=True).start()


def serve(connection: socket.socket, options: argparse.Namespace) -> None:
    with connection, suppress(OSError):
        if options.nodelay:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if options.send_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer)
        if options.cork_forgotten:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        for number, request in enumerate(requests(connection, options), start=1):
            if not answer(connection, request, options, number):
                return


def requests(connection: socket.socket, options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the heads of requests until the client closes; bodies are skipped."""
    waiting = b""
    while True:
        while b"\r\n\r\n" not in waiting:
            waiting += received(connection)
        request, _, waiting = waiting.partition(b"\r\n\r\n")
        body = body_bytes(request)
        if body and not options.ignores_expect:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        while len(waiting) < body:
            waiting += received(connection)
        waiting = b"" if options.misbehave == "drop" else waiting[body:]
        yield request


def received(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionResetError
    return data


def body_bytes(request: bytes) -> int:
    """Return the length of a request's body, from its head."""
    for line in request.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def answer(connection: socket.socket, request: bytes, options: argparse.Namespace, number: int) -> bool:
    """Answer one request; return whether the connection persists."""
    line, *fields = request.decode("latin-1").split("\r\n")
    method, target, _ = line.split(" ")
    named = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    if options.misbehave in MISBEHAVIOURS:
        return MISBEHAVIOURS[options.misbehave](connection, target)
    if options.die_after and number > options.die_after:
        os._exit(0)
    body = (options.root / target.lstrip("/")).read_bytes()
    is_refused = 0 < options.refuse_after < number
    status, extra = 429 if is_refused else options.status, ""
    if "range" in named and status == 200:
        last = int(named["range"].rpartition("-")[2])
        status, extra = 206, f"Content-Range: bytes 0-{last}/{len(body)}\r\n"
        body = body[: last + 1]
    if named.get("if-none-match") == '"1"' and status == 200:
        status, body = 304, b""
    closes = bool(options.close) and number >= options.close
    head = (
        f'HTTP/1.1 {status} Status\r\nServer: written\r\nContent-Type: image/gif\r\nETag: "1"\r\n{extra}'
        f"Content-Length: {len(body)}\r\n{'Connection: close' + chr(13) + chr(10) if closes else ''}\r\n"
    ).encode()
    pieces = [head] if method == "HEAD" else written_as(head, body, options)
    for piece in pieces:
        connection.sendall(piece)
    return not closes


def written_as(head: bytes, body: bytes, options: argparse.Namespace) -> list[bytes]:
    """Return the writes of a response."""
    first, rest = (head, body) if options.head_alone else (b"", head + body)
    size = options.chunk or max(1, len(rest))
    return [piece for piece in (first, *(rest[at : at + size] for at in range(0, len(rest), size))) if piece]


if __name__ == "__main__":
    main()

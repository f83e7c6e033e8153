"""HTTP server that misbehaves by the request's path, with a thread per connection."""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
import time
from dataclasses import dataclass

__all__ = ["Habits", "noise", "serve"]

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_WORDS = b"persistent connection segment delayed acknowledgment window server client the of and a " * 3000


@dataclass(frozen=True, slots=True)
class Habits:
    """Server behaviour on every connection."""

    requests_max: int = 0  #: it closes after so many; 0: never
    has_validators: bool = False
    forgets_cork: bool = False


def serve(port: int, habits: Habits) -> socket.socket:
    """Listen in a thread; closing the returned socket ends it."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(32)
    threading.Thread(target=_accept, args=(listener, habits), daemon=True).start()
    return listener


def _accept(listener: socket.socket, habits: Habits) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_talk, args=(connection, habits), daemon=True).start()


def _talk(connection: socket.socket, habits: Habits) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting, count = b"", 0
    with connection:
        while True:
            while b"\r\n\r\n" not in waiting:
                try:
                    read = connection.recv(65536)
                except OSError:
                    return
                if not read:
                    return
                waiting += read
            head, _, waiting = waiting.partition(b"\r\n\r\n")
            waiting = _without_body(connection, head, waiting)
            count += 1
            is_last = count == habits.requests_max
            if not _answer(connection, head, habits, count, is_last=is_last) or is_last:
                return


def _without_body(connection: socket.socket, head: bytes, waiting: bytes) -> bytes:
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    left = int(lengths[0].split(b":")[1]) if lengths else 0
    while len(waiting) < left:
        waiting += connection.recv(65536)
    return waiting[left:]


def _answer(connection: socket.socket, head: bytes, habits: Habits, count: int, *, is_last: bool) -> bool:
    """Answer one request; return whether the connection persists."""
    kind, *words = head.split()[1].decode().strip("/").split("/")
    status, fields, body = "200 OK", ["Server: scenario"], noise(kind, int(words[0]) if words else 0)
    if kind == "think":
        time.sleep(int(words[1]) / 1000)
    elif kind == "redirect":
        status, body = "302 Found", b"moved\n"
        onward = int(words[0]) - 1
        fields.append(f"Location: {f'/redirect/{onward}' if onward else '/plain/900'}")
    elif kind == "text":
        body = _WORDS[: int(words[0])]
        fields.append("Content-Type: text/html")
    elif kind == "version":
        body = b"version %06d" % count + body[14:]
        fields.append("Content-Type: text/html")
    tag = f'"{hashlib.sha256(body).hexdigest()[:8]}"'
    if habits.has_validators:
        fields.append(f"ETag: {tag}")
        if b"If-None-Match: " + tag.encode() in head:
            status, body = "304 Not Modified", b""
    if not status.startswith("304"):
        fields.append(f"Content-Length: {len(body)}")
    if is_last:
        fields.append("Connection: close")
    message = "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode() + body
    return _send(connection, message, kind, words, habits)


def _send(connection: socket.socket, message: bytes, kind: str, words: list[str], habits: Habits) -> bool:
    if kind == "crumbs":
        for at in range(0, len(message), int(words[1])):
            connection.sendall(message[at : at + int(words[1])])
        return True
    if kind in {"reset", "cut"}:
        connection.sendall(message[: int(words[1])])
        time.sleep(0.05)  # the client has it by then: a reset would take it away
        if kind == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        return False
    if habits.forgets_cork:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    connection.sendall(message)
    return True


def noise(name: str, size: int) -> bytes:
    """Return incompressible bytes that depend only on the name; ``same`` and ``also`` have equal bytes."""
    seed = b"same" if name in {"same", "also"} else name.encode()
    made = bytearray()
    while len(made) < size:
        seed = hashlib.sha256(seed).digest()
        made += seed
    return bytes(made[:size])

"""Client of the scenarios: each function makes one kind of connection to a loopback port."""

from __future__ import annotations

import contextlib
import socket
import time

__all__ = ["apart", "expecting", "pipelined", "refused", "serial", "slow_reader"]

_HOST = ("127.0.0.1",)


def _request(target: str, *fields: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: a.example", *fields, "", ""]).encode()


class _Reader:
    """Reader of a connection's responses by their Content-Length."""

    def __init__(self, port: int, *, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect((*_HOST, port))
        self.waiting = b""
        self.is_over = False

    def response(self) -> bytes:
        """Return the head of the next response; empty if the connection ended first."""
        while b"\r\n\r\n" not in self.waiting:
            if not self._read():
                return b""
        head, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
        lengths = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
        left = int(lengths[0].split(b":")[1]) if lengths else 0
        while len(self.waiting) < left:
            if not self._read():
                return b""
        self.waiting = self.waiting[left:]
        self.is_over = b"Connection: close" in head
        return head

    def _read(self) -> bool:
        with contextlib.suppress(ConnectionError):
            read = self.socket.recv(65536)
            self.waiting += read
            return bool(read)
        return False


def serial(port: int, targets: list[str], *fields: str) -> None:
    """Send serial requests, on as few connections as the server permits."""
    reader = None
    for target in targets:
        reader = reader or _Reader(port)
        with contextlib.suppress(ConnectionError):
            reader.socket.sendall(_request(target, *fields))
        if not reader.response() or reader.is_over:
            reader.socket.close()
            reader = None
    if reader:
        reader.socket.close()


def apart(port: int, targets: list[str]) -> None:
    """Open one connection per request."""
    for target in targets:
        serial(port, [target], "Connection: close")


def pipelined(port: int, targets: list[str]) -> None:
    reader = _Reader(port)
    reader.socket.sendall(b"".join(map(_request, targets)))
    for _ in targets:
        if not reader.response():
            break
    reader.socket.close()


def expecting(port: int, targets: list[str], *, wait_s: float = 0.3) -> None:
    """Send POSTs that wait for a 100 Continue that never arrives."""
    reader = _Reader(port)
    for target in targets:
        fields = ("Content-Length: 400", "Expect: 100-continue")
        reader.socket.sendall(_request(target, *fields, method="POST"))
        time.sleep(wait_s)
        reader.socket.sendall(b"p" * 400)
        reader.response()
    reader.socket.close()


def slow_reader(port: int, targets: list[str], *, pause_s: float = 0.4) -> None:
    """Pause reading, with a small receive buffer."""
    reader = _Reader(port, receive_buffer=8192)
    for target in targets:
        reader.socket.sendall(_request(target))
        time.sleep(pause_s)
        reader.response()
    reader.socket.close()


def refused(port: int, targets: list[str]) -> None:
    """Open connections to a port without a listener."""
    for _ in targets:
        with contextlib.suppress(ConnectionRefusedError):
            _Reader(port)

"""Server with scripted responses, in pieces with pauses: ``python server.py JSON LOG``.

JSON has the fields of ``scenario.Server`` and ``port``. At SIGTERM, the server writes every write to the log.
"""

from __future__ import annotations

import json
import random
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

_LAST_CHUNK = b"0\r\n\r\n"


class Connection:
    """Accepted connection, served in its own thread."""

    def __init__(self, accepted: socket.socket, settings: dict[str, Any], log: list[dict[str, int]]) -> None:
        self.socket, self.settings, self.log = accepted, settings, log
        self.port: int = accepted.getpeername()[1]
        self.random = random.Random(settings["seed"])
        self.input = b""
        if settings["nodelay"]:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def serve(self) -> None:
        number = 0
        try:
            while self._has_read_request():
                self._respond(number)
                number += 1
            self.socket.close()
        except OSError:
            # The client has gone, or the run is over.
            return

    def _has_read_request(self) -> bool:
        if not self.settings["reads"]:
            threading.Event().wait()
        while b"\r\n\r\n" not in self.input:
            if not self._receive():
                return False
        head, _, rest = self.input.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        missing = int(length[1]) if length else 0
        while len(rest) < missing:
            missing -= len(rest)
            self.input = rest = b""
            if not self._receive():
                return False
            rest = self.input
        self.input = rest[missing:]
        return True

    def _receive(self) -> bool:
        if self.settings["read_pause_ms"]:
            time.sleep(self.settings["read_pause_ms"] / 1000)
        more = self.socket.recv(self.settings["read_bytes"])
        self.input += more
        return bool(more)

    def _respond(self, number: int) -> None:
        plan = self.settings["plans"][number % len(self.settings["plans"])]
        pieces = _chunks(plan, self.settings) if self.settings["chunked"] else _pieces(plan, self.settings)
        stops_at = self.settings["stops_at"]
        for index, (pause_ms, piece) in enumerate(pieces):
            if stops_at is not None and number >= stops_at[0] and index >= stops_at[1]:
                threading.Event().wait()
            spread = self.settings["jitter"]
            if pause_ms:
                time.sleep(pause_ms * self.random.uniform(1 - spread, 1 + spread) / 1000)
            at_ns = time.time_ns()
            self.log.append(
                {"client_port": self.port, "response": number, "write": index, "bytes": len(piece), "at_ns": at_ns}
            )
            self.socket.sendall(piece)


def _head(length_field: str, head_bytes: int) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n{length_field}\r\nX-Pad: "
    return head.encode().ljust(head_bytes - 4, b"p") + b"\r\n\r\n"


def _pieces(plan: list[dict[str, Any]], settings: dict[str, Any]) -> list[tuple[float, bytes]]:
    total = sum(write["bytes"] for write in plan)
    body = total - settings["head_bytes"]
    stream = _head(f"Content-Length: {body}", settings["head_bytes"]) + b"x" * body
    pieces, at = [], 0
    for write in plan:
        pieces.append((write["pause_ms"], stream[at : at + write["bytes"]]))
        at += write["bytes"]
    return pieces


def _chunks(plan: list[dict[str, Any]], settings: dict[str, Any]) -> list[tuple[float, bytes]]:
    first, *others = plan
    pieces = [(first["pause_ms"], _head("Transfer-Encoding: chunked", settings["head_bytes"]))]
    for write in others:
        size = write["bytes"]
        pieces.append((write["pause_ms"], b"%x\r\n%s\r\n" % (size, b"x" * size)))
    return [*pieces, (0.0, _LAST_CHUNK)]


def main() -> None:
    settings = json.loads(sys.argv[1])
    log: list[dict[str, int]] = []
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for option, size in ((socket.SO_RCVBUF, "receive_buffer"), (socket.SO_SNDBUF, "send_buffer")):
        if settings[size]:
            listening.setsockopt(socket.SOL_SOCKET, option, settings[size])
    listening.bind(("", settings["port"]))
    listening.listen(64)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("ready", flush=True)
    held = []
    try:
        while True:
            accepted, _ = listening.accept()
            held.append(accepted)
            threading.Thread(target=Connection(accepted, settings, log).serve, daemon=True).start()
    finally:
        Path(sys.argv[2]).write_text(json.dumps(log))


if __name__ == "__main__":
    main()

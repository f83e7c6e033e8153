"""Client of serial HTTP requests over one or several connections: ``python client.py JSON``.

JSON has the fields of ``scenario.Client`` and ``host``, ``port`` and ``targets``. The client prints every
transaction with its port, its number on the connection, its times and its outcome.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
from typing import Any

_CHUNKED = re.compile(rb"transfer-encoding: *chunked", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Gone(Exception):
    """Error: the server closed the connection before the end of its response."""


class Worker:
    """Client with one connection at a time."""

    def __init__(self, settings: dict[str, Any], log: list[dict[str, Any]]) -> None:
        self.settings, self.log = settings, log
        self.socket: socket.socket | None = None
        self.on_connection = 0

    def run(self) -> None:
        for number in range(self.settings["transactions"]):
            outcome = self._transaction(number)
            if outcome == "whole" and not self.settings["reconnects"]:
                time.sleep(self.settings["pause_ms"] / 1000)
                continue
            if outcome != "whole" and self.settings["leaves_open"]:
                return
            self._close()
            if outcome != "whole":
                return
            time.sleep(self.settings["pause_ms"] / 1000)
        if not self.settings["leaves_open"]:
            self._close()

    def _close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.socket, self.on_connection = None, 0

    def _transaction(self, number: int) -> str:
        row: dict[str, Any] = {"start_ns": time.time_ns(), "client_port": None, "transaction": None}
        self.log.append(row)
        try:
            if self.socket is None:
                self._connect(row)
            assert self.socket is not None
            row["client_port"], row["transaction"] = self.socket.getsockname()[1], self.on_connection
            self.on_connection += 1
            row["start_ns"] = time.time_ns()
            self._ask(number)
            row["bytes"] = self._read_response()
            row["outcome"] = "whole"
        except ConnectionRefusedError:
            row["outcome"] = "refused"
        except TimeoutError:
            row["outcome"] = "timeout"
        except (OSError, Gone):
            row["outcome"] = "cut off"
        row["end_ns"] = time.time_ns()
        return str(row["outcome"])

    def _connect(self, row: dict[str, Any]) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(self.settings["timeout_seconds"])
        for option, size in ((socket.SO_RCVBUF, "receive_buffer"), (socket.SO_SNDBUF, "send_buffer")):
            if self.settings[size]:
                self.socket.setsockopt(socket.SOL_SOCKET, option, self.settings[size])
        if self.settings["nodelay"]:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The port is known even if the connection fails.
        self.socket.bind(("", 0))
        row["client_port"] = self.socket.getsockname()[1]
        self.socket.connect((self.settings["host"], self.settings["port"]))

    def _ask(self, number: int) -> None:
        assert self.socket is not None
        targets, body = self.settings["targets"], b"u" * self.settings["body_bytes"]
        lines = [f"{'POST' if body else 'GET'} {targets[number % len(targets)]} HTTP/1.1", "Host: field.example"]
        if self.settings["cookie_bytes"]:
            lines.append("Cookie: c=" + "c" * self.settings["cookie_bytes"])
        if body:
            lines.append(f"Content-Length: {len(body)}")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        pieces = [head, body] if self.settings["splits_head"] else [head + body]
        for piece in pieces:
            step = self.settings["write_bytes"] or max(1, len(piece))
            for at in range(0, len(piece), step):
                self.socket.sendall(piece[at : at + step])

    def _read_response(self) -> int:
        assert self.socket is not None
        if not self.settings["reads"]:
            time.sleep(self.settings["timeout_seconds"])
            raise TimeoutError
        content = b""
        while b"\r\n\r\n" not in content:
            content += self._receive()
        head, _, body = content.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if length:
            while len(body) < int(length[1]):
                body += self._receive()
        elif _CHUNKED.search(head):
            while not body.endswith(b"0\r\n\r\n"):
                body += self._receive()
        return len(body)

    def _receive(self) -> bytes:
        assert self.socket is not None
        more = self.socket.recv(1 << 16)
        if not more:
            raise Gone
        return more


def main() -> None:
    settings = json.loads(sys.argv[1])
    log: list[dict[str, Any]] = []
    workers = [Worker(settings, log) for _ in range(settings["connections"])]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(log), flush=True)
    if settings["leaves_open"]:
        # The connections stay open until the capture ends.
        sys.stdin.read()


if __name__ == "__main__":
    main()

"""Real connections on the loopback interface, captured by tcpdump: a scripted server."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["Server", "ask", "captured", "connect", "free_port", "read_response", "resets_on_close", "respond"]

HOST: Final = "127.0.0.1"
#: Last packet that tcpdump must show.
END: Final = b"the end of the capture"
#: Timeout of a hanging test; no normal wait takes as long.
TIMEOUT_SECONDS: Final = 10.0
AGAIN_SECONDS: Final = 0.1
#: A frame of lo takes 64 KiB of the kernel's buffer, whatever its size: the usual 2 MiB hold 32 frames.
BUFFER_KIB: Final = "65536"
READ_BYTES: Final = 1 << 20
RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


@contextmanager
def captured(
    port: int, path: Path, *more: int, within: Sequence[str] = (), device: str = "lo", address: str = HOST
) -> Iterator[None]:
    """Write the packets of one or several ports to ``path`` for the duration of the block.

    ``within`` is a command that runs others in another network namespace, in which ``address`` is reachable.
    """
    ports = " or ".join(f"port {each}" for each in (port, *more))
    command = [*within, "tcpdump", "-i", device, "--immediate-mode", "-U", "-B", BUFFER_KIB, "-w", "-", ports]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tcpdump:
        assert tcpdump.stdout is not None
        assert tcpdump.stderr is not None
        said = b""
        while b"listening on" not in said:
            line = tcpdump.stderr.readline()
            said += line
            if not line:
                # Capturing needs root or CAP_NET_RAW. Without them, these tests have not run.
                raise RuntimeError(said.decode())
        content = bytearray()
        # An unread pipe is full after 64 KiB; the kernel then drops packets.
        reader = threading.Thread(target=_read_to_the_end, args=(tcpdump.stdout.fileno(), content))
        reader.start()
        try:
            yield
            _send_the_end(reader, port, within, address)
            path.write_bytes(content)
        finally:
            tcpdump.terminate()
            reader.join(TIMEOUT_SECONDS)


def _read_to_the_end(pipe: int, content: bytearray) -> None:
    """Read tcpdump's output up to the last packet, or until tcpdump ends."""
    while END not in content[-len(END) - READ_BYTES :]:
        read = os.read(pipe, READ_BYTES)
        content += read
        if not read:
            return


def _send_the_end(reader: threading.Thread, port: int, within: Sequence[str], address: str) -> None:
    """Send the packet that ends the capture until tcpdump has seen it."""
    send = f'printf "%s" "{END.decode()}" > /dev/udp/{address}/{port}'
    while reader.is_alive():
        subprocess.run([*within, "bash", "-c", send], check=True)
        reader.join(AGAIN_SECONDS)


class Server:
    """Serve one connection after another, each by the next of ``turns``."""

    def __init__(self, port: int, *turns: Callable[[socket.socket], None]) -> None:
        self._listening = socket.create_server((HOST, port))
        self._turns = turns
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        for turn in self._turns:
            connection, _ = self._listening.accept()
            with connection:
                connection.settimeout(TIMEOUT_SECONDS)
                turn(connection)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join(TIMEOUT_SECONDS)
        self._listening.close()
        assert not self._thread.is_alive()


def ask(connection: socket.socket, *targets: str) -> None:
    """Send requests at once."""
    connection.sendall(b"".join(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode() for target in targets))


def respond(connection: socket.socket, *, announced: int = 100, sent: int | None = None, field: str = "") -> None:
    """Read exactly one request, and respond with ``sent`` bytes of the body."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            return
        head += byte
    body = b"x" * (announced if sent is None else sent)
    connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {announced}\r\n{field}\r\n".encode() + body)


def resets_on_close(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)


def read_response(connection: socket.socket, body_bytes: int = 100) -> None:
    """Read one response with a body of this length, or its beginning."""
    content = b""
    while b"\r\n\r\n" not in content or len(content.partition(b"\r\n\r\n")[2]) < body_bytes:
        more = connection.recv(1 << 16)
        if not more:
            return
        content += more


def connect(port: int) -> socket.socket:
    return socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS)

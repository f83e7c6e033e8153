"""Real connections on the loopback interface, captured by tcpdump: a server that does what it is told."""

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
#: The last packet that tcpdump has to show.
END: Final = b"the end of the capture"
#: For a test that hangs; nothing waits so long otherwise.
TIMEOUT_SECONDS: Final = 10.0
AGAIN_SECONDS: Final = 0.1
#: A frame of lo takes 64 KiB of the kernel's buffer, whatever it holds: the usual 2 MiB are 32 of them.
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
    """Writes the packets of a port, or of several, to ``path`` from the beginning of the block to its end.

    ``within`` is a command that runs others in another network namespace, from which ``address`` is reached.
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
                # Who may not capture has not run these tests: root may, and who has CAP_NET_RAW.
                raise RuntimeError(said.decode())
        content = bytearray()
        # A pipe that nobody reads is full after 64 KiB, and then the kernel drops packets.
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
    """What tcpdump writes up to the last packet, or until it ends."""
    while END not in content[-len(END) - READ_BYTES :]:
        read = os.read(pipe, READ_BYTES)
        content += read
        if not read:
            return


def _send_the_end(reader: threading.Thread, port: int, within: Sequence[str], address: str) -> None:
    """Sends the packet that ends the capture until it has been seen."""
    send = f'printf "%s" "{END.decode()}" > /dev/udp/{address}/{port}'
    while reader.is_alive():
        subprocess.run([*within, "bash", "-c", send], check=True)
        reader.join(AGAIN_SECONDS)


class Server:
    """Serves one connection after another, each by the next of ``turns``."""

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
    """Sends requests at once."""
    connection.sendall(b"".join(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode() for target in targets))


def respond(connection: socket.socket, *, announced: int = 100, sent: int | None = None, field: str = "") -> None:
    """Reads one request, to its last byte and not beyond, and answers with ``sent`` bytes of the body."""
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
    """Reads one response whose body is so long, or as much of one."""
    content = b""
    while b"\r\n\r\n" not in content or len(content.partition(b"\r\n\r\n")[2]) < body_bytes:
        more = connection.recv(1 << 16)
        if not more:
            return
        content += more


def connect(port: int) -> socket.socket:
    return socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS)

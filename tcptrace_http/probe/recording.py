"""Capture of the probe's own connections by tcpdump, through a pipe.

The filter accepts only the reserved ports and the one probed address. The size of the capture is bounded, and
the usual decoder reads it. A last connection marks its end: once its first packet arrives through the pipe,
all earlier packets have arrived, on any busy host.
"""

from __future__ import annotations

import re
import shutil
import signal
import struct
import subprocess
import threading
from io import BufferedReader
from typing import TYPE_CHECKING, Final

from tcptrace_http.probe.target import bound_socket

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import IO

    from tcptrace_http.probe.target import Target

__all__ = ["NoRecording", "Recording", "interface_of"]

_DROPPED: Final = re.compile(r"(\d+) packets? dropped by (?:kernel|interface)")
_CHUNK_BYTES: Final = 64 * 1024
#: Kilobytes of the kernel's ring: several responses of maximum length on any busy host. The option
#: --immediate-mode is not used: its ring has only 64 slots of fixed length, one per packet.
_RING_KB: Final = 16 * 1024
_BYTES_MAX: Final = 256 * 1024 * 1024
#: Seconds for the start of tcpdump, and for the last packets in the pipe.
_START_SECONDS: Final = 10.0
_QUIET_SECONDS: Final = 0.3
_END_SECONDS: Final = 5.0
#: Maximum number of waits: a server may keep sending to closed connections.
_QUIET_TRIES: Final = 10


class NoRecording(Exception):
    """Missing permission or tool for a capture; the text gives the reason."""


class Recording:
    """Capture that runs from creation until :meth:`end`."""

    def __init__(self, target: Target, ports: Sequence[int], path: Path, *, interface: str | None = None) -> None:
        """Start tcpdump and wait until it captures.

        :raises NoRecording: tcpdump is missing, or may not capture.
        :raises OSError: the file cannot be written.
        """
        program = shutil.which("tcpdump") or shutil.which("tcpdump", path="/usr/sbin:/sbin")
        if program is None:
            raise NoRecording("tcpdump is not installed")
        self._file = path.open("wb")
        self._target = target
        self._marker = bound_socket(target)
        marker_port = int(self._marker.getsockname()[1])
        #: Ports of a marker packet, as in its header (RFC 9293, section 3.1).
        self._mark = struct.pack(">HH", marker_port, target.port)
        own = " or ".join(f"port {port}" for port in (*ports, marker_port))
        expression = f"tcp and host {target.address} and port {target.port} and ({own})"
        options = ("-i", interface or interface_of(target), "-n", "-s", "0", "-B", str(_RING_KB))
        self._process = subprocess.Popen(  # noqa: S603 -- the address and the ports are our own
            [program, *options, "-U", "-w", "-", expression],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._heard = threading.Event()
        self._marked = threading.Event()
        self.is_cut = False
        #: Number of packets that the kernel dropped; known at the end.
        self.dropped = 0
        self._started = threading.Event()
        self._messages: list[str] = []
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._copy)]
        for thread in self._threads:
            thread.start()
        self._started.wait(_START_SECONDS)
        if self._process.poll() is not None or not self._is_listening:
            self._stop()
            said = self._messages[-1].strip("()") if self._messages else "tcpdump does not start"
            raise NoRecording(said)

    @property
    def _is_listening(self) -> bool:
        return any("listening on" in message for message in self._messages)

    def end(self) -> None:
        """Stop after the marker and a pause without packets: a server may still close connections."""
        self._marker.settimeout(_QUIET_SECONDS)
        self._marker.connect_ex((self._target.address, self._target.port))
        self._marker.close()
        self._marked.wait(_END_SECONDS)
        for _ in range(_QUIET_TRIES):
            if not self._heard.wait(_QUIET_SECONDS):
                break
            self._heard.clear()
        self._stop()

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(_END_SECONDS)
        for stream in (self._process.stdout, self._process.stderr):
            _stream(stream).close()
        self._marker.close()
        counts = [int(found[1]) for each in self._messages if (found := _DROPPED.match(each))]
        self.dropped = sum(counts)

    def _listen(self) -> None:
        """Read tcpdump's messages; the first one about listening or ending starts the probe."""
        for line in _stream(self._process.stderr):
            self._messages.append(line.decode("utf-8", "replace").strip())
            if self._is_listening:
                self._started.set()
        self._started.set()

    def _copy(self) -> None:
        """Copy the capture to its file, up to the limit."""
        stream = _stream(self._process.stdout)
        written = 0
        tail = b""
        with self._file as file:
            while chunk := stream.read1(_CHUNK_BYTES):
                self._heard.set()
                if self._mark in tail + chunk:
                    self._marked.set()
                tail = chunk[1 - len(self._mark) :]
                if written + len(chunk) > _BYTES_MAX:
                    self.is_cut = True
                    continue
                file.write(chunk)
                written += len(chunk)


def _stream(pipe: IO[bytes] | None) -> BufferedReader:
    """Return the pipe of a process that has one."""
    if not isinstance(pipe, BufferedReader):
        raise TypeError("the process was made without a pipe")
    return pipe


def interface_of(target: Target) -> str:
    """Return the outgoing interface towards the target; ``any`` if the routes are unreadable."""
    program = shutil.which("ip") or shutil.which("ip", path="/usr/sbin:/sbin")
    if program is None:
        return "any"
    command = [program, "-o", "route", "get", target.address]
    found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- an address
    words = found.stdout.split()
    return words[words.index("dev") + 1] if "dev" in words else "any"

"""A connection of the probe: what it writes, and when each piece of a response came.

The responses are parsed by h11. Each piece is timed when it was read; the kernel is asked for its own
counters (TCP_INFO, ``struct tcp_info`` of linux/tcp.h).
"""

from __future__ import annotations

import select
import socket
import struct
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import h11

from tcptrace_http.errors import ProbeError
from tcptrace_http.probe.budget import Spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.probe.budget import Budget
    from tcptrace_http.probe.target import Target

__all__ = ["Connection", "Exchange", "Kernel", "Piece"]

_READ_BYTES: Final = 256 * 1024
# Linux's, since 2.4; socket has the name on Linux only.
_QUICKACK: Final = getattr(socket, "TCP_QUICKACK", 12)
_TCP_INFO: Final = getattr(socket, "TCP_INFO", 11)
# Eight bytes of flags, then 24 words of 32 bits: linux/tcp.h, struct tcp_info, as of Linux 2.6.
_INFO: Final = struct.Struct("=8B24I")
_INFO_NAMES: Final = {"snd_mss": 10, "rcv_mss": 11, "rtt": 23, "snd_cwnd": 26, "advmss": 27, "rcv_rtt": 29}
_MICROSECONDS: Final = 1000
_END_OF_HEAD: Final = b"\r\n\r\n"
#: Enough of a status line to tell what it is.
_STATUS_BYTES: Final = len(b"HTTP/1.1 100")
#: The first bytes of a TLS record: alert or handshake, version 3.x (RFC 8446, section 5.1).
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that one read gave."""

    #: When, by the monotonic clock.
    time: int
    size: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the kernel knows of a connection."""

    rtt_ns: int
    #: Largest segment that the peer sent, or is taken to send.
    segment_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A request and what came back."""

    step: str
    method: str
    path: str
    #: Own port, number of the connection, and of the request on it.
    port: int
    index: int
    #: When the last byte of the request was written.
    asked: int
    pieces: Sequence[Piece]
    #: Bytes of the head, and of the body as its framing has it; what the status and the fields say.
    status: int | None = None
    head_bytes: int = 0
    body_bytes: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    is_complete: bool = False
    #: The response is longer than the probe reads.
    is_cut: bool = False
    #: The server closed, or said that it will.
    closes: bool = False
    #: What went wrong, in a few words.
    fault: str = ""
    kernel: Kernel | None = None
    #: Whether the kernel was about to delay ACKs when the request was written.
    delays_acks: bool = False
    #: How long the body of the request waited for a 100 (Continue) in vain.
    held: int = 0

    def field(self, name: str) -> str | None:
        """The value of a response's field."""
        return next((value for key, value in self.fields if key == name), None)


class Connection:
    """One TCP connection, from a port that was reserved before."""

    def __init__(
        self, target: Target, budget: Budget, reserved: socket.socket, *, delays_acks: bool = True
    ) -> None:
        """Connects.

        :raises ProbeError: the server cannot be reached.
        :raises Spent: there is no time left.
        """
        self._target = target
        self._budget = budget
        self._socket = reserved
        self._delays_acks = delays_acks
        self._was_delaying = False
        self._left = b""
        self._index = 0
        self.is_open = True
        self.port: int = reserved.getsockname()[1]
        reserved.settimeout(budget.silence())
        try:
            reserved.connect((target.address, target.port))
        except TimeoutError:
            raise ProbeError(target.url, f"no answer from {target.address} port {target.port}") from None
        except OSError as error:
            what = f"cannot connect to {target.address} port {target.port}: {error.strerror or error}"
            raise ProbeError(target.url, what) from None
        # Requests leave at once, whatever was written before.
        reserved.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._set_acks()

    def close(self) -> None:
        """Closes the connection."""
        self.is_open = False
        self._socket.close()

    def ask(self, step: str, *, method: str = "GET", path: str, parts: Sequence[bytes]) -> Exchange:
        """Write a request, in parts that are written one by one, and read its response."""
        self._budget.take_requests()
        asked = self._write(parts)
        return self._response(step, method, path, asked)

    def ask_many(self, step: str, paths: Sequence[str], request: bytes) -> list[Exchange]:
        """Write requests together (pipelining, RFC 9112, section 9.3.2) and read the responses."""
        self._budget.take_requests(len(paths))
        asked = self._write([request])
        exchanges: list[Exchange] = []
        for path in paths:
            exchanges.append(self._response(step, "GET", path, asked))
            if not self.is_open:
                break
        return exchanges

    def announce(
        self, step: str, *, method: str, path: str, parts: tuple[bytes, bytes], patience: float
    ) -> Exchange:
        """Write the head of a request; its body when the server says 100, or nothing for ``patience`` seconds."""
        self._budget.take_requests()
        head, body = parts
        asked = self._write([head])
        has_answered = bool(select.select([self._socket], [], [], min(patience, self._budget.silence()))[0])
        held = 0 if has_answered else time.monotonic_ns() - asked
        if not has_answered or self._is_continue():
            asked = self._write([body])
        return replace(self._response(step, method, path, asked), held=held)

    def _is_continue(self) -> bool:
        """Whether what has come begins with the status 100."""
        try:
            return self._socket.recv(_STATUS_BYTES, socket.MSG_PEEK).endswith(b" 100")
        except OSError:
            return False

    def _write(self, parts: Sequence[bytes]) -> int:
        self._socket.settimeout(self._budget.silence())
        try:
            self._set_acks()
            self._was_delaying = self._is_delaying()
            for part in parts:
                self._socket.sendall(part)
        except OSError:
            # The server may have answered and closed: what it sent is read all the same.
            self.is_open = False
        return time.monotonic_ns()

    def _set_acks(self) -> None:
        """Delays ACKs from now on, or sends them at once. The kernel falls back by itself, so it is said again."""
        self._socket.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 0 if self._delays_acks else 1)

    def _is_delaying(self) -> bool:
        """Whether the kernel is to delay ACKs: what it says when it is asked."""
        try:
            return not self._socket.getsockopt(socket.IPPROTO_TCP, _QUICKACK)
        except OSError:
            return False

    def _kernel(self) -> Kernel | None:
        try:
            raw = self._socket.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _INFO.size)
        except OSError:
            return None
        if len(raw) < _INFO.size:
            return None
        fields = _INFO.unpack(raw)
        return Kernel(
            rtt_ns=fields[_INFO_NAMES["rtt"]] * _MICROSECONDS,
            segment_bytes=max(fields[_INFO_NAMES["rcv_mss"]], fields[_INFO_NAMES["advmss"]]),
        )

    def _response(self, step: str, method: str, path: str, asked: int) -> Exchange:
        self._index += 1
        reader = _Reader(method, self._left)
        while not reader.is_done and reader.size <= self._budget.limits.response_bytes:
            patience = self._budget.silence()
            self._socket.settimeout(patience)
            try:
                data = self._socket.recv(_READ_BYTES)
            except TimeoutError:
                if patience < self._budget.limits.silence:
                    raise Spent from None
                reader.fault = f"nothing came for {patience:g} s"
                break
            except OSError as error:
                reader.fault = error.strerror or str(error)
                break
            reader.feed(data, time.monotonic_ns())
            if not data:
                break
            self._set_acks()
        self._left = reader.left
        exchange = reader.exchange(step, method, path, self.port, self._index - 1, asked, self._kernel())
        if exchange.closes or not exchange.is_complete:
            self.close()
        return replace(exchange, delays_acks=self._was_delaying)


class _Reader:
    """One response, as h11 reads it."""

    def __init__(self, method: str, left: bytes) -> None:
        self._parser = h11.Connection(h11.CLIENT)
        # The parser must know what was asked; that is not what was written.
        self._parser.send(h11.Request(method=method, target="/", headers=[("Host", "probe")]))
        self._parser.send(h11.EndOfMessage())
        self._head: h11.Response | None = None
        #: What came before the end of the head.
        self._begin = b""
        self._head_bytes = 0
        self._body_bytes = 0
        self._is_complete = False
        self.pieces: list[Piece] = []
        self.size = 0
        self.fault = ""
        if left:
            self.feed(left, time.monotonic_ns())

    @property
    def is_done(self) -> bool:
        return self._is_complete or bool(self.fault)

    @property
    def left(self) -> bytes:
        """What came behind the response."""
        return self._parser.trailing_data[0] if self._is_complete else b""

    def feed(self, data: bytes, now: int) -> None:
        """Take what was read; nothing is the end of the stream."""
        if data:
            self.pieces.append(Piece(now, len(data)))
        self.size += len(data)
        if self._head is None:
            self._begin += data
            if self._begin.startswith(_TLS_RECORDS):
                self.fault = "it speaks TLS"
                return
        try:
            self._parser.receive_data(data)
            self._take()
        except h11.RemoteProtocolError as error:
            self.fault = "closed without a response" if not self.size else f"no HTTP/1: {error}"

    def _take(self) -> None:
        while not self._is_complete:
            event = self._parser.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            if isinstance(event, h11.InformationalResponse):
                self._begin = self._begin.partition(_END_OF_HEAD)[2]
            elif isinstance(event, h11.Response):
                self._head = event
                self._head_bytes = len(self._begin.partition(_END_OF_HEAD)[0]) + len(_END_OF_HEAD)
                self._begin = b""
            elif isinstance(event, h11.Data):
                self._body_bytes += len(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self._is_complete = True
            elif isinstance(event, h11.ConnectionClosed):
                self.fault = "closed without a response"
                return

    def exchange(  # noqa: PLR0913, PLR0917 -- what the connection knows
        self, step: str, method: str, path: str, port: int, index: int, asked: int, kernel: Kernel | None
    ) -> Exchange:
        fields = (
            () if self._head is None else tuple((k.decode(), v.decode("latin-1")) for k, v in self._head.headers)
        )
        return Exchange(
            step=step,
            method=method,
            path=path,
            port=port,
            index=index,
            asked=asked,
            pieces=tuple(self.pieces),
            status=None if self._head is None else self._head.status_code,
            head_bytes=self._head_bytes,
            body_bytes=self._body_bytes,
            fields=fields,
            is_complete=self._is_complete,
            is_cut=not self.is_done and bool(self.pieces),
            closes=self._parser.their_state in {h11.MUST_CLOSE, h11.CLOSED, h11.ERROR},
            fault=self.fault,
            kernel=kernel,
        )

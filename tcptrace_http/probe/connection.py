"""A connection of the probe: what it writes, and when each piece of a response came.

Each piece is timed when it was read; the kernel is asked for its own counters (TCP_INFO, ``struct tcp_info`` of
linux/tcp.h).
"""

from __future__ import annotations

import select
import socket
import struct
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import ProbeError
from tcptrace_http.probe.budget import Spent
from tcptrace_http.probe.exchange import Came, Exchange, Kernel
from tcptrace_http.probe.reader import Reader
from tcptrace_http.probe.tls import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.probe.budget import Budget
    from tcptrace_http.probe.target import Target
    from tcptrace_http.probe.tls import TlsStream

__all__ = ["Connection"]

_READ_BYTES: Final = 256 * 1024
# Linux's, since 2.4; socket has the name on Linux only.
_QUICKACK: Final = getattr(socket, "TCP_QUICKACK", 12)
_TCP_INFO: Final = getattr(socket, "TCP_INFO", 11)
# Eight bytes of flags, then 24 words of 32 bits: linux/tcp.h, struct tcp_info, as of Linux 2.6.
_INFO: Final = struct.Struct("=8B24I")
_INFO_NAMES: Final = {"snd_mss": 10, "rcv_mss": 11, "rtt": 23, "snd_cwnd": 26, "advmss": 27, "rcv_rtt": 29}
_MICROSECONDS: Final = 1000
#: Enough of a status line to tell what it is.
_STATUS_BYTES: Final = len(b"HTTP/1.1 100")


class Connection:
    """One TCP connection, from a port that was reserved before."""

    def __init__(
        self,
        target: Target,
        budget: Budget,
        reserved: socket.socket,
        *,
        delays_acks: bool = True,
        tls: TlsStream | None = None,
    ) -> None:
        """Connects.

        :raises ProbeError: the server cannot be reached, or the TLS handshake fails.
        :raises Spent: there is no time left.
        """
        self._target = target
        self._budget = budget
        self._socket = reserved
        self._delays_acks = delays_acks
        self._was_delaying = False
        #: What came behind the last response.
        self._left = b""
        self._index = 0
        self._tls = tls
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
        if tls is not None:
            self._shake_hands(tls)

    def _shake_hands(self, tls: TlsStream) -> None:
        """Makes the TLS handshake.

        :raises ProbeError: it fails.
        """
        came = b""
        try:
            while True:
                self._socket.sendall(tls.advance(came))
                if tls.is_established:
                    return
                came = self._read()
                if not came:
                    raise ConnectionAbortedError
        except OSError as error:
            with suppress(OSError):
                self._socket.sendall(tls.pending())
            raise ProbeError(self._target.url, tls.failure(error)) from None

    def close(self) -> None:
        """Closes the connection."""
        self.is_open = False
        if self._tls is not None:
            with suppress(OSError):
                self._socket.sendall(self._tls.closing())
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
        has_answered = self._has_answer(min(patience, self._budget.silence()))
        held = 0 if has_answered else time.monotonic_ns() - asked
        if not has_answered or self._is_continue():
            asked = self._write([body])
        return replace(self._response(step, method, path, asked), held=held)

    def _has_answer(self, seconds: float) -> bool:
        """Whether a response or the end of the stream comes within so many seconds; its reader gets the data."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and select.select([self._socket], [], [], left)[0]:
            try:
                came = self._receive()
            except OSError:
                return True
            self._left += came.data
            if came.data or came.has_ended:
                return True
        return False

    def _is_continue(self) -> bool:
        """Whether what has come begins with the status 100."""
        return self._left[:_STATUS_BYTES].endswith(b" 100")

    def _write(self, parts: Sequence[bytes]) -> int:
        self._socket.settimeout(self._budget.silence())
        try:
            self._set_acks()
            self._was_delaying = self._is_delaying()
            for part in parts:
                self._socket.sendall(part if self._tls is None else self._tls.sealed(part))
        except OSError:
            # The server may have answered and closed: what it sent is read all the same.
            self.is_open = False
        return time.monotonic_ns()

    def _read(self) -> bytes:
        """Read the socket once it has data; empty is the end.

        :raises Spent: there is no time left.
        :raises OSError: nothing comes, or the connection failed.
        """
        patience = self._budget.silence()
        self._socket.settimeout(patience)
        try:
            raw = self._socket.recv(_READ_BYTES)
        except TimeoutError:
            if patience < self._budget.limits.silence:
                raise Spent from None
            raise
        if raw:
            self._set_acks()
        return raw

    def _receive(self) -> Came:
        """Read the stream once; raises as :meth:`_read`."""
        raw = self._read()
        if self._tls is None:
            return Came(len(raw), raw, has_ended=not raw)
        came = self._tls.opened(raw)
        if answer := self._tls.pending():
            self._socket.sendall(answer)
        return came

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
        reader = Reader(method, self._left)
        while not reader.is_done and reader.size <= self._budget.limits.response_bytes:
            try:
                came = self._receive()
            except TimeoutError:
                reader.fault = f"nothing came for {self._budget.limits.silence:g} s"
                break
            except OSError as error:
                reader.fault = words_of(error)
                break
            reader.feed(came, time.monotonic_ns())
            if came.has_ended:
                break
        self._left = reader.left
        if self._tls is not None:
            self._tls.keep_session()
        exchange = reader.exchange(step, method, path, self.port, self._index - 1, asked, self._kernel())
        if exchange.closes or not exchange.is_complete:
            self.close()
        return replace(exchange, delays_acks=self._was_delaying)

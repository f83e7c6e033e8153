"""Connection of the probe: its writes, and the arrival time of each piece of a response.

Each piece gets the time of its read. The kernel's counters come from TCP_INFO (``struct tcp_info`` of
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
# Linux values since 2.4; the module socket has the names on Linux only.
_QUICKACK: Final = getattr(socket, "TCP_QUICKACK", 12)
_TCP_INFO: Final = getattr(socket, "TCP_INFO", 11)
# Eight bytes of flags, then 24 words of 32 bits: linux/tcp.h, struct tcp_info, since Linux 2.6.
_INFO: Final = struct.Struct("=8B24I")
_INFO_NAMES: Final = {"snd_mss": 10, "rcv_mss": 11, "rtt": 23, "snd_cwnd": 26, "advmss": 27, "rcv_rtt": 29}
_MICROSECONDS: Final = 1000
#: Minimum bytes that identify a status line.
_STATUS_BYTES: Final = len(b"HTTP/1.1 100")


class Connection:
    """TCP connection from a previously reserved port."""

    def __init__(
        self,
        target: Target,
        budget: Budget,
        reserved: socket.socket,
        *,
        delays_acks: bool = True,
        tls: TlsStream | None = None,
    ) -> None:
        """Connect.

        :raises ProbeError: the server cannot be reached, or the TLS handshake fails.
        :raises Spent: no time is left.
        """
        self._target = target
        self._budget = budget
        self._socket = reserved
        self._delays_acks = delays_acks
        self._was_delaying = False
        #: Bytes behind the last response.
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
        # Requests leave at once, regardless of earlier writes.
        reserved.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._set_acks()
        if tls is not None:
            self._shake_hands(tls)

    def _shake_hands(self, tls: TlsStream) -> None:
        """Make the TLS handshake.

        :raises ProbeError: the handshake fails.
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
        """Close the connection."""
        self.is_open = False
        if self._tls is not None:
            with suppress(OSError):
                self._socket.sendall(self._tls.closing())
        self._socket.close()

    def ask(self, step: str, *, method: str = "GET", path: str, parts: Sequence[bytes]) -> Exchange:
        """Write a request, part by part, and read its response."""
        self._budget.take_requests()
        requested = self._write(parts)
        return self._response(step, method, path, requested)

    def ask_many(self, step: str, paths: Sequence[str], request: bytes) -> list[Exchange]:
        """Write pipelined requests (RFC 9112, section 9.3.2) and read the responses."""
        self._budget.take_requests(len(paths))
        requested = self._write([request])
        exchanges: list[Exchange] = []
        for path in paths:
            exchanges.append(self._response(step, "GET", path, requested))
            if not self.is_open:
                break
        return exchanges

    def announce(
        self, step: str, *, method: str, path: str, parts: tuple[bytes, bytes], patience: float
    ) -> Exchange:
        """Write the head of a request, and its body after 100 (Continue) or after ``patience`` seconds of
        silence.
        """
        self._budget.take_requests()
        head, body = parts
        requested = self._write([head])
        has_answered = self._has_answer(min(patience, self._budget.silence()))
        held = 0 if has_answered else time.monotonic_ns() - requested
        if not has_answered or self._is_continue():
            requested = self._write([body])
        return replace(self._response(step, method, path, requested), held=held)

    def _has_answer(self, seconds: float) -> bool:
        """Return whether a response or the end of the stream comes in time; its reader gets the data."""
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
        """Return whether the received data begins with the status 100."""
        return self._left[:_STATUS_BYTES].endswith(b" 100")

    def _write(self, parts: Sequence[bytes]) -> int:
        self._socket.settimeout(self._budget.silence())
        try:
            self._set_acks()
            self._was_delaying = self._is_delaying()
            for part in parts:
                self._socket.sendall(part if self._tls is None else self._tls.sealed(part))
        except OSError:
            # The server may have answered and closed; its data is read nevertheless.
            self.is_open = False
        return time.monotonic_ns()

    def _read(self) -> bytes:
        """Read the socket once it has data; empty data is the end.

        :raises Spent: no time is left.
        :raises OSError: nothing arrives, or the connection failed.
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
        """Read the stream once. It raises the errors of :meth:`_read`."""
        raw = self._read()
        if self._tls is None:
            return Came(len(raw), raw, has_ended=not raw)
        came = self._tls.opened(raw)
        if answer := self._tls.pending():
            self._socket.sendall(answer)
        return came

    def _set_acks(self) -> None:
        """Set delayed or immediate ACKs. The kernel resets the option by itself, so it is set repeatedly."""
        self._socket.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 0 if self._delays_acks else 1)

    def _is_delaying(self) -> bool:
        """Return whether the kernel reports that it will delay ACKs."""
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

    def _response(self, step: str, method: str, path: str, requested: int) -> Exchange:
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
        exchange = reader.exchange(step, method, path, self.port, self._index - 1, requested, self._kernel())
        if exchange.closes or not exchange.is_complete:
            self.close()
        return replace(exchange, delays_acks=self._was_delaying)

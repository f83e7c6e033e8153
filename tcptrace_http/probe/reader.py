"""Incremental parser of one response, by h11."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import h11

from tcptrace_http.probe.exchange import TLS_BEGINNINGS, Came, Exchange, Piece

if TYPE_CHECKING:
    from tcptrace_http.probe.exchange import Kernel

__all__ = ["Reader"]

_END_OF_HEAD: Final = b"\r\n\r\n"


class Reader:
    """Response read by h11."""

    def __init__(self, method: str, left: bytes) -> None:
        self._parser = h11.Connection(h11.CLIENT)
        # The parser needs a request; it differs from the one that was written.
        self._parser.send(h11.Request(method=method, target="/", headers=[("Host", "probe")]))
        self._parser.send(h11.EndOfMessage())
        self._head: h11.Response | None = None
        #: Bytes before the end of the head.
        self._begin = b""
        self._head_bytes = 0
        self._body_bytes = 0
        self._is_complete = False
        self.pieces: list[Piece] = []
        self.size = 0
        self.fault = ""
        if left:
            self.feed(Came(len(left), left), time.monotonic_ns())

    @property
    def is_done(self) -> bool:
        """Return whether the response needs no more bytes."""
        return self._is_complete or bool(self.fault)

    @property
    def left(self) -> bytes:
        """Return the bytes behind the response."""
        return self._parser.trailing_data[0] if self._is_complete else b""

    def feed(self, came: Came, now: int) -> None:
        """Take the data of one read."""
        if came.size:
            self.pieces.append(Piece(now, came.size))
        self.size += came.size
        if came.data:
            self._parse(came.data)
        if came.has_ended and not self.is_done:
            self._parse(b"")

    def _parse(self, data: bytes) -> None:
        """Parse the next data; empty data is the end of the stream."""
        if self._head is None:
            self._begin += data
            if self._begin.startswith(TLS_BEGINNINGS):
                self.fault = "it speaks TLS; probe it by https://"
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
        self, step: str, method: str, path: str, port: int, index: int, requested: int, kernel: Kernel | None
    ) -> Exchange:
        """Return the request and the response as far as received."""
        fields = (
            () if self._head is None else tuple((k.decode(), v.decode("latin-1")) for k, v in self._head.headers)
        )
        return Exchange(
            step=step,
            method=method,
            path=path,
            port=port,
            index=index,
            requested=requested,
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

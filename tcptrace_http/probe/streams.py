"""HTTP/2 connection of the probe: requests as consecutive or concurrent streams.

Prior knowledge starts clear-text connections (RFC 9113, section 3.3), ALPN those under TLS. The probe's
windows never limit a response, and are large enough that no WINDOW_UPDATE carries an ACK.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from tcptrace_http.errors import ProbeError
from tcptrace_http.http2_names import error_name
from tcptrace_http.probe.connection import Connection
from tcptrace_http.probe.exchange import Exchange, Piece
from tcptrace_http.probe.tls import words_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence

    from tcptrace_http.probe.budget import Budget
    from tcptrace_http.probe.exchange import Kernel
    from tcptrace_http.probe.target import Target
    from tcptrace_http.probe.tls import TlsStream

__all__ = ["ALPN", "StreamConnection", "request_fields"]

#: ALPN identifier (RFC 9113, section 3.2).
ALPN: Final = "h2"
#: Connection windows: the default before any WINDOW_UPDATE (RFC 9113, section 6.9), and the probe's.
_FIRST_WINDOW: Final = 65_535
_CONNECTION_WINDOW: Final = 1 << 30
#: Factor of the stream window over the maximum response.
_STREAM_WINDOW_FACTOR: Final = 4
_HTTP1: Final = b"HTTP/1."

Fields = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Stream:
    """Request with the received part of its response."""

    method: str
    path: str
    pieces: list[Piece] = field(default_factory=list)
    status: int | None = None
    head_bytes: int = 0
    body_bytes: int = 0
    fields: Fields = ()
    is_complete: bool = False
    fault: str = ""
    #: Index of its response on the connection.
    place: int = 0

    @property
    def is_done(self) -> bool:
        return self.is_complete or bool(self.fault)

    def take(self, event: h2.events.Event, now: int) -> None:
        """Take an event of the stream."""
        if isinstance(event, h2.events.ResponseReceived):
            told = tuple((_text(name), _text(value)) for name, value in event.headers or ())
            self.status = next((int(value) for name, value in told if name == ":status"), None)
            self.fields = tuple(each for each in told if not each[0].startswith(":"))
            # The size is approximate: the field block is compressed.
            self.head_bytes = sum(len(name) + len(value) for name, value in told)
            self.pieces.append(Piece(now, self.head_bytes))
        elif isinstance(event, h2.events.DataReceived):
            self.body_bytes += len(event.data or b"")
            self.pieces.append(Piece(now, event.flow_controlled_length or 0))
        elif isinstance(event, h2.events.StreamEnded):
            self.is_complete = True
        elif isinstance(event, h2.events.StreamReset):
            self.fault = f"the server reset the stream ({error_name(int(event.error_code or 0))})"

    def exchange(self, step: str, port: int, requested: int, kernel: Kernel | None, *, closes: bool) -> Exchange:
        """Return the request and the response as far as received."""
        return Exchange(
            step=step,
            method=self.method,
            path=self.path,
            port=port,
            index=self.place,
            requested=requested,
            pieces=tuple(self.pieces),
            status=self.status,
            head_bytes=self.head_bytes,
            body_bytes=self.body_bytes,
            fields=self.fields,
            is_complete=self.is_complete,
            is_cut=not self.is_done and bool(self.pieces),
            closes=closes,
            fault=self.fault,
            kernel=kernel,
        )


class StreamConnection(Connection):
    """HTTP/2 connection."""

    def __init__(
        self,
        target: Target,
        budget: Budget,
        reserved: socket.socket,
        *,
        delays_acks: bool = True,
        tls: TlsStream | None = None,
    ) -> None:
        """Connect; the preface leaves with the first request.

        :raises ProbeError: the server cannot be reached, the TLS handshake fails, or ALPN does not agree.
        :raises Spent: no time is left.
        """
        super().__init__(target, budget, reserved, delays_acks=delays_acks, tls=tls)
        if tls is not None and tls.protocol != ALPN:
            self.close()
            raise ProbeError(target.url, f"{target.authority} takes no {ALPN} (ALPN); probe it without --http2")
        self._frames = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        window = _STREAM_WINDOW_FACTOR * budget.limits.response_bytes
        self._frames.local_settings = h2.settings.Settings(
            initial_values={
                h2.settings.SettingCodes.ENABLE_PUSH: 0,
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window,
            }
        )
        self._frames.initiate_connection()
        self._frames.increment_flow_control_window(_CONNECTION_WINDOW - _FIRST_WINDOW)
        self._streams: dict[int, _Stream] = {}
        self._is_ending = False

    @property
    def streams_at_once(self) -> int:
        """Return the server's limit of concurrent streams, as far as known."""
        return int(self._frames.remote_settings.max_concurrent_streams)

    def close(self) -> None:
        """Send GOAWAY and close the connection."""
        if self.is_open and hasattr(self, "_frames"):
            with suppress(h2.exceptions.ProtocolError):
                self._frames.close_connection()
            self._send()
        super().close()

    def ask_streams(self, step: str, requests: Sequence[tuple[str, str, Fields]]) -> list[Exchange]:
        """Send requests (method, path and fields) as concurrent streams, and read their responses.

        :raises Spent: no requests, or no time, are left.
        """
        self._budget.take_requests(len(requests))
        self._streams = {self._begin(fields): _Stream(method, path) for method, path, fields in requests}
        requested = self._write([self._frames.data_to_send()])
        fault = self._read_all()
        if self._tls is not None:
            self._tls.keep_session()
        kernel = self._kernel()
        for stream in self._streams.values():
            stream.fault = stream.fault or ("" if stream.is_complete else fault)
        exchanges = [
            replace(
                stream.exchange(step, self.port, requested, kernel, closes=self._is_ending),
                delays_acks=self._was_delaying,
            )
            for stream in sorted(self._streams.values(), key=lambda it: it.place)
        ]
        if self._is_ending or not all(each.is_complete for each in exchanges):
            self.close()
        return exchanges

    def _begin(self, fields: Fields) -> int:
        number = self._frames.get_next_available_stream_id()
        self._frames.send_headers(number, list(fields), end_stream=True)
        return number

    def _read_all(self) -> str:
        """Read until all streams end or one is too long; return the reason of a failed connection."""
        fault = ""
        while not fault and self._is_waiting():
            fault = self._read_once()
        return fault

    def _is_waiting(self) -> bool:
        streams = self._streams.values()
        limit = self._budget.limits.response_bytes
        return any(not it.is_done for it in streams) and all(it.body_bytes <= limit for it in streams)

    def _read_once(self) -> str:
        """Read once and answer; return the reason of a failed connection."""
        try:
            came = self._receive()
        except TimeoutError:
            return f"nothing came for {self._budget.limits.silence:g} s"
        except OSError as error:
            return words_of(error)
        if came.data.startswith(_HTTP1):
            return "it speaks no HTTP/2; probe it without --http2"
        try:
            for event in self._frames.receive_data(came.data):
                self._take(event, time.monotonic_ns())
        except h2.exceptions.ProtocolError as error:
            return f"no HTTP/2: {error}"
        self._send()
        return "closed without a response" if came.has_ended and self._is_waiting() else ""

    def _take(self, event: h2.events.Event, now: int) -> None:
        if isinstance(event, h2.events.ConnectionTerminated):
            self._is_ending = True
        stream = self._streams.get(getattr(event, "stream_id", None) or 0)
        if stream is None:
            return
        was_done = stream.is_done
        stream.take(event, now)
        if stream.is_done and not was_done:
            stream.place = self._index
            self._index += 1
        if isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
            self._frames.acknowledge_received_data(event.flow_controlled_length, event.stream_id or 0)

    def _send(self) -> None:
        """Send the answers to the server's frames."""
        if data := self._frames.data_to_send():
            with suppress(OSError):
                self._socket.sendall(data if self._tls is None else self._tls.sealed(data))


def _text(value: bytes | str) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def request_fields(
    method: str, path: str, scheme: str, fields: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield the fields of a request in HTTP/2 form (RFC 9113, section 8.3.1)."""
    named = {name.lower(): value for name, value in fields}
    yield ":method", method
    yield ":scheme", scheme
    yield ":authority", named.pop("host")
    yield ":path", path
    yield from named.items()

"""State of a running probe: its connections, their results, and the notes."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from tcptrace_http._version import __version__
from tcptrace_http.errors import MissingExtra
from tcptrace_http.probe.budget import Spent
from tcptrace_http.probe.connection import Connection
from tcptrace_http.probe.target import bound_socket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.probe.budget import Budget
    from tcptrace_http.probe.exchange import Exchange
    from tcptrace_http.probe.target import Target
    from tcptrace_http.probe.tls import TlsClient

__all__ = ["Session"]

#: Number of reserved ports, and more per path. The capture accepts only these ports, so it has no foreign
#: packets. A server that closes after each response needs this many connections.
PORTS: Final = 140
_PORTS_OF_A_PATH: Final = 10


class Session:
    """Session that sends the workload's requests. Server faults are kept in the exchanges and raise nothing."""

    def __init__(
        self,
        target: Target,
        budget: Budget,
        *,
        paths: Sequence[str] = (),
        tls: TlsClient | None = None,
        http2: bool = False,
    ) -> None:
        """Make a session. With ``http2``, requests are HTTP/2 streams.

        :raises MissingExtra: the HTTP/2 library is not installed.
        """
        self.is_http2 = http2
        self._connection_type = _stream_connection() if http2 else Connection
        self.target = target
        self.budget = budget
        #: TLS client; None for a target without TLS.
        self.tls = tls
        #: Further documents to request.
        self.paths = tuple(target.at(path).path for path in paths)
        #: Document for comparison with the others; the first step of the workload finds it.
        self.document: Exchange
        self.exchanges: list[Exchange] = []
        self.notes: list[str] = []
        self.serves_ranges = False
        #: True if a connection was idle long enough for a slow-start restart, on a path that shows it.
        self.has_restarted = False
        #: Completed steps.
        self.done: list[str] = []
        self._reserved = [bound_socket(target) for _ in range(PORTS + _PORTS_OF_A_PATH * len(self.paths))]
        #: Ports of all future connections.
        self.ports = tuple(int(each.getsockname()[1]) for each in self._reserved)
        self._open: list[Connection] = []

    @property
    def rtt_ns(self) -> int | None:
        """Return the smallest round trip of the kernel's measurements."""
        found = [each.kernel.rtt_ns for each in self.exchanges if each.kernel is not None and each.kernel.rtt_ns]
        return min(found, default=None)

    def note(self, text: str) -> None:
        """Add a note outside the rules."""
        if text not in self.notes:
            self.notes.append(text)

    def connect(self, *, delays_acks: bool = True, resumes: bool = True) -> Connection:
        """Return a new connection. With TLS it resumes an earlier session if ``resumes``.

        :raises ProbeError: the server cannot be reached, or the TLS handshake fails.
        :raises Spent: all reserved ports are used.
        """
        if not self._reserved:
            raise Spent
        with ExitStack() as unless_connected:
            reserved = unless_connected.enter_context(self._reserved.pop())
            tls = None if self.tls is None else self.tls.stream(resumes=resumes)
            connection = self._connection_type(
                self.target, self.budget, reserved, delays_acks=delays_acks, tls=tls
            )
            unless_connected.pop_all()
        self._open.append(connection)
        return connection

    def close(self) -> None:
        """Close the open connections, and release the ports."""
        self.close_all()
        for each in self._reserved:
            each.close()

    def close_all(self) -> None:
        """Close the open connections."""
        while self._open:
            self._open.pop().close()

    def get(
        self,
        step: str,
        connection: Connection,
        *,
        method: str = "GET",
        path: str | None = None,
        headers: Sequence[tuple[str, str]] = (),
        is_split: bool = False,
    ) -> Exchange:
        """Send one request and read its response."""
        requested = self.target.path if path is None else path
        if self.is_http2:
            return self.get_streams(step, connection, [(method, requested)], headers=headers)[0]
        request = self._request(method, requested, headers)
        middle = len(request) // 2
        parts = [request[:middle], request[middle:]] if is_split else [request]
        exchange = connection.ask(step, method=method, path=requested, parts=parts)
        self.exchanges.append(exchange)
        return exchange

    def get_streams(
        self,
        step: str,
        connection: Connection,
        requests: Sequence[tuple[str, str]],
        *,
        headers: Sequence[tuple[str, str]] = (),
    ) -> list[Exchange]:
        """Send requests (method and path) as concurrent streams; return them in the order of their ends."""
        from tcptrace_http.probe.streams import StreamConnection, request_fields

        if not isinstance(connection, StreamConnection):
            raise TypeError("the connection speaks no HTTP/2")
        fields, scheme = self._fields(headers), self.target.scheme
        exchanges = connection.ask_streams(
            step,
            [(method, path, tuple(request_fields(method, path, scheme, fields))) for method, path in requests],
        )
        self.exchanges += exchanges
        return exchanges

    def get_many(self, step: str, connection: Connection, count: int) -> None:
        """Send requests in one write."""
        request = self._request("GET", self.target.path)
        paths = [self.target.path] * count
        self.exchanges += connection.ask_many(step, paths, request * count)

    def announce(self, step: str, connection: Connection, *, method: str, body: bytes, patience: float) -> None:
        """Send a request whose body waits for the server's 100 (Continue), at most ``patience`` seconds."""
        fields = (("Content-Length", str(len(body))), ("Expect", "100-continue"))
        head = self._request(method, self.target.path, fields)
        self.exchanges.append(
            connection.announce(step, method=method, path=self.target.path, parts=(head, body), patience=patience)
        )

    def _fields(self, headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        agent = f"tcptrace-http/{__version__} (probe)"
        return (("Host", self.target.authority), ("User-Agent", agent), ("Accept", "*/*"), *headers)

    def _request(self, method: str, path: str, headers: Sequence[tuple[str, str]] = ()) -> bytes:
        lines = "".join(f"{name}: {value}\r\n" for name, value in self._fields(headers))
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")


def _stream_connection() -> type[Connection]:
    try:
        from tcptrace_http.probe.streams import StreamConnection
    except ModuleNotFoundError:
        raise MissingExtra("probes of HTTP/2 need h2", "http2") from None
    return StreamConnection

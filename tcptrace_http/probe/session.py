"""A probe while it runs: its connections, what they brought, and what is to be told."""

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

#: Ports that are reserved before the capture begins, which is of these alone: it is of no one else's packets.
#: So many connections are made to a server that closes each after its response, and so many more for each path.
PORTS: Final = 140
_PORTS_OF_A_PATH: Final = 10


class Session:
    """Asks what the workload says. What the server does wrong is kept in the exchanges, and raises nothing."""

    def __init__(
        self,
        target: Target,
        budget: Budget,
        *,
        paths: Sequence[str] = (),
        tls: TlsClient | None = None,
        http2: bool = False,
    ) -> None:
        """``http2``: requests are streams of HTTP/2.

        :raises MissingExtra: it is not installed.
        """
        self.is_http2 = http2
        self._connection_type = _stream_connection() if http2 else Connection
        self.target = target
        self.budget = budget
        #: How TLS is spoken; None of a target without it.
        self.tls = tls
        #: Further documents to ask for.
        self.paths = tuple(target.at(path).path for path in paths)
        #: The one that the others are compared with; the workload's first step finds it.
        self.document: Exchange
        self.exchanges: list[Exchange] = []
        self.notes: list[str] = []
        self.serves_ranges = False
        #: Whether a connection was idle for long enough to start again, on a path where that shows.
        self.has_restarted = False
        #: The steps that were done to their end.
        self.done: list[str] = []
        self._reserved = [bound_socket(target) for _ in range(PORTS + _PORTS_OF_A_PATH * len(self.paths))]
        #: The ports of all connections that there will be.
        self.ports = tuple(int(each.getsockname()[1]) for each in self._reserved)
        self._open: list[Connection] = []

    @property
    def rtt_ns(self) -> int | None:
        """The smallest round trip that the kernel measured."""
        found = [each.kernel.rtt_ns for each in self.exchanges if each.kernel is not None and each.kernel.rtt_ns]
        return min(found, default=None)

    def note(self, text: str) -> None:
        """Something to be told that no rule judges."""
        if text not in self.notes:
            self.notes.append(text)

    def connect(self, *, delays_acks: bool = True, resumes: bool = True) -> Connection:
        """A new connection; with TLS it resumes the session of an earlier one, unless it is not to.

        :raises ProbeError: the server cannot be reached (any more), or the TLS handshake fails.
        :raises Spent: all ports that were reserved are used.
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
        """Close what is open, and give the ports back."""
        self.close_all()
        for each in self._reserved:
            each.close()

    def close_all(self) -> None:
        """Close what is open."""
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
        """One request and its response."""
        asked = self.target.path if path is None else path
        if self.is_http2:
            return self.get_streams(step, connection, [(method, asked)], headers=headers)[0]
        request = self._request(method, asked, headers)
        middle = len(request) // 2
        parts = [request[:middle], request[middle:]] if is_split else [request]
        exchange = connection.ask(step, method=method, path=asked, parts=parts)
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
        """Requests, each a method and a path, that are streams at once; in the order in which they ended."""
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
        """Requests that are written together."""
        request = self._request("GET", self.target.path)
        paths = [self.target.path] * count
        self.exchanges += connection.ask_many(step, paths, request * count)

    def announce(self, step: str, connection: Connection, *, method: str, body: bytes, patience: float) -> None:
        """A request whose body waits for the server's word, but not longer than so many seconds."""
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

"""A probe while it runs: its connections, what they brought, and what is to be told."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from tcptrace_http._version import __version__
from tcptrace_http.errors import ProbeError
from tcptrace_http.probe.budget import Spent
from tcptrace_http.probe.connection import Connection, Exchange
from tcptrace_http.probe.target import bound_socket
from tcptrace_http.probe.workload import STEPS, first

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tcptrace_http.probe.budget import Budget
    from tcptrace_http.probe.target import Target

__all__ = ["Session"]

#: Ports that are reserved before the capture begins, which is of these alone: it is of no one else's packets.
#: So many connections are made to a server that closes each after its response, and so many more for each path.
PORTS: Final = 140
_PORTS_OF_A_PATH: Final = 10


class Session:
    """Runs the workload. What the server does wrong is kept in the exchanges, and raises nothing."""

    def __init__(self, target: Target, budget: Budget, *, paths: Sequence[str] = ()) -> None:
        self.target = target
        self.budget = budget
        #: Further documents to ask for.
        self.paths = tuple(target.at(path).path for path in paths)
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

    def run(self, progress: Callable[[str], None] | None = None) -> None:
        """All steps, as far as the budget goes.

        :raises ProbeError: the server cannot be reached or does not answer the first request.
        """
        tell = progress or _silent
        try:
            with suppress(Spent):
                tell("first")
                self.document = first(self)
                if self._is_fit():
                    self._do_steps(tell)
                return
            if not self.exchanges:
                raise ProbeError(self.target.url, f"no whole answer within {self.budget.limits.time:g} s")
            self.note("the probe's time or requests were used up before all steps were done")
        finally:
            tell("")
            self.close()

    def _do_steps(self, tell: Callable[[str], None]) -> None:
        """Each step; a server that cannot be reached any more is judged by what it did before.

        :raises Spent: the time or the requests are used up.
        """
        for step in STEPS:
            tell(step.__name__.replace("_", " "))
            try:
                step(self)
            except ProbeError as error:
                self.note(f"{error.what}, after it had answered {len(self.exchanges)} requests")
                return
            self.close_all()
            self.done.append(step.__name__)

    def _is_fit(self) -> bool:
        """Whether the document serves to compare others with."""
        known = self.document
        if known.is_cut:
            self.note(
                f"{self.target.path} is longer than {self.budget.limits.response_bytes:,} bytes; it was cut off,"
                " and nothing else was asked: probe a smaller document"
            )
        elif known.status != HTTPStatus.OK or not known.is_complete:
            self.note(f"{self.target.path} is answered with {known.status}; probe a document that is there")
        else:
            return True
        return False

    @property
    def rtt_ns(self) -> int | None:
        """The smallest round trip that the kernel measured."""
        found = [each.kernel.rtt_ns for each in self.exchanges if each.kernel is not None and each.kernel.rtt_ns]
        return min(found, default=None)

    def note(self, text: str) -> None:
        """Something to be told that no rule judges."""
        if text not in self.notes:
            self.notes.append(text)

    def connect(self, *, delays_acks: bool = True) -> Connection:
        """A new connection.

        :raises ProbeError: the server cannot be reached (any more).
        :raises Spent: all ports that were reserved are used.
        """
        if not self._reserved:
            raise Spent
        with ExitStack() as unless_connected:
            reserved = unless_connected.enter_context(self._reserved.pop())
            connection = Connection(self.target, self.budget, reserved, delays_acks=delays_acks)
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
        request = self._request(method, asked, headers)
        middle = len(request) // 2
        parts = [request[:middle], request[middle:]] if is_split else [request]
        exchange = connection.ask(step, method=method, path=asked, parts=parts)
        self.exchanges.append(exchange)
        return exchange

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

    def _request(self, method: str, path: str, headers: Sequence[tuple[str, str]] = ()) -> bytes:
        fields = (
            ("Host", self.target.authority),
            ("User-Agent", f"tcptrace-http/{__version__} (probe)"),
            ("Accept", "*/*"),
            *headers,
        )
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")


def _silent(step: str) -> None:
    """Tells nobody."""

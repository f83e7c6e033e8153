"""Plan of a page's retrieval: its requests, their preconditions and their connections."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from reference_sim.document import Duration, Size
from reference_sim.page import Page
from tcptrace_http.errors import ScenarioError

__all__ = ["After", "Bytes", "Complete", "Fetch", "HttpVersion", "Plan", "Requested", "Start", "Visit"]


class HttpVersion(StrEnum):
    """Method of a request."""

    HTTP10 = "HTTP/1.0"
    HTTP11 = "HTTP/1.1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """No precondition: the first request of the visit."""

    kind: ClassVar = "start"


@dataclass(frozen=True, kw_only=True, slots=True)
class Complete:
    """Arrival of the whole response of this fetch."""

    kind: ClassVar = "complete"
    fetch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Bytes:
    """Arrival of this many body bytes of this fetch, up to the link to the object."""

    kind: ClassVar = "bytes"
    fetch: int
    bytes: Size


@dataclass(frozen=True, kw_only=True, slots=True)
class Requested:
    """Transmission of the request of this fetch."""

    kind: ClassVar = "requested"
    fetch: int


#: Precondition of a fetch; fetches are named by index.
After = Start | Complete | Bytes | Requested


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetch:
    """One request. Several objects come as one response."""

    objects: tuple[int, ...]
    after: After = Start()
    method: str = "GET"
    #: Required connection, by number from 0; None: the first free connection.
    lane: int | None = None
    #: The response is rounded to the nearest number of whole segments, at least one.
    whole_segments: bool = False
    #: The request is sent in two writes: this many bytes, the rest ``split_gap`` later.
    split_after: int | None = None
    split_gap: Duration = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Fetches of a page, and their connections."""

    #: Maximum number of simultaneous connections; None: one per request.
    connections: int | None = 1
    #: A connection carries several requests.
    persistent: bool = False
    #: Maximum number of outstanding requests per connection.
    pipelining: int = 1
    #: Connections stay open for the next visit.
    keeps_connections: bool = False
    #: The last request on a connection asks the server to close it, if the plan determines that request.
    #: Otherwise the client closes the connection after the visit.
    closes_with_last: bool = False
    fetches: tuple[Fetch, ...]

    def __post_init__(self) -> None:
        if self.connections is not None and self.connections < 1:
            raise ScenarioError("a plan needs at least one connection", field="connections")
        if self.pipelining < 1:
            raise ScenarioError("at least one request is outstanding", field="pipelining")
        if self.pipelining > 1 and not self.persistent:
            raise ScenarioError("needs persistent connections; set persistent = true", field="pipelining")
        if not self.fetches:
            raise ScenarioError("a plan has at least one fetch", field="fetches")
        for index, fetch in enumerate(self.fetches):
            self._check(index, fetch)

    def _check(self, index: int, fetch: Fetch) -> None:
        if not fetch.objects:
            raise ScenarioError("a fetch has at least one object", field=f"fetches[{index}].objects")
        awaited = None if isinstance(fetch.after, Start) else fetch.after.fetch
        if awaited is not None and not 0 <= awaited < index:
            raise ScenarioError(
                f"fetch {awaited} is not earlier; a fetch waits only for an earlier fetch",
                field=f"fetches[{index}].after",
            )
        if fetch.lane is not None and self.connections is not None and not 0 <= fetch.lane < self.connections:
            raise ScenarioError(
                f"connection {fetch.lane} is out of range; the plan has {self.connections}",
                field=f"fetches[{index}].lane",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """Page with its plan."""

    page: Page
    plan: Plan
    #: Pause after the previous visit; None: the browser's think time.
    think: Duration | None = None

    def __post_init__(self) -> None:
        for index, fetch in enumerate(self.plan.fetches):
            beyond = [number for number in fetch.objects if not 0 <= number < len(self.page.objects)]
            if beyond:
                raise ScenarioError(
                    f"page {self.page.name!r} has no object {beyond[0]}", field=f"fetches[{index}].objects"
                )

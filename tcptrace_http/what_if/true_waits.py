"""Waits of a simulated retrieval: its critical path from the ground truth, a partition to the nanosecond.

Theory of operation. The path is walked backwards from the last byte. Inside a response the limit of the
server's sender counts, before it the server time, before that the request's transfer. A request waited for a
handshake, a connection, or the document that names its object; the path continues there. Each step covers the
time up to the start of the next step. The steps therefore sum to the retrieval's time.

The names are the causes of :data:`tcptrace_http.schema.CAUSES`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from reference_sim.plan import Start
from reference_sim.quantities import nanoseconds
from tcptrace_http.what_if.streams import cause_before_requests, cause_inside_responses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from reference_sim.plan import Fetch
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["TRANSFER", "TrueWaits"]

#: Cause of a file's time: FTP has no requests.
TRANSFER: Final = "transfer"
_PROPAGATION: Final = "network.propagation"
_BOTTLENECK: Final = "send_limited.bottleneck"
_SLOW_START: Final = "send_limited.slow_start"
_CWND: Final = "send_limited.cwnd"
_DELAYED: Final = "stall.nagle_delayed_ack"
_CAUSE_OF: Final = {
    "handshake": "setup.handshake",
    "slow_start": _SLOW_START,
    "congestion_avoidance": _CWND,
    "receive_window": "send_limited.receive_window",
    "zero_window": "send_limited.zero_window",
    "max_window": _CWND,
    "nagle": "stall.nagle_hold",
    "fast_recovery": "stall.fast_recovery",
    "timeout": "stall.retransmission_timeout",
    "pacing": _CWND,
    "scheduler": _CWND,
    "send_buffer": "send_limited.send_buffer",
}
#: Sender limits during which the path may be busy with the sent data; the path then takes the time.
_WINDOWS: Final = frozenset({"slow_start", "congestion_avoidance", "receive_window", "max_window", "send_buffer"})
#: Limits that only an ACK releases, so a delayed ACK counts. A small buffer is a cause of its own.
_BY_ACKS: Final = frozenset({"slow_start", "congestion_avoidance", "nagle"})
_BITS_A_BYTE: Final = 8
_S: Final = 1_000_000_000
_Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Request:
    """Request with its response, in nanoseconds."""

    connection: int
    index: int
    fetch: int
    wanted: int
    written: int
    received: int
    answered: int
    end: int


class TrueWaits:
    """Waits of the retrievals of a run; its scenario recorded limits and packets."""

    def __init__(self, scenario: Scenario, simulation: Simulation) -> None:
        truth = simulation.truth
        self._scenario = scenario
        self._requests: dict[tuple[int, int], dict[int, _Request]] = defaultdict(dict)
        for client, visit, *rest in _rows(truth.transactions, ("browser", "visit", *_REQUEST)):
            if None not in rest:
                request = _Request(*rest)
                self._requests[client, visit][request.fetch] = request
        self.opened = dict(_rows(truth.connections, ("connection", "opened")))
        self.before_requests = cause_before_requests(scenario)
        self.inside_responses = cause_inside_responses(scenario)
        #: End of each TCP handshake.
        self.established = dict(_rows(truth.connections, ("connection", "established")))
        self._limits: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)
        for connection, side, time, limit in _rows(truth.limits, ("connection", "side", "time", "limit")):
            self._limits[connection, side].append((time, limit))
        self._packets: dict[tuple[int, str], list[tuple[int, int, int, str]]] = defaultdict(list)
        for connection, side, *packet in _rows(truth.packets, ("connection", "side", *_PACKET)):
            if packet[1] is not None:
                self._packets[connection, side].append(tuple(packet))
        self._busy = _busy(scenario, truth.packets, truth.hops)
        self._arrivals: dict[tuple[int, str], list[_Interval]] = {}
        self._ways: dict[tuple[int, str], int] = {}
        self._held: dict[int, _Overlaps] = {}

    def of_retrieval(self, client: int, visit: int, start: int, end: int) -> Counter[str]:
        """Return nanoseconds by cause; they sum to ``end - start``."""
        requests = self._requests[client, visit]
        visits = self._scenario.browsers[client].visits
        parse = nanoseconds(self._scenario.browsers[client].parse)
        walk = _Walk(self, requests, visits[visit % len(visits)].plan.fetches, parse, start, end)
        return walk.causes()

    def sender(self, connection: int, side: str, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
        """Yield the limits of this end's sender, piece by piece; ``application``: it had nothing to send."""
        rows = self._limits[connection, side]
        place = max(bisect_left(rows, (begin + 1, "")) - 1, 0)
        at = begin
        limit = "application"
        for number in range(place, len(rows)):
            time, following = rows[number]
            if time >= end:
                break
            if time > at:
                yield limit, at, time
                at = time
            limit = following
        if end > at:
            yield limit, at, end

    def last_sent(self, connection: int, side: str, until: int, after: int) -> int:
        """Return the sending time of the last data that had arrived by ``until``."""
        key = connection, side
        if key not in self._arrivals:
            came = ((received, sent) for sent, received, payload, _ in self._packets[key] if payload)
            self._arrivals[key] = sorted(came)
        number = bisect_left(self._arrivals[key], (until + 1, 0))
        return min(max(self._arrivals[key][number - 1][1], after), until) if number else until

    def way(self, connection: int, side: str) -> int:
        """Return the minimum transit time of a packet."""
        key = connection, side
        if key not in self._ways:
            self._ways[key] = min((received - sent for sent, received, *_ in self._packets[key]), default=0)
        return self._ways[key]

    def busy(self, begin: int, end: int) -> Iterator[_Interval]:
        """Yield the times at which the bottleneck was sending towards the client."""
        for number in range(max(bisect_left(self._busy, (begin, begin)) - 1, 0), len(self._busy)):
            low, high = self._busy[number]
            if low >= end:
                return
            if high > begin:
                yield max(low, begin), min(high, end)

    def held(self, connection: int, begin: int, end: int) -> list[_Interval]:
        """Return the times in the interval at which the server waited for delayed ACKs."""
        if connection not in self._held:
            self._held[connection] = _Overlaps(self._delays(connection))
        return self._held[connection].within(begin, end)

    def _delays(self, connection: int) -> Iterator[_Interval]:
        data = sorted(received for _, received, payload, _ in self._packets[connection, "server"] if payload)
        before = 0
        for sent, received, _, reason in self._packets[connection, "client"]:
            first = bisect_left(data, before)
            if reason == "delayed_ack" and first < len(data) and data[first] < sent:
                yield data[first] + received - sent, received
            before = sent + 1


class _Overlaps:
    """Intervals with a lookup by time."""

    def __init__(self, intervals: Iterable[_Interval]) -> None:
        self._intervals = sorted(intervals)
        #: Latest end up to each interval.
        self._ends = list(accumulate((high for _, high in self._intervals), max))

    def within(self, begin: int, end: int) -> list[_Interval]:
        """Return the intervals that overlap this time, cut to it, last ones first."""
        found = []
        for number in range(bisect_left(self._intervals, (end, end)) - 1, -1, -1):
            if self._ends[number] <= begin:
                break
            low, high = self._intervals[number]
            if high > begin:
                found.append((max(low, begin), min(high, end)))
        return found


_REQUEST: Final = (
    "connection",
    "index",
    "fetch",
    "wanted",
    "written",
    "request_received",
    "response_written",
    "response_last_received",
)
_PACKET: Final = ("sent", "received", "payload_bytes", "reason")


def _rows(frame: pl.DataFrame, columns: tuple[str, ...]) -> Iterable[tuple[Any, ...]]:
    import polars as pl
    import polars.selectors as cs

    return (
        frame.select(*columns)
        .with_columns(cs.temporal().to_physical(), cs.by_dtype(pl.Enum).cast(pl.String))
        .rows()
    )


def _busy(scenario: Scenario, packets: pl.DataFrame, hops: pl.DataFrame) -> list[_Interval]:
    """Return the times at which the bottleneck sent towards the client, as disjoint intervals."""
    import polars as pl

    links = {number: link.rate for number, link in enumerate(scenario.network.links) if link.rate is not None}
    from_server = packets.filter(pl.col("side") == "server").select("packet", "packet_bytes")
    used = hops.join(from_server, on="packet").filter(
        pl.col("dequeued").is_not_null(), pl.col("link").is_in(list(links))
    )
    if used.is_empty():
        return []
    slowest = min(set(used["link"].to_list()), key=lambda number: links[number])
    rows = _rows(used.filter(pl.col("link") == slowest).sort("dequeued"), ("dequeued", "packet_bytes"))
    framing = scenario.network.framing_bytes
    found: list[_Interval] = []
    for begin, size in rows:
        end = begin + round((size + framing) * _BITS_A_BYTE * _S / links[slowest])
        if found and begin <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


class _Walk:
    """Walk over one retrieval, from its last byte back to its start."""

    def __init__(
        self,
        waits: TrueWaits,
        requests: dict[int, _Request],
        fetches: tuple[Fetch, ...],
        parse: int,
        start: int,
        end: int,
    ) -> None:
        self._waits = waits
        self._requests = requests
        self._on = {(request.connection, request.index): request for request in requests.values()}
        #: Requests by the end of the response; of equal ends the first request comes last.
        self._ended = sorted(
            (request.end, -place, request.fetch) for place, request in enumerate(requests.values())
        )
        self._fetches = fetches
        self._parse = parse
        self._start = start
        #: Start of the covered time: every later moment has its cause.
        self._at = end
        self._found: Counter[str] = Counter()

    def causes(self) -> Counter[str]:
        request = max(self._requests.values(), key=lambda each: each.end, default=None)
        seen: set[tuple[int, int]] = set()
        while request is not None and self._at > self._start and (request.fetch, self._at) not in seen:
            seen.add((request.fetch, self._at))
            request = self._through(request)
        self._cover("client.think", self._start)
        return self._found

    def _cover(self, cause: str, begin: int) -> None:
        """Give the time from ``begin`` to the covered time to this cause."""
        begin = max(begin, self._start)
        if begin < self._at:
            self._found[cause] += self._at - begin
            self._at = begin

    def _pieces(self, pieces: Iterable[tuple[str, int]]) -> None:
        """Cover causes with their starts, last to first."""
        for cause, begin in reversed(list(pieces)):
            self._cover(cause, begin)

    def _through(self, request: _Request) -> _Request | None:
        """Cover the time of this request, and return the previous one on the path."""
        self._response(request)
        before = self._on.get((request.connection, request.index - 1))
        if before is not None and before.answered > request.received:
            # The server worked on the previous response; this request's turn came after it.
            self._server(request, before.answered)
            return before
        self._server(request, request.received)
        self._asking(request)
        if request.written > request.wanted and self._at > request.wanted:
            waited_for = self._connection(request)
            if waited_for is not None:
                return waited_for
            self._cover("client.think", request.wanted)
        return self._finder(request)

    def _response(self, request: _Request) -> None:
        begin, end = request.answered, self._at
        if begin >= end:
            return
        waits = self._waits
        sent = waits.last_sent(request.connection, "server", end, begin)
        way = min(waits.way(request.connection, "server"), end - sent)
        self._cover(_PROPAGATION, end - way)
        self._cover(_BOTTLENECK, sent)
        self._pieces(self._sending(request.connection, "server", begin, sent, self._waits.inside_responses))

    def _server(self, request: _Request, begin: int) -> None:
        if begin < self._at:
            self._pieces(self._sending(request.connection, "server", begin, self._at, "server.think"))

    def _asking(self, request: _Request) -> None:
        begin, end = request.written, self._at
        if begin >= end:
            return
        sent = self._waits.last_sent(request.connection, "client", end, begin)
        self._cover(_PROPAGATION, sent)
        self._pieces(self._sending(request.connection, "client", begin, sent, "request.send"))

    def _sending(self, connection: int, side: str, begin: int, end: int, idle: str) -> Iterator[tuple[str, int]]:
        """Yield the limits of a sender as causes with their starts; ``idle``: it had nothing to send."""
        for limit, low, high in self._waits.sender(connection, side, begin, end):
            cause = idle if limit == "application" else _CAUSE_OF[limit]
            if side == "server" and (limit in _WINDOWS or limit == "nagle"):
                held = self._waits.held(connection, low, high) if limit in _BY_ACKS else []
                yield from self._window(cause, low, high, held)
            else:
                yield cause, low

    def _window(self, cause: str, begin: int, end: int, held: list[_Interval]) -> Iterator[tuple[str, int]]:
        """Yield the parts of a limit: first the wait for delayed ACKs, then the transmission on the path."""
        delays = [(_DELAYED, *interval) for interval in held]
        busy = [] if cause == "stall.nagle_hold" else [(_BOTTLENECK, *it) for it in self._waits.busy(begin, end)]
        at = begin
        for low, high, name in _disjoint(delays, busy):
            if low > at:
                yield cause, at
            yield name, low
            at = high
        if at < end:
            yield cause, at

    def _connection(self, request: _Request) -> _Request | None:
        """Cover the wait of a request for its connection, and return the earlier request that it waited for;
        None without one.
        """
        if request.index == 0:
            established = self._waits.established.get(request.connection)
            if established is not None and self._waits.before_requests is not None:
                self._cover(self._waits.before_requests, established)
            self._cover("setup.handshake", self._waits.opened[request.connection])
            if self._at <= request.wanted:
                return None
        before = self._on.get((request.connection, request.index - 1))
        is_before = before is not None and request.wanted < before.end <= self._at
        chosen = before if is_before else self._freed(request)
        if chosen is not None:
            self._cover("client.think", chosen.end)
        return chosen

    def _freed(self, request: _Request) -> _Request | None:
        """Return the other request whose response ended last during the wait of this one."""
        for number in range(bisect_left(self._ended, (self._at + 1,)) - 1, -1, -1):
            end, _, fetch = self._ended[number]
            if end <= request.wanted:
                break
            if fetch != request.fetch:
                return self._requests[fetch]
        return None

    def _finder(self, request: _Request) -> _Request | None:
        """Return the request whose response named this request's object."""
        after = self._fetches[request.fetch].after
        if isinstance(after, Start):
            return None
        found = self._requests.get(after.fetch)
        if found is None:
            return None
        match after.kind:
            case "complete":
                self._cover("client.think", found.end)
            case "requested":
                self._cover("client.think", found.written)
            case _:
                self._cover("client.think", self._at - self._parse)
        return found


def _disjoint(first: list[tuple[str, int, int]], second: list[tuple[str, int, int]]) -> list[tuple[int, int, str]]:
    """Return both as ordered intervals; overlaps belong to the first."""
    taken = sorted((low, high, name) for name, low, high in first)
    found = []
    at = 0
    for low, high, name in taken:
        if high > max(low, at):
            found.append((max(low, at), high, name))
            at = high
    free = []
    for name, low, high in second:
        begin = low
        for taken_low, taken_high, _ in found:
            if taken_high <= begin or taken_low >= high:
                continue
            if taken_low > begin:
                free.append((begin, taken_low, name))
            begin = max(begin, taken_high)
        if begin < high:
            free.append((begin, high, name))
    return sorted(found + free)

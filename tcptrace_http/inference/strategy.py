"""Strategy evidence in a capture: the possible rows of the simulator's table.

Version, connection reuse and pipelining leave a few rows. Runs select among them
(:mod:`tcptrace_http.inference.synthesis`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_sim.plan import HttpVersion
from reference_sim.strategies import STRATEGIES
from tcptrace_http.inference.packets import SYN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_sim.strategy import Strategy
    from tcptrace_http.inference.observed import Exchange, Observed

__all__ = ["STRATEGIES_SEEN", "STRATEGIES_SHARED", "Signs", "signs", "strategies_with"]

#: Rows that differ in their requests and connections, which the capture of one retrieval shows. The other
#: rows are these rows with another stack, page or network.
STRATEGIES_SEEN: Final = (
    "http10-serial",
    "http10-parallel",
    "http10-parallel-4",
    "http10-parallel-all",
    "http10-keep-alive",
    "http10-keep-alive-x4",
    "http11",
    "http11-pipelined",
    "thesis-pipelined",
    "maxconn",
    "http2",
    "http2-tls",
)
#: Rows whose hosts know the path from earlier or open connections (RFC 1644, RFC 2140, Eggert 1999). Current
#: hosts do not share windows. These rows are tried if the rows above do not match the capture. The rows for a
#: repeated access are these rows with two visits.
STRATEGIES_SHARED: Final = (
    "http10-ttcp",
    "http10-s-tcb-temporal",
    "http10-s-tcb-ensemble",
    "http10-etcp-fair",
    "http10-etcp-content-dependent",
    "http10-etcp-ticket-decay",
    "http10-etcp-html-pre",
)
# Minimum number of requests on a connection that shows pipelining: a pipelining client sends some requests
# before the previous response is complete. The document's objects are known at the latest when it is
# complete.
_REQUESTS: Final = 3
#: ALPN's name of HTTP/2 over TLS (RFC 9113, section 3.1).
_H2: Final = "h2"


@dataclass(frozen=True, slots=True)
class Signs:
    """Strategy evidence of the capture."""

    version: str
    #: True if HTTP/2 streams, or HTTP/1, can explain the capture.
    may_be_streams: bool
    may_be_http1: bool
    is_secured: bool
    #: True if a connection carried more than one request.
    is_reused: bool
    #: True if client and server both allowed a persistent connection.
    may_persist: bool
    is_pipelined: bool
    #: True if the last request asked the server to close.
    closes_with_last: bool
    #: Maximum number of requests of a visit on one connection, and maximum number of connections of a visit.
    requests: int
    connections: int
    #: Maximum number of connections open at one time, from the SYN to the last response.
    at_once: int
    #: True if the server closed a connection that the client would have kept.
    is_closed_by_server: bool
    #: True if a client's SYN carried data that the server accepted without a handshake (RFC 1644).
    has_data_on_syn: bool


def signs(observed: Observed) -> Signs:
    """Return the direct evidence of exchanges and flows."""
    exchanges = observed.exchanges
    counts = Counter(exchange.flow for exchange in exchanges)
    of_visits = [Counter(exchange.flow for exchange in visit.exchanges) for visit in observed.visits]
    may_be_streams, may_be_http1 = _protocols(observed)
    is_http11 = exchanges[0].version == HttpVersion.HTTP11
    return Signs(
        version=exchanges[0].version,
        may_be_streams=may_be_streams,
        may_be_http1=may_be_http1,
        is_secured=bool(observed.handshakes),
        is_reused=max(counts.values()) > 1,
        may_persist=any(
            (is_http11 or exchange.asks_to_keep)
            and not (exchange.asks_to_close or _server_closes(observed, exchange))
            for exchange in exchanges
        ),
        is_pipelined=any(exchange.is_pipelined for exchange in exchanges),
        closes_with_last=all(visit.exchanges[-1].asks_to_close for visit in observed.visits),
        requests=max(max(each.values()) for each in of_visits),
        connections=max(map(len, of_visits)),
        at_once=_at_once(observed),
        is_closed_by_server=any(each.server_closes and not each.asks_to_close for each in exchanges),
        has_data_on_syn=any(
            packet.flags & SYN and packet.payload and not packet.to_client for packet in observed.packets
        ),
    )


def _protocols(observed: Observed) -> tuple[bool, bool]:
    """Return whether HTTP/2 and HTTP/1 are possible. Without keys, a captured ALPN decides (RFC 7301)."""
    if not all(exchange.is_opaque for exchange in observed.exchanges):
        is_streams = any(exchange.stream is not None for exchange in observed.exchanges)
        return is_streams, not is_streams
    rows = observed.handshakes.values()
    chosen = {row["alpn_chosen"] for row in rows} - {None}
    offered = {name for row in rows for name in (row["alpn_offered"] or "").split(",")}
    left = chosen or offered
    return _H2 in left, left != {_H2}


def _server_closes(observed: Observed, exchange: Exchange) -> bool:
    """Return whether the server refused to keep the connection. Under TLS only a server that closes first shows
    it.
    """
    is_closing = exchange.is_opaque and observed.flows[exchange.flow]["closed_by"] == "server"
    return exchange.server_closes or is_closing


def _at_once(observed: Observed) -> int:
    return max(_at_once_in(visit.exchanges) for visit in observed.visits)


def _at_once_in(exchanges: Iterable[Exchange]) -> int:
    spans: dict[int, tuple[int, int]] = {}
    for exchange in exchanges:
        start, end = spans.get(exchange.flow, (exchange.start, exchange.response_end))
        spans[exchange.flow] = (min(start, exchange.start), max(end, exchange.response_end))
    starts = sorted(start for start, _ in spans.values())
    # A clock step back can end a connection before its start. Such a connection counts as never open.
    ends = sorted(max(span) for span in spans.values())
    return max(bisect_right(starts, begin) - bisect_right(ends, begin) for begin in starts)


def strategies_with(shown: Signs, *, shares: bool = False) -> list[Strategy]:
    """Return the rows that match the evidence. ``shares``: rows of hosts that share path state."""
    names = STRATEGIES_SHARED if shares else STRATEGIES_SEEN
    rows = [STRATEGIES[name] for name in names if _can_show(STRATEGIES[name], shown)]
    if not shares:
        return rows
    return [
        row
        for row in rows
        if bool(row.client_stack.get("accelerated_open")) is shown.has_data_on_syn
        and (row.connections is None or shown.at_once <= row.connections)
    ]


def _can_show(row: Strategy, shown: Signs) -> bool:
    if row.http2 is not None:
        return shown.may_be_streams and shown.is_secured == (row.tls is not None)
    return shown.may_be_http1 and _can_show_http1(row, shown)


def _can_show_http1(row: Strategy, shown: Signs) -> bool:
    if row.version != shown.version or row.persistent != (shown.is_reused or shown.may_persist):
        return False
    if shown.is_pipelined and row.pipelining == 1:
        return False
    if not shown.is_pipelined and row.pipelining > 1 and shown.requests >= _REQUESTS:
        return False
    # A connection closed by the server is opened again.
    used = shown.at_once if shown.is_closed_by_server else shown.connections
    if row.connections is not None and row.persistent and used > row.connections:
        return False
    return not row.persistent or row.closes_with_last == shown.closes_with_last

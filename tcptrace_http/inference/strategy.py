"""The strategy in use, as far as a capture shows it directly: which rows of the simulator's table it can be.

Version, reuse of connections and pipelining leave a few rows; which of these it is, runs of them tell
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

#: Rows that differ in their requests and connections, which a capture of one retrieval shows; the others differ
#: in their stacks, in what is sent, or in who answers, and are these rows with another stack, page or network.
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
#: Rows whose hosts know the path from earlier connections, or from others that are open (RFC 1644, RFC 2140,
#: Eggert 1999). Hosts of today do not share windows: these rows are tried where the rows above do not retell
#: the capture. The rows for a repeated access are these rows with two visits.
STRATEGIES_SHARED: Final = (
    "http10-ttcp",
    "http10-s-tcb-temporal",
    "http10-s-tcb-ensemble",
    "http10-etcp-fair",
    "http10-etcp-content-dependent",
    "http10-etcp-ticket-decay",
    "http10-etcp-html-pre",
)
# Of so many requests on a connection, a client that pipelines sends some before the response before them is
# complete: what the document names is known when all of it has come, if not sooner.
_REQUESTS: Final = 3
#: ALPN's name of HTTP/2 over TLS (RFC 9113, section 3.1).
_H2: Final = "h2"


@dataclass(frozen=True, slots=True)
class Signs:
    """What the capture shows of the strategy."""

    version: str
    #: It can have come as streams of HTTP/2, and not as such.
    may_be_streams: bool
    may_be_http1: bool
    is_secured: bool
    #: A connection carried more than one request.
    is_reused: bool
    #: Client and server were both willing to go on with a connection.
    may_persist: bool
    is_pipelined: bool
    #: The last request asked the server to close.
    closes_with_last: bool
    #: Most requests of a visit on one connection, and most connections that a visit used.
    requests: int
    connections: int
    #: Most connections that were open, from the SYN to the last response, at one time.
    at_once: int
    #: The server closed a connection that the client would have gone on with.
    is_closed_by_server: bool
    #: A SYN of the client carried data, which the server accepted without a handshake (RFC 1644).
    has_data_on_syn: bool


def signs(observed: Observed) -> Signs:
    """What the exchanges and flows show directly."""
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
    """Whether it can be HTTP/2, and HTTP/1: without keys ALPN tells (RFC 7301), as far as it is seen."""
    if not all(exchange.is_opaque for exchange in observed.exchanges):
        is_streams = any(exchange.stream is not None for exchange in observed.exchanges)
        return is_streams, not is_streams
    rows = observed.handshakes.values()
    chosen = {row["alpn_chosen"] for row in rows} - {None}
    offered = {name for row in rows for name in (row["alpn_offered"] or "").split(",")}
    left = chosen or offered
    return _H2 in left, left != {_H2}


def _server_closes(observed: Observed, exchange: Exchange) -> bool:
    """Whether the server would not go on with the connection; in TLS that shows only where it closes first."""
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
    # Where a clock goes back a connection can end before it starts: it was open at no time.
    ends = sorted(max(span) for span in spans.values())
    return max(bisect_right(starts, begin) - bisect_right(ends, begin) for begin in starts)


def strategies_with(shown: Signs, *, shares: bool = False) -> list[Strategy]:
    """The rows that can show these signs; ``shares``: of hosts that share what they know of the path."""
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
    # What a server closes is opened again.
    used = shown.at_once if shown.is_closed_by_server else shown.connections
    if row.connections is not None and row.persistent and used > row.connections:
        return False
    return not row.persistent or row.closes_with_last == shown.closes_with_last

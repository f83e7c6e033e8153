"""The true cause of every wait: what the analysis should say of a simulated capture.

Theory of operation
-------------------
The engine records why each sender was silent (``limits``), why each segment left (``packets.reason``),
what became of it (``packets``, ``hops``) and when the applications wrote (``transactions``). From these the
time of each transaction follows, as an observer at the client or at the server has it:

- Response data is there when the packet that completes it arrives; at the server, when an ACK that nothing
  delays would tell so. The time between two deliveries is first the *pace*: what the slowest link takes for
  the packet. Of the rest, what held the packet at its sender has the cause of that limit, up to the length of
  it; what then is left the packet stood in a queue, which inside a response is the pace of the path, too.
- Data that was lost holds up the stream from when the first packet behind it came (or it would have come
  itself, if none did) until it is there; the cause is how its sender learnt of the loss.
- Between request and response the chain of what happened is exact: the request's way, the server's work, what
  held the first segment, its way. The path's least round trip is ``network.propagation``, what the packets
  took longer because of their size ``send_limited.bottleneck``, longer because of others ``network.queueing``.
- A response of HTTP/2 waits for other streams' bytes, and for the window that kept its next frame back
  (:mod:`reference_sim.true_waits._streams`).
- The time ends at the last byte: the ACK of it, delayed or not, is no wait.
- A hold by Nagle's algorithm is named after the ACK that ended it: ``stall.nagle_delayed_ack`` if a timer sent
  that. A hold by the congestion window is ``stall.slow_start_restart`` if the window that was thrown away after
  an idle period would have let the segment go.

Nothing here looks at a capture or estimates anything: the paths' rates and delays are the scenario's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reference_sim.true_waits._deliveries import stream_of
from reference_sim.true_waits._holds import Holds
from reference_sim.true_waits._observer import Observer
from reference_sim.true_waits._partition import Wait
from reference_sim.true_waits._records import CLIENT, SERVER, connections_of
from reference_sim.true_waits._stalls import Stall, stalls_of
from reference_sim.true_waits._transaction import Times, partition_of, times_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from reference_sim.true_waits._records import Connection

__all__ = ["Stall", "Times", "TrueTransaction", "Wait", "true_transactions", "true_waits"]


@dataclass(frozen=True, slots=True)
class TrueTransaction:
    """One complete transaction as an observer should have it. Times are nanoseconds of the simulation."""

    connection: int
    index: int
    times: Times
    waits: list[Wait]
    stalls: list[Stall]
    #: The least round trip of its path.
    round_trip: int
    #: The server's connections to this client share one congestion window.
    shares_window: bool


def true_transactions(
    tables: Mapping[str, pl.DataFrame], scenario: Mapping[str, Any], *, at: str = CLIENT
) -> Iterator[TrueTransaction]:
    """The complete transactions of a simulation, as they are ``at`` the client or the server.

    ``tables`` are those of the truth (connections, transactions, packets, hops, limits, windows),
    ``scenario`` is the document that was simulated; packets, windows and limits must have been recorded.

    Raises ValueError if ``at`` is neither, KeyError if something was not recorded.
    """
    if at not in (CLIENT, SERVER):
        raise ValueError(f"at must be {CLIENT!r} or {SERVER!r}, not {at!r}")
    for connection in connections_of(tables, scenario):
        yield from _of_connection(connection, at)


def true_waits(
    tables: Mapping[str, pl.DataFrame], scenario: Mapping[str, Any], *, at: str = CLIENT
) -> pl.DataFrame:
    """The waits of all complete transactions, one row each, as :func:`true_transactions` has them."""
    import polars as pl

    rows = [
        (it.connection, it.index, wait.cause, wait.start, wait.end)
        for it in true_transactions(tables, scenario, at=at)
        for wait in it.waits
    ]
    columns = {
        "connection": pl.UInt32,
        "transaction": pl.UInt32,
        "cause": pl.String,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
    }
    return pl.DataFrame(rows, schema=columns, orient="row")


def _of_connection(connection: Connection, at: str) -> Iterator[TrueTransaction]:
    observer = Observer(
        connection,
        at,
        requests=stream_of(connection, CLIENT, at),
        responses=stream_of(connection, SERVER, at),
        client=Holds(connection, CLIENT),
        server=Holds(connection, SERVER),
    )
    previous_end: int | None = None
    round_trip = sum(path.least for path in connection.paths.values())
    for transaction in connection.transactions:
        times = times_of(transaction, observer)
        if times is None:
            continue
        waits = partition_of(transaction, times, observer, previous_end)
        stalls = stalls_of(transaction, times, waits, observer)
        yield TrueTransaction(
            connection.number,
            transaction.index,
            times,
            waits,
            stalls,
            round_trip=round_trip,
            shares_window=connection.shares_window,
        )
        # Streams do not wait for those before them as such.
        previous_end = None if transaction.frames else times.response_last

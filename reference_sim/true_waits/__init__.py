"""True cause of every wait: the correct analysis of a simulated capture.

Theory of operation
-------------------
The engine records why each sender was silent (``limits``) and why each segment left (``packets.reason``). It
also records the path of each segment (``packets``, ``hops``) and the applications' writes (``transactions``).
These tables determine each transaction's time, as observed at the client or the server:

- At the client, response data is delivered when the packet that completes it arrives. At the server, it is
  delivered when an undelayed ACK would arrive. The time between two deliveries is first the *pace*: the
  packet's serialization time at the bottleneck. The rest, up to the length of the hold, has the cause of the
  limit that held the packet at its sender. The remainder is queueing, which inside a response also counts as
  pace of the path.
- Lost data delays the stream from the arrival of the first packet after the hole until the hole is filled. If
  no such packet arrives, the delay begins when the lost packet would have arrived. The cause is the sender's
  loss detection.
- Between request and response the chain of events is exact: the request's transit, the server's processing,
  the hold of the first segment, its transit. The path's minimum RTT is ``network.propagation``. Extra time
  due to packet size is ``send_limited.bottleneck``, due to other packets ``network.queueing``.
- An HTTP/2 response waits for other streams' bytes, and for flow-control windows that block its next frame
  (:mod:`reference_sim.true_waits._streams`).
- The time ends at the last byte: its ACK, delayed or not, is no wait.
- A Nagle hold is named after the ACK that ended it: ``stall.nagle_delayed_ack`` if the delayed-ACK timer sent
  it. A hold by cwnd is ``stall.slow_start_restart`` if cwnd before the idle period would have allowed the
  segment.

The module reads no capture and estimates nothing: the paths' rates and delays come from the scenario.
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
    """Complete transaction as seen by an observer. Times are nanoseconds of the simulation."""

    connection: int
    index: int
    times: Times
    waits: list[Wait]
    stalls: list[Stall]
    #: Minimum RTT of its path.
    round_trip: int
    #: The server's connections to this client share one cwnd.
    shares_window: bool


def true_transactions(
    tables: Mapping[str, pl.DataFrame], scenario: Mapping[str, Any], *, at: str = CLIENT
) -> Iterator[TrueTransaction]:
    """Yield the complete transactions of a simulation, as observed ``at`` the client or the server.

    ``tables`` are the truth tables (connections, transactions, packets, hops, limits, windows). ``scenario``
    is the simulated document, which must record packets, windows and limits. Raises ValueError if ``at`` is
    neither end, KeyError if a table was not recorded.
    """
    if at not in (CLIENT, SERVER):
        raise ValueError(f"at must be {CLIENT!r} or {SERVER!r}, not {at!r}")
    for connection in connections_of(tables, scenario):
        yield from _of_connection(connection, at)


def true_waits(
    tables: Mapping[str, pl.DataFrame], scenario: Mapping[str, Any], *, at: str = CLIENT
) -> pl.DataFrame:
    """Return the waits of all complete transactions, one row per wait, as :func:`true_transactions` has them."""
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
        # HTTP/2 streams do not wait for earlier streams as such.
        previous_end = None if transaction.frames else times.response_last

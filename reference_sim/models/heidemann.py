"""Heidemann, Obraczka, Touch: "Modeling the Performance of HTTP Over Several Transport Protocols".

(IEEE/ACM Transactions on Networking 5(5), 1997.) A transaction is its round trips, the time to send request
and response, and the stalls of slow start: a flight that is sent sooner than its first ACK is back leaves the
link idle, until the window fills a round trip. Nanoseconds. Valid without loss; within 5 % over wide areas, and
too short where the bandwidth is high and the delay low, for hosts take time (their abstract).

How the window grows is that of the ACKs (:func:`reference_sim.models.kruse.windows`).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from reference_sim.models.kruse import flights, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_sim.models.path import Path

__all__ = ["http_time", "persistent_http_time", "slow_start_stalls_time"]


def slow_start_stalls_time(size: int, *, path: Path, initial: int, delayed_acks: bool) -> int:
    """How long the link is idle in slow start: after each flight but the last, until its first ACK is back."""
    segment = path.sending_ns(path.mss)
    sent = flights(path.segments(size), initial, delayed_acks=delayed_acks)
    return sum(max(0, path.rtt_ns + segment - flight * segment) for flight in sent[:-1])


def http_time(
    sizes: Sequence[int],
    *,
    path: Path,
    initial: int,
    delayed_acks: bool,
    request: int = 0,
    processing_ns: int = 0,
) -> int:
    """HTTP over TCP: a connection an object, one after the other, each with a handshake and slow start."""
    fixed = 2 * path.rtt_ns + path.sending_ns(request) + processing_ns
    return sum(
        fixed
        + path.sending_ns(size)
        + slow_start_stalls_time(size, path=path, initial=initial, delayed_acks=delayed_acks)
        for size in sizes
    )


def persistent_http_time(
    sizes: Sequence[int],
    *,
    path: Path,
    initial: int,
    delayed_acks: bool,
    request: int = 0,
    processing_ns: int = 0,
) -> int:
    """P-HTTP: one handshake, a round trip an object, and one slow start that goes on from object to object."""
    total = path.rtt_ns
    window = initial
    for size in sizes:
        total += path.rtt_ns + path.sending_ns(request) + processing_ns + path.sending_ns(size)
        total += slow_start_stalls_time(size, path=path, initial=window, delayed_acks=delayed_acks)
        flown = len(flights(path.segments(size), window, delayed_acks=delayed_acks))
        window = next(islice(windows(window, delayed_acks=delayed_acks), flown, None))
    return total

"""Heidemann, Obraczka, Touch: "Modeling the Performance of HTTP Over Several Transport Protocols".

(IEEE/ACM Transactions on Networking 5(5), 1997.) A transaction is the sum of its round trips, the
serialization times of request and response, and the stalls of slow start. A flight shorter than an RTT leaves
the link idle until its first ACK returns. Nanoseconds. Valid without loss, within 5 % over wide areas. The
result is too short at high bandwidth and low delay, because hosts take time (the paper's abstract).

The ACK policy determines the window's growth (:func:`reference_sim.models.kruse.windows`).
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
    """Return the link's idle time in slow start: after each flight but the last, until its first ACK."""
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
    """Return the time of HTTP over TCP: serial connections, one per object, each with handshake and slow start."""
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
    """Return the time of P-HTTP: one handshake, an RTT per object, slow start that continues across objects."""
    total = path.rtt_ns
    window = initial
    for size in sizes:
        total += path.rtt_ns + path.sending_ns(request) + processing_ns + path.sending_ns(size)
        total += slow_start_stalls_time(size, path=path, initial=window, delayed_acks=delayed_acks)
        flown = len(flights(path.segments(size), window, delayed_acks=delayed_acks))
        window = next(islice(windows(window, delayed_acks=delayed_acks), flown, None))
    return total

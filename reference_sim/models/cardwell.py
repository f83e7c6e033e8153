"""Cardwell, Savage, Anderson: "Modeling TCP Latency" (IEEE INFOCOM 2000): how long a short transfer takes.

A handshake, slow start until the first loss, its recovery, the rest at the rate of :mod:`pftk`. Nanoseconds;
windows in segments. Valid where sending takes little of a round trip: it knows no bottleneck.
"""

from __future__ import annotations

from math import inf, log
from typing import TYPE_CHECKING, Final

from reference_sim.models.pftk import backoff, throughput, timeout_probability

if TYPE_CHECKING:
    from reference_sim.models.pftk import Connection

__all__ = ["handshake_time", "slow_start_segments", "slow_start_time", "transfer_latency"]

_NANOSECONDS: Final = 10**9
#: Of the first SYN, as most systems had it (RFC 1122, section 4.2.3.1).
SYN_TIMEOUT_NS: Final = 3 * _NANOSECONDS


def handshake_time(forward_loss: float, backward_loss: float, *, rtt_ns: int) -> int:
    """Equation 4: a round trip, and the timeouts of SYNs and their answers that are lost."""
    waits = (1 - backward_loss) / (1 - 2 * backward_loss) + (1 - forward_loss) / (1 - 2 * forward_loss) - 2
    return rtt_ns + round(SYN_TIMEOUT_NS * waits)


def slow_start_segments(segments: int, loss: float) -> float:
    """Equation 5: how many of the segments are sent before slow start finds a loss (E[d_ss])."""
    if loss == 0:
        return segments
    return (1 - (1 - loss) ** segments) * (1 - loss) / loss + 1


def slow_start_time(segments: float, connection: Connection, *, initial: int) -> tuple[int, float]:
    """Equations 11 and 15: the time that so many segments take in slow start, and the window at its end."""
    growth = 1 + 1 / connection.acked
    window = segments * (growth - 1) / growth + initial / growth
    if window <= connection.max_window:
        rounds = log(segments * (growth - 1) / initial + 1, growth)
        return round(rounds * connection.rtt_ns), window
    limit = connection.max_window
    opening = log(limit / initial, growth) + 1
    rest = (segments - (growth * limit - initial) / (growth - 1)) / limit
    return round((opening + rest) * connection.rtt_ns), limit


def transfer_latency(
    segments: int, loss: float, connection: Connection, *, initial: int = 1, delayed_ack_ns: int = 0
) -> int:
    """Equations 5 to 24: from the first segment that is sent to the last one that is acknowledged.

    ``delayed_ack_ns`` is what the ACK of an initial window of one segment is expected to wait: 100 ms where
    a heartbeat of 200 ms sends it.
    """
    sent = min(float(segments), slow_start_segments(segments, loss))
    slow_start, window = slow_start_time(sent, connection, initial=initial)
    latency = slow_start + (delayed_ack_ns if initial == 1 else 0)
    if loss == 0:
        return latency
    timeout = timeout_probability(loss, window)
    recovery = timeout * backoff(loss) * connection.timeout_ns / (1 - loss) + (1 - timeout) * connection.rtt_ns
    any_loss = 1 - (1 - loss) ** segments
    rest = max(segments - sent, 0.0)
    rate = throughput(loss, connection) if rest else inf
    return latency + round(any_loss * recovery + rest / rate * _NANOSECONDS)

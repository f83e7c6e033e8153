"""Cardwell, Savage, Anderson: "Modeling TCP Latency" (IEEE INFOCOM 2000): time of a short transfer.

The model adds a handshake, slow start until the first loss, its recovery, and the rest at the rate of
:mod:`pftk`. Nanoseconds; windows in segments. Valid if the serialization time is small against the RTT: the
model has no bottleneck.
"""

from __future__ import annotations

from math import inf, log
from typing import TYPE_CHECKING, Final

from reference_sim.models.pftk import backoff, throughput, timeout_probability

if TYPE_CHECKING:
    from reference_sim.models.pftk import Connection

__all__ = ["handshake_time", "slow_start_segments", "slow_start_time", "transfer_latency"]

_NANOSECONDS: Final = 10**9
#: RTO of the first SYN in most systems (RFC 1122, section 4.2.3.1).
SYN_TIMEOUT_NS: Final = 3 * _NANOSECONDS


def handshake_time(forward_loss: float, backward_loss: float, *, rtt_ns: int) -> int:
    """Return equation 4: an RTT, and the timeouts of lost SYNs and SYN-ACKs."""
    waits = (1 - backward_loss) / (1 - 2 * backward_loss) + (1 - forward_loss) / (1 - 2 * forward_loss) - 2
    return rtt_ns + round(SYN_TIMEOUT_NS * waits)


def slow_start_segments(segments: int, loss: float) -> float:
    """Return equation 5: the segments sent before slow start meets a loss (E[d_ss])."""
    if loss == 0:
        return segments
    return (1 - (1 - loss) ** segments) * (1 - loss) / loss + 1


def slow_start_time(segments: float, connection: Connection, *, initial: int) -> tuple[int, float]:
    """Return equations 11 and 15: the slow-start time of this many segments, and the final window."""
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
    """Return equations 5 to 24: from the first sent segment to the last acknowledged segment.

    ``delayed_ack_ns`` is the expected ACK delay of an initial window of one segment: 100 ms with a 200 ms
    heartbeat.
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

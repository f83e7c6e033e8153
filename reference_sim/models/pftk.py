"""Model of Padhye, Firoiu, Towsley, Kurose: "Modeling TCP Throughput".

"A Simple Model and its Empirical Validation" (ACM SIGCOMM 1998): the complete formula (equations 32 and 33),
with timeouts and the receive window. Segments per second. Valid for long transfers of Reno in congestion
avoidance. Losses are correlated: after a loss, the rest of its round is lost, too. ``acked`` is the number of
segments per ACK (b): 2 with delayed ACKs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Final

from reference_sim.models.loss import checked_loss

__all__ = ["Connection", "backoff", "expected_window", "send_rate", "throughput", "timeout_probability"]

_NANOSECONDS: Final = 10**9
#: The third duplicate ACK detects a loss; with fewer segments after the loss, a timeout follows.
_DUPLICATES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """Parameters besides the loss rate: times in nanoseconds, windows in segments."""

    rtt_ns: int
    #: First timeout after a loss (T0).
    timeout_ns: int
    acked: int = 2
    max_window: float = inf


def expected_window(loss: float, acked: int) -> float:
    """Return equation 13: the window at a loss, in segments (E[W])."""
    p, b = checked_loss(loss), acked
    first = (2 + b) / (3 * b)
    return first + sqrt(8 * (1 - p) / (3 * b * p) + first**2)


def timeout_probability(loss: float, window: float) -> float:
    """Return equation 24: the probability that a loss in this window leads to a timeout (Q)."""
    if window <= _DUPLICATES:
        return 1.0
    through = 1 - checked_loss(loss)
    three: float = through**_DUPLICATES
    lost: float = (1 - three) * (1 + three * (1 - through ** (window - _DUPLICATES)))
    any_lost: float = 1 - through**window
    return min(1.0, lost / any_lost)


def backoff(loss: float) -> float:
    """Return equation 29: the sum of a loss's timeouts, each doubled, up to six times (f(p))."""
    return sum((2.0 ** (power - 1) * loss**power for power in range(1, 7)), 1.0)


def send_rate(loss: float, connection: Connection) -> float:
    """Return equation 32: the send rate in segments per second, lost segments included (B).

    :raises ScenarioError: the loss rate is not between 0 and 1.
    """
    window, timeout, seconds = _cycle(loss, connection)
    return ((1 - loss) / loss + window + timeout / (1 - loss)) / seconds


def throughput(loss: float, connection: Connection) -> float:
    """Return equation 37 of the extended version: the goodput in segments per second (T).

    :raises ScenarioError: the loss rate is not between 0 and 1.
    """
    window, timeout, seconds = _cycle(loss, connection)
    return ((1 - loss) / loss + window / 2 + timeout) / seconds


def _cycle(loss: float, connection: Connection) -> tuple[float, float, float]:
    """Return one loss cycle: the final window, the timeout probability, and the duration in seconds."""
    window = expected_window(loss, connection.acked)
    rounds = connection.acked / 2 * window + 1
    if window >= connection.max_window:
        window = connection.max_window
        rounds = connection.acked / 8 * window + (1 - loss) / (loss * window) + 2
    timeout = timeout_probability(loss, window)
    waits = timeout * backoff(loss) * connection.timeout_ns / (1 - loss)
    return window, timeout, (rounds * connection.rtt_ns + waits) / _NANOSECONDS

"""Padhye, Firoiu, Towsley, Kurose: "Modeling TCP Throughput: A Simple Model and its Empirical Validation" (1998).

The complete formula (ACM SIGCOMM, equations 32 and 33), with timeouts and the receiver's window. Segments
a second. Valid for long transfers of Reno in congestion avoidance; losses come in rounds: after one, the rest of
its round is lost too. ``acked`` is the segments that an ACK stands for (b): 2 with delayed ACKs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Final

from reference_sim.models.loss import checked_loss

__all__ = ["Connection", "backoff", "expected_window", "send_rate", "throughput", "timeout_probability"]

_NANOSECONDS: Final = 10**9
#: A loss is found by its third duplicate ACK: fewer segments after it lead to a timeout.
_DUPLICATES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """What the formula takes besides the loss rate: the times in nanoseconds, the windows in segments."""

    rtt_ns: int
    #: The first timeout of a loss (T0).
    timeout_ns: int
    acked: int = 2
    max_window: float = inf


def expected_window(loss: float, acked: int) -> float:
    """Equation 13: the window at which a loss comes, in segments (E[W])."""
    p, b = checked_loss(loss), acked
    first = (2 + b) / (3 * b)
    return first + sqrt(8 * (1 - p) / (3 * b * p) + first**2)


def timeout_probability(loss: float, window: float) -> float:
    """Equation 24: how likely a loss in such a window is found by a timeout (Q)."""
    if window <= _DUPLICATES:
        return 1.0
    through = 1 - checked_loss(loss)
    three: float = through**_DUPLICATES
    lost: float = (1 - three) * (1 + three * (1 - through ** (window - _DUPLICATES)))
    any_lost: float = 1 - through**window
    return min(1.0, lost / any_lost)


def backoff(loss: float) -> float:
    """Equation 29: the timeouts of a loss, each twice the one before, six times (f(p))."""
    return sum((2.0 ** (power - 1) * loss**power for power in range(1, 7)), 1.0)


def send_rate(loss: float, connection: Connection) -> float:
    """Equation 32: segments a second that are sent, those that are lost with them (B).

    :raises ScenarioError: the loss rate is not between 0 and 1.
    """
    window, timeout, seconds = _cycle(loss, connection)
    return ((1 - loss) / loss + window + timeout / (1 - loss)) / seconds


def throughput(loss: float, connection: Connection) -> float:
    """Equation 37 of the extended version: segments a second that arrive (T).

    :raises ScenarioError: the loss rate is not between 0 and 1.
    """
    window, timeout, seconds = _cycle(loss, connection)
    return ((1 - loss) / loss + window / 2 + timeout) / seconds


def _cycle(loss: float, connection: Connection) -> tuple[float, float, float]:
    """From one loss to the next: the window at its end, how likely that is a timeout, and its seconds."""
    window = expected_window(loss, connection.acked)
    rounds = connection.acked / 2 * window + 1
    if window >= connection.max_window:
        window = connection.max_window
        rounds = connection.acked / 8 * window + (1 - loss) / (loss * window) + 2
    timeout = timeout_probability(loss, window)
    waits = timeout * backoff(loss) * connection.timeout_ns / (1 - loss)
    return window, timeout, (rounds * connection.rtt_ns + waits) / _NANOSECONDS

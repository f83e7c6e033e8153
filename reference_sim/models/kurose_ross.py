"""Kurose and Ross, "Computer Networking" (first edition 2000, section 3.7): latency of an object in slow start.

Nanoseconds. Valid without loss, with one ACK per segment, and without time for hosts and headers.
"""

from __future__ import annotations

from math import ceil, floor, log2
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reference_sim.models.path import Path

__all__ = [
    "non_persistent_page_time",
    "object_latency",
    "parallel_page_time",
    "persistent_page_time",
    "slow_start_stalls",
    "static_window_latency",
]

_SETUP: Final = 2


def static_window_latency(size: int, *, path: Path, window: int) -> int:
    """Return an initial window of this many segments."""
    segment = path.sending_ns(path.mss)
    latency = _SETUP * path.rtt_ns + path.sending_ns(size)
    stall = segment + path.rtt_ns - window * segment
    return latency + max(0, (ceil(size / (window * path.mss)) - 1) * stall)


def slow_start_stalls(size: int, *, path: Path) -> int:
    """Return P = min(Q, K - 1): the number of times that the server waits for an ACK."""
    segment = path.sending_ns(path.mss)
    until_never = floor(log2(1 + path.rtt_ns / segment)) + 1
    windows = ceil(log2(size / path.mss + 1))
    return min(until_never, windows - 1)


def object_latency(size: int, *, path: Path) -> int:
    """Return 2 RTT + O/R + P (RTT + S/R) - (2^P - 1) S/R: from the SYN to the last byte."""
    return _SETUP * path.rtt_ns + path.sending_ns(size) + _stalled(size, path)


def non_persistent_page_time(size: int, inlines: int, *, path: Path) -> int:
    """Return the time of a base document and equal inline objects over serial connections."""
    return (inlines + 1) * object_latency(size, path=path)


def parallel_page_time(size: int, inlines: int, *, path: Path, connections: int) -> int:
    """Return the time of inline objects over parallel connections that share the link."""
    rounds = ceil(inlines / connections) + 1
    return (inlines + 1) * path.sending_ns(size) + rounds * (_SETUP * path.rtt_ns + _stalled(size, path))


def persistent_page_time(size: int, inlines: int, *, path: Path) -> int:
    """Return the time of one connection with joint inline requests: 3 RTT, all bytes, one transfer's stalls."""
    total = (inlines + 1) * size
    return (_SETUP + 1) * path.rtt_ns + path.sending_ns(total) + _stalled(total, path)


def _stalled(size: int, path: Path) -> int:
    stalls = slow_start_stalls(size, path=path)
    segment = path.sending_ns(path.mss)
    doubled: int = 2**stalls
    return stalls * (path.rtt_ns + segment) - (doubled - 1) * segment

"""Kurose and Ross, "Computer Networking" (first edition 2000, section 3.7): latency of an object in slow start.

Nanoseconds. Valid without loss, for an ACK a segment, and with hosts and headers that take no time.
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
    """A window of so many segments from the start."""
    segment = path.sending_ns(path.mss)
    latency = _SETUP * path.rtt_ns + path.sending_ns(size)
    stall = segment + path.rtt_ns - window * segment
    return latency + max(0, (ceil(size / (window * path.mss)) - 1) * stall)


def slow_start_stalls(size: int, *, path: Path) -> int:
    """P = min(Q, K - 1): how often the server waits for an ACK."""
    segment = path.sending_ns(path.mss)
    until_never = floor(log2(1 + path.rtt_ns / segment)) + 1
    windows = ceil(log2(size / path.mss + 1))
    return min(until_never, windows - 1)


def object_latency(size: int, *, path: Path) -> int:
    """2 RTT + O/R + P (RTT + S/R) - (2^P - 1) S/R: from the SYN to the last byte."""
    return _SETUP * path.rtt_ns + path.sending_ns(size) + _stalled(size, path)


def non_persistent_page_time(size: int, inlines: int, *, path: Path) -> int:
    """A base document and so many inline objects, all of one size, a connection each, one after the other."""
    return (inlines + 1) * object_latency(size, path=path)


def parallel_page_time(size: int, inlines: int, *, path: Path, connections: int) -> int:
    """The inline objects by so many connections at a time; the link is shared."""
    rounds = ceil(inlines / connections) + 1
    return (inlines + 1) * path.sending_ns(size) + rounds * (_SETUP * path.rtt_ns + _stalled(size, path))


def persistent_page_time(size: int, inlines: int, *, path: Path) -> int:
    """One connection and requests for all inlines together: 3 RTT, all bytes, the stalls of one transfer."""
    total = (inlines + 1) * size
    return (_SETUP + 1) * path.rtt_ns + path.sending_ns(total) + _stalled(total, path)


def _stalled(size: int, path: Path) -> int:
    stalls = slow_start_stalls(size, path=path)
    segment = path.sending_ns(path.mss)
    doubled: int = 2**stalls
    return stalls * (path.rtt_ns + segment) - (doubled - 1) * segment

"""Limits of a probe: it stops by itself, whatever the server does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Budget", "Limits", "Spent"]

_NANOSECONDS: Final = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits set by the user."""

    #: Maximum time in seconds.
    time: float = 60.0
    #: Maximum number of requests.
    requests: int = 300
    #: Maximum requests per second, averaged since the first; None for no limit.
    rate: float | None = None
    #: Maximum bytes of one response; a longer one is cut.
    response_bytes: int = 4 * 1024 * 1024
    #: Seconds without a byte after which a response is abandoned.
    silence: float = 5.0


class Spent(Exception):
    """Exhausted time or requests: the results so far are judged."""


@dataclass(slots=True)
class Budget:
    """Rest of the limits."""

    limits: Limits
    started: int = field(default_factory=time.monotonic_ns)
    requests: int = 0
    #: Time of the first request, the start of the rate.
    began: int = 0

    def start(self) -> None:
        """Restart the time: the preparation of the capture does not count."""
        self.started = time.monotonic_ns()

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the end of the probe, at least zero."""
        return max(0.0, self.limits.time - (time.monotonic_ns() - self.started) / _NANOSECONDS)

    def silence(self) -> float:
        """Return the maximum wait for a socket in seconds.

        :raises Spent: no time is left.
        """
        left = min(self.limits.silence, self.seconds_left)
        if left <= 0:
            raise Spent
        return left

    def take_requests(self, count: int = 1) -> None:
        """Count requests, and wait if they exceed the rate.

        :raises Spent: no requests, or no time, are left.
        """
        if self.requests + count > self.limits.requests or self.seconds_left <= 0:
            raise Spent
        self.began = self.began or time.monotonic_ns()
        if self.limits.rate is not None:
            self.pause(self.requests / self.limits.rate - (time.monotonic_ns() - self.began) / _NANOSECONDS)
        self.requests += count

    def pause(self, seconds: float) -> None:
        """Wait, at most until the end.

        :raises Spent: not enough time is left.
        """
        if seconds > self.seconds_left:
            raise Spent
        if seconds > 0:
            time.sleep(seconds)

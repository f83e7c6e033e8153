"""How much a probe may do: it stops by itself, whatever the server does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Budget", "Limits", "Spent"]

_NANOSECONDS: Final = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What the user allows."""

    #: Seconds in all.
    time: float = 60.0
    #: Requests in all.
    requests: int = 300
    #: Requests a second, on average since the first; None for as many as come.
    rate: float | None = None
    #: Bytes of one response; what is longer is cut off.
    response_bytes: int = 4 * 1024 * 1024
    #: Seconds without a byte after which a response is given up.
    silence: float = 5.0


class Spent(Exception):
    """The time or the requests are used up: what is known by then is judged."""


@dataclass(slots=True)
class Budget:
    """What is left of the limits."""

    limits: Limits
    started: int = field(default_factory=time.monotonic_ns)
    requests: int = 0
    #: When the first request was sent: the rate is counted from there.
    began: int = 0

    def start(self) -> None:
        """Begin to count the time anew: what it took to prepare the capture is not the server's."""
        self.started = time.monotonic_ns()

    @property
    def seconds_left(self) -> float:
        """Until the probe must end; never below zero."""
        return max(0.0, self.limits.time - (time.monotonic_ns() - self.started) / _NANOSECONDS)

    def silence(self) -> float:
        """Seconds that a socket may be waited for.

        :raises Spent: there is no time left.
        """
        left = min(self.limits.silence, self.seconds_left)
        if left <= 0:
            raise Spent
        return left

    def take_requests(self, count: int = 1) -> None:
        """Counts requests, and waits where they would come faster than the rate.

        :raises Spent: there are no more, or no time for them.
        """
        if self.requests + count > self.limits.requests or self.seconds_left <= 0:
            raise Spent
        self.began = self.began or time.monotonic_ns()
        if self.limits.rate is not None:
            self.pause(self.requests / self.limits.rate - (time.monotonic_ns() - self.began) / _NANOSECONDS)
        self.requests += count

    def pause(self, seconds: float) -> None:
        """Waits, but not beyond the end.

        :raises Spent: there is no time for it.
        """
        if seconds > self.seconds_left:
            raise Spent
        if seconds > 0:
            time.sleep(seconds)

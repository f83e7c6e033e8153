"""The path that a model assumes between client and server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Path"]

_NANOSECONDS: Final = 10**9
_BITS: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A path between client and server: round trip, rate in bits a second, segment size."""

    rtt_ns: int
    rate_bps: int
    mss: int = 1460

    def sending_ns(self, size: int) -> int:
        """The time to send so many bytes."""
        return size * _BITS * _NANOSECONDS // self.rate_bps

    def segments(self, size: int) -> int:
        """The segments that so many bytes take."""
        return -(-size // self.mss)

"""Path between client and server that a model assumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Path"]

_NANOSECONDS: Final = 10**9
_BITS: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """Path between client and server: RTT, rate in bits per second, segment size."""

    rtt_ns: int
    rate_bps: int
    mss: int = 1460

    def sending_ns(self, size: int) -> int:
        """Return the serialization time of this many bytes."""
        return size * _BITS * _NANOSECONDS // self.rate_bps

    def segments(self, size: int) -> int:
        """Return the number of segments for this many bytes."""
        return -(-size // self.mss)

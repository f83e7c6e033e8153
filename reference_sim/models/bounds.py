"""What no transport can be faster than.

Nanoseconds. Valid for every retrieval over a new connection: its handshake and request travel, and all its
bytes pass the bottleneck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reference_sim.models.path import Path

__all__ = ["bottleneck_bound", "propagation_bound"]

_HANDSHAKE_AND_REQUEST: Final = 2


def propagation_bound(path: Path) -> int:
    """A handshake, and a request with its response: two round trips."""
    return _HANDSHAKE_AND_REQUEST * path.rtt_ns


def bottleneck_bound(size: int, *, path: Path) -> int:
    """The time to send so many bytes, headers not counted."""
    return path.sending_ns(size)

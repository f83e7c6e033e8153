"""Lower bounds on the time of any transport.

Nanoseconds. Valid for every retrieval over a new connection: its handshake and request cross the path, and
all its bytes cross the bottleneck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reference_sim.models.path import Path

__all__ = ["bottleneck_bound", "propagation_bound"]

_HANDSHAKE_AND_REQUEST: Final = 2


def propagation_bound(path: Path) -> int:
    """Return the time of a handshake and an exchange: two round trips."""
    return _HANDSHAKE_AND_REQUEST * path.rtt_ns


def bottleneck_bound(size: int, *, path: Path) -> int:
    """Return the serialization time of this many bytes, headers excluded."""
    return path.sending_ns(size)

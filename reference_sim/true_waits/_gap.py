"""Interval between two deliveries of a response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_sim.true_waits._deliveries import Delivery
    from reference_sim.true_waits._partition import Piece
    from reference_sim.true_waits._records import Packet

__all__ = ["Gap"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Interval from one delivery to the next, and its causes; a piece may end before it begins."""

    start: int
    delivery: Delivery
    pieces: list[Piece]
    #: The held packet, if any, and its arrival time, had it not been lost.
    held: Packet
    came: int

"""The path as a network of the simulator: two hosts and one link of the inferred rate and delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.networks import path
from reference_sim.topology import PacketLoss

if TYPE_CHECKING:
    from reference_sim.topology import Network, Queue

__all__ = ["network_of"]


def network_of(*, rate: int | None, propagation: int, loss: float, queue: Queue) -> Network:
    """Client and server with this link between them; losses are on the way to the client."""
    return path(
        "inferred",
        rate=rate,
        delay=propagation // 2,
        queue=queue,
        loss=(PacketLoss(rate=loss),) if loss > 0 else (),
        about="inferred from a capture",
    )

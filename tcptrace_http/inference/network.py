"""Path as a simulator network: two hosts and one link with the inferred rate and delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.networks import path
from reference_sim.topology import SegmentsLost, Unlimited
from tcptrace_http.inference.loss import segments_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_sim.topology import Network, Queue
    from tcptrace_http.inference.loss import Lost
    from tcptrace_http.inference.observed import Observed

__all__ = ["network_of"]

_UNLIMITED = Unlimited()


def network_of(
    observed: Observed,
    *,
    rate: int | None,
    propagation: int,
    lost: Iterable[Lost] = (),
    queue: Queue = _UNLIMITED,
) -> Network:
    """Return client and server with this link between them; the link loses the lost packets."""
    network = path("inferred", rate=rate, delay=propagation // 2, queue=queue, about="inferred from a capture")
    there, back = network.links
    for link, to_client in ((there, False), (back, True)):
        segments = segments_of(observed, lost, to_client=to_client)
        if segments:
            network = network.with_link(link.title, loss=(SegmentsLost(segments=segments),))
    return network

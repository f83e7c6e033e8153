"""Rules for flaws of a capture, by its packets alone.

``capture-gap``
    Once per flow: acknowledged bytes that are not in the file, on a flow with both directions.
``one-sided-capture``
    A flow with packets of one direction only, with data or ACKs of data; a lone SYN does not count.
``segmentation-offload``
    Once per capture: payload larger than a full segment (the smaller MSS of both SYNs less the timestamps
    option). Without the SYNs, more than 1460 bytes, unless the link is a loopback.
``truncated-payload``
    Once per capture: a packet truncated inside its TCP payload.
``mid-stream-start``
    Once per flow: a flow with data and without a SYN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .rules_losses import has_gap
from .scene import Place, Rule, Scene, Truth

if TYPE_CHECKING:
    from .wire import Flow

__all__ = ["RULES"]

_ETHERNET_SEGMENT_BYTES: Final = 1460


def _both_ways(flow: Flow) -> bool:
    return {packet.from_client for packet in flow.packets} == {True, False}


def _gap(scene: Scene) -> Truth:
    hit = [flow for flow in scene.flows if _both_ways(flow) and has_gap(flow)]
    return Truth.at(Place(flow.client_port) for flow in hit)


def _one_sided(scene: Scene) -> Truth:
    hit = [f for f in scene.flows if not _both_ways(f) and any(p.payload_bytes or p.ack for p in f.packets)]
    return Truth.at(Place(flow.client_port) for flow in hit)


def _offload(scene: Scene) -> Truth:
    hit = any(
        packet.payload_bytes > (flow.segment_bytes if flow.mss else _ETHERNET_SEGMENT_BYTES)
        for flow in scene.flows
        for packet in flow.packets
    )
    return Truth.at([Place()] if hit else [])


def _truncated(scene: Scene) -> Truth:
    hit = any(len(p.payload) < p.payload_bytes for flow in scene.flows for p in flow.packets)
    return Truth.at([Place()] if hit else [])


def _mid_stream(scene: Scene) -> Truth:
    hit = [flow for flow in scene.flows if not flow.has_syn and any(p.payload_bytes for p in flow.packets)]
    return Truth.at(Place(flow.client_port) for flow in hit)


RULES: Final = {
    "capture-gap": Rule(_gap, costs=False),
    "one-sided-capture": Rule(_one_sided, costs=False),
    "segmentation-offload": Rule(_offload, costs=False),
    "truncated-payload": Rule(_truncated, costs=False),
    "mid-stream-start": Rule(_mid_stream, costs=False),
}

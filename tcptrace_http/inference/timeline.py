"""The data packets of a retrieval as they passed a point, flow by flow, and how far two such lists are apart.

Both a capture and a run of the simulator have one: an inferred scenario is as good as these are alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.simulation import simulate
from tcptrace_http.inference.observed import SYN

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.observed import Observed

__all__ = ["Timeline", "distance", "timeline_of_capture", "timeline_of_run"]

#: Of each flow, by opening: time from the first packet of all, payload and whether the server sent it.
Timeline = list[list[tuple[int, int, bool]]]
# A packet that the other list does not have, or has with another length, counts as if it were off by this
# part of the whole time.
_MISSING: Final = 0.05


def timeline_of_capture(observed: Observed) -> Timeline:
    """The data packets of a captured retrieval."""
    first = observed.packets[0].time
    flows = [
        [(packet.time - first, packet.payload, packet.to_client) for packet in packets if packet.payload]
        for _, packets in sorted(observed.by_flow.items())
    ]
    return [flow for flow in flows if flow]


def timeline_of_run(scenario: Scenario) -> Timeline:
    """The data packets at the first tap of a scenario's run."""
    import polars as pl

    simulation = simulate(scenario)
    columns = (pl.col("time").to_physical(), "source_port", "destination_port", "payload_bytes", "flags")
    rows = simulation.capture(simulation.taps[0]).packets.select(*columns).rows()
    port = scenario.servers[0].port
    flows: dict[int, list[tuple[int, int, bool]]] = {}
    first = rows[0][0] if rows else 0
    for time, source, destination, payload, flags in rows:
        from_server = source == port
        client = destination if from_server else source
        if flags & SYN and not from_server:
            flows.setdefault(client, [])
        if payload:
            flows.setdefault(client, []).append((time - first, payload, from_server))
    return [flow for flow in flows.values() if flow]


def distance(one: Timeline, other: Timeline, elapsed: int) -> float:
    """How far the packets of two timelines are apart on average, as a part of ``elapsed``; 0: not at all."""
    off = 0.0
    count = 0
    for number in range(max(len(one), len(other))):
        left = one[number] if number < len(one) else []
        right = other[number] if number < len(other) else []
        for from_server in (False, True):
            pairs = [packet for packet in left if packet[2] is from_server]
            matching = [packet for packet in right if packet[2] is from_server]
            for (time, payload, _), (other_time, other_payload, _) in zip(pairs, matching, strict=False):
                off += abs(time - other_time) / max(elapsed, 1) + _MISSING * (payload != other_payload)
            off += _MISSING * abs(len(pairs) - len(matching))
            count += max(len(pairs), len(matching))
    return off / max(count, 1)

"""Data packets of a session at one point, flow by flow, and the distance between two such lists.

Times count from the start of the packet's visit, so the deviation of one visit does not shift the next. A
capture and a simulator run both have such a list. Their distance is the quality of an inferred scenario.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Final

from reference_sim.simulation import simulate
from tcptrace_http.inference.packets import SYN

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation
    from tcptrace_http.inference.observed import Observed

__all__ = ["Timeline", "distance", "distance_by_bytes", "distance_of", "timeline_of_capture", "timeline_of_run"]

#: Per flow in opening order: time since the visit's first packet, payload, and whether the server sent the
#: packet.
Timeline = list[list[tuple[int, int, bool]]]
# Distance of a packet that the other list lacks or has with another length, as a share of the whole time.
_MISSING: Final = 0.05
# Distance of a list without any connection of the other: the number of connections does not depend on times.
_OTHER_CONNECTIONS: Final = 0.5


def timeline_of_capture(observed: Observed) -> Timeline:
    """Return the data packets of a captured session."""
    starts = [observed.packets[0].time, *(visit.start for visit in observed.visits[1:])]
    flows = [
        [(_since(starts, packet.time), packet.payload, packet.to_client) for packet in packets if packet.payload]
        for _, packets in sorted(observed.by_flow.items())
    ]
    return [flow for flow in flows if flow]


def timeline_of_run(scenario: Scenario) -> Timeline:
    """Return the data packets at the first tap of a scenario's run."""
    import polars as pl

    simulation = simulate(scenario)
    columns = (pl.col("time").to_physical(), "source_port", "destination_port", "payload_bytes", "flags")
    rows = simulation.capture(simulation.taps[0]).packets.select(*columns).rows()
    port = scenario.servers[0].port
    flows: dict[int, list[tuple[int, int, bool]]] = {}
    of_client = [time for time, source, *_ in rows if source != port]
    # The ground truth of a run takes longer to read than its packets.
    is_one = len(scenario.browsers[0].visits) == 1
    starts = (of_client[:1] or [0]) if is_one else _starts(simulation, of_client)
    for time, source, destination, payload, flags in rows:
        from_server = source == port
        client = destination if from_server else source
        if flags & SYN and not from_server:
            flows.setdefault(client, [])
        if payload:
            flows.setdefault(client, []).append((_since(starts, time), payload, from_server))
    return [flow for flow in flows.values() if flow]


def _starts(simulation: Simulation, of_client: list[int]) -> list[int]:
    """Return the time of each visit's first packet. ``of_client``: times of the client's packets."""
    begun = simulation.truth.retrievals["start"].to_physical().to_list()
    return [of_client[min(bisect_left(of_client, start), len(of_client) - 1)] for start in begun] or [0]


def _since(starts: list[int], time: int) -> int:
    return time - starts[max(bisect_right(starts, time) - 1, 0)]


def distance_by_bytes(one: Timeline, other: Timeline, elapsed: int) -> float:
    """Return the distance of equal stream parts of the servers, independent of the cut: frame sizes may differ.

    HTTP/2 clients send WINDOW_UPDATEs in different ways, and servers send heads of different lengths.
    """
    off = 0.0
    count = 0
    flows = zip(one, other, strict=False)
    for left, right in chain.from_iterable(zip(*map(_by_visit, pair), strict=False) for pair in flows):
        pairs, matching = _sums(left), _sums(right)
        if not pairs or not matching:
            continue
        whole, other_whole = pairs[-1][0], matching[-1][0]
        ends = [end * whole for end, _ in matching]
        for end, time in pairs:
            _, other_time = matching[bisect_left(ends, end * other_whole)]
            off += abs(time - other_time) / max(elapsed, 1)
        off += abs(whole - other_whole) / max(whole, other_whole)
        count += len(pairs)
    connections = abs(len(one) - len(other)) / max(len(one), len(other), 1)
    return off / max(count, 1) + _OTHER_CONNECTIONS * connections


def _by_visit(flow: list[tuple[int, int, bool]]) -> list[list[tuple[int, int, bool]]]:
    """Return the packets of each visit: their times count from its start."""
    starts = [0, *(number for number in range(1, len(flow)) if flow[number][0] < flow[number - 1][0]), len(flow)]
    return [flow[first:behind] for first, behind in pairwise(starts)]


def _sums(flow: list[tuple[int, int, bool]]) -> list[tuple[int, int]]:
    """Return the server's cumulative bytes at each of its packets, with the times."""
    sent = [(time, payload) for time, payload, from_server in flow if from_server]
    return list(zip(accumulate(payload for _, payload in sent), (time for time, _ in sent), strict=True))


def distance_of(observed: Observed, run: Timeline) -> float:
    """Return the distance of a run from the capture."""
    measure = distance_by_bytes if observed.h2_connections else distance
    return measure(timeline_of_capture(observed), run, observed.elapsed // len(observed.visits))


def distance(one: Timeline, other: Timeline, elapsed: int) -> float:
    """Return the mean distance of the packets of two timelines, as a share of ``elapsed``; 0 for equal ones."""
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
    connections = abs(len(one) - len(other)) / max(len(one), len(other), 1)
    return off / max(count, 1) + _OTHER_CONNECTIONS * connections

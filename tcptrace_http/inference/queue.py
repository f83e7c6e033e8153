"""Queue bound of the bottleneck: the queue lengths at passed and at dropped packets.

Theory of operation. A drop-tail queue accepts a packet if the waiting packets and the packet fit its bound.
The waiting packets are known for each packet from its arrival at the link: before the link from the capture,
behind it from the matching run. The bound is at least the maximum length at a passed packet, and below the
length at every dropped packet. A loss below the maximum length of passed packets was random, and the packet
took room in the queue.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from tcptrace_http.inference.client_clock import sending_time
from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.loss import Lost
    from tcptrace_http.inference.observed import Observed

__all__ = [
    "FEW_DROPS",
    "LEAST_QUEUE",
    "Bound",
    "Offered",
    "longest_queue",
    "offered_of_capture",
    "offered_of_run",
    "queue_bound",
]

_NAME: Final = "path.queue"
#: Tolerated share of unknown losses per known loss, and number of rounds.
_DOUBTED: Final = 0.2
_ROUNDS: Final = 2
#: Maximum number of losses at the longest queue that may be chance.
FEW_DROPS: Final = 2
_CONFIDENCE: Final = 0.9
# Maximum packet length: Ethernet's.
_FULL: Final = 1500
#: Minimum queue bound in packets: a loss at a shorter queue was random.
LEAST_QUEUE: Final = 2


@dataclass(frozen=True, slots=True)
class Offered:
    """Packet of the server at its arrival at the link."""

    time: int
    ip_bytes: int
    frame: int
    lost: Lost | None


@dataclass(frozen=True, slots=True)
class Bound:
    """Bound of the queue, with the losses that it explains."""

    figure: Figure
    dropped: frozenset[Lost]


def offered_of_capture(observed: Observed, lost: Sequence[Lost]) -> list[Offered]:
    """Return the packets as captured before the link."""
    by_place = {each.place: each for each in lost if each.to_client and each.place is not None}
    return [
        Offered(packet.time, packet.ip_bytes, packet.frame, by_place.get(packet.place))
        for packet in observed.packets
        if packet.to_client
    ]


def offered_of_run(scenario: Scenario, lost: Sequence[Lost], flows: Sequence[int]) -> list[Offered]:
    """Return the packets of a run at the link. ``flows``: in opening order."""
    import polars as pl

    truth = simulate(replace(scenario, record=Record(packets=True))).truth
    link = len(scenario.network.links) - 1
    rows = (
        truth.hops.filter(pl.col("link") == link)
        .join(truth.packets, on="packet")
        .sort("enqueued", "packet")
        .select(pl.col("enqueued").to_physical(), "packet_bytes", "connection", "seq", "payload_bytes", "drop")
        .rows()
    )
    left: dict[int, list[Lost]] = defaultdict(list)
    for each in lost:
        if each.to_client:
            left[each.flow].append(each)
    found = []
    for time, size, connection, seq, payload, drop in rows:
        gone = None
        if drop is not None and connection < len(flows):
            end = seq + max(payload, 1)
            of_flow = left[flows[connection]]
            gone = next((each for each in of_flow if seq <= each.offset < end), None)
            if gone is not None:
                of_flow.remove(gone)
        found.append(Offered(time, size, 0 if gone is None else gone.frame, gone))
    return found


def queue_bound(offered: Sequence[Offered], rate: int | None) -> Bound:
    """Return the bound besides the packet in service; unlimited without drops.

    A bound in packets is taken if it explains more losses than one in bytes.
    """
    if rate is None:
        return Bound(assumed(_NAME, None, unit="B", reason="without path.rate the queue is unknown"), frozenset())
    in_bytes = _bound(offered, rate, unit="B")
    in_packets = _bound(offered, rate, unit="packets")
    return in_packets if len(in_packets.dropped) > len(in_bytes.dropped) else in_bytes


def longest_queue(offered: Sequence[Offered], rate: int | None) -> int:
    """Return the maximum number of queued packets without drops."""
    if rate is None:
        return 0
    passed, _ = _stood(offered, rate, frozenset(), in_packets=True)
    return max((size for size, _ in passed), default=0)


def _bound(offered: Sequence[Offered], rate: int, *, unit: str) -> Bound:
    dropped = frozenset(each.lost for each in offered if each.lost is not None)
    # The first round treats all losses as drops. The second round puts random losses back into the queue.
    for _ in range(_ROUNDS):
        passed, refused = _stood(offered, rate, dropped, in_packets=unit == "packets")
        limit, doubted = _limit([size for size, _ in passed], [size for size, _, _ in refused])
        dropped = frozenset(each for size, _, each in refused if size > limit)
    refused = [each for each in refused if each[0] > limit]
    most = max((size for size, _ in passed if size <= limit), default=0)
    least = min((size for size, _, _ in refused), default=0)
    is_long = least > (LEAST_QUEUE if unit == "packets" else LEAST_QUEUE * _FULL)
    if len(dropped) < FEW_DROPS or not is_long or doubted > _DOUBTED * len(dropped):
        waited = max((size for size, _ in passed), default=0)
        reason = f"no packets were lost from a full queue, though {waited} {unit} waited in it: without bound"
        return Bound(assumed(_NAME, None, low=waited, unit=unit, reason=reason), frozenset())
    figure = seen(
        _NAME,
        (most + least - 1) // 2,
        low=most,
        high=least - 1,
        unit=unit,
        confidence=_CONFIDENCE if least - most <= _FULL else _CONFIDENCE / 2,
        frames=[frame for _, frame, _ in refused],
        how=f"{most} {unit} waited at most when a packet passed, {least} at least when {len(refused)} did not",
    )
    return Bound(figure, dropped)


def _limit(passed: list[int], refused: list[int]) -> tuple[int, int]:
    """Return the bound that contradicts the fewest packets, and the number of packets that passed nevertheless."""
    passed, refused = sorted(passed), sorted(refused)

    def over(limit: int) -> int:
        return len(passed) - bisect_right(passed, limit)

    odds = ((over(limit) + bisect_right(refused, limit), -limit) for limit in {0, *passed})
    limit = -min(odds)[1]
    return limit, over(limit)


def _stood(
    offered: Sequence[Offered], rate: int, dropped: frozenset[Lost], *, in_packets: bool
) -> tuple[list[tuple[int, int]], list[tuple[int, int, Lost]]]:
    """Return the queue lengths at passed and at dropped packets, the packet included, with their frames."""
    passed: list[tuple[int, int]] = []
    refused: list[tuple[int, int, Lost]] = []
    waiting: deque[tuple[int, int]] = deque()
    stands = free = 0
    for packet in offered:
        while waiting and waiting[0][0] <= packet.time:
            stands -= waiting.popleft()[1]
        own = 1 if in_packets else packet.ip_bytes
        size = stands + own
        if packet.lost is not None and packet.lost in dropped:
            refused.append((size, packet.frame, packet.lost))
            continue
        if free > packet.time:
            passed.append((size, packet.frame))
            waiting.append((free, own))
            stands = size
        free = max(free, packet.time) + sending_time(packet.ip_bytes, rate)
    return passed, refused

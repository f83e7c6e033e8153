"""Lost packets of both ends, and the loss rate of the server's packets.

Theory of operation. Behind the place of loss, a lost packet is a hole that a later packet fills. Before the
place of loss, the packet is seen twice. The first copy was lost unless an ACK came too soon for the second
copy. The first copy also arrived if one ACK covers it together with an earlier hole: a receiver acknowledges
at once after filling a gap (RFC 5681, section 4.2). A D-SACK (RFC 2883) excludes a loss too.

A loss at the end of the sent data leaves no hole. Behind the place of loss it shows only as a wait: see
:mod:`tcptrace_http.inference.replay`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import sqrt
from typing import TYPE_CHECKING, Final

from reference_sim.topology import LostSegment
from tcptrace_http.inference.client_clock import reactions
from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.packets import SYN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.packets import Packet, SentData

__all__ = ["Lost", "chance_of_loss", "loss_rate", "losses", "segments_of"]

_NAME: Final = "path.loss"
# Quantile of the 95 % interval of Wilson 1927 for a proportion.
_Z: Final = 1.96
# Margin in nanoseconds. Rates and paths are known to microseconds: an ACK is too soon only beyond the margin.
_CLOCK: Final = 100_000
# Share of the queueing delay that unseen losses may explain: a lost packet was not in the queue.
_UNKNOWN: Final = 0.3
# Share of the round trip to the sender after which a packet that fills a hole is a retransmission.
_OF_ROUND_TRIP: Final = 0.9


@dataclass(frozen=True, slots=True)
class Lost:
    """Lost packet."""

    flow: int
    to_client: bool
    #: Offset in the sender's stream: the SYN is 0, the first byte 1.
    offset: int
    #: Frame of its replacement.
    frame: int
    #: Index among the packets of the retrieval, if captured.
    place: int | None = None


def losses(observed: Observed, rate: int | None, propagation: int) -> tuple[Lost, ...]:
    """Return the lost packets of both ends, flow by flow."""
    found = _losses(observed, reactions(observed, rate, propagation, without=_sent_before(observed)))
    if observed.is_near_client:
        return found
    while True:
        # Packets that were not lost occupied the queue, so a retransmission behind them waited longer.
        gone = {each.place for each in found if each.place is not None}
        fewer = _losses(observed, reactions(observed, rate, propagation, without=gone))
        if len(fewer) >= len(found):
            return found
        found = fewer


def _losses(observed: Observed, seen_at: dict[int, int]) -> tuple[Lost, ...]:
    """Return the losses. ``seen_at``: by frame of the server's packets, the time of the client's visible
    reaction.
    """
    found: list[Lost] = []
    for flow, packets in observed.by_flow.items():
        for to_client in (True, False):
            if to_client is observed.is_near_client:
                found += _holes(observed, flow, [packet for packet in packets if packet.to_client is to_client])
            else:
                found += _sent_again(observed, flow, seen_at, to_client=to_client)
        found += _opening(observed, flow, packets)
    return tuple(found)


def _sent_before(observed: Observed) -> set[int]:
    """Return the places of the server's packets that were retransmitted later."""
    found: set[int] = set()
    for flow, packets in observed.by_flow.items():
        data = observed.lookups[flow].data(to_client=True)
        for again in packets:
            if again.to_client and again.payload:
                found.update(packet.place for packet in _carrying(again, data))
    return found


def _carrying(again: Packet, data: SentData) -> list[Packet]:
    """Return the earlier packets with any of this packet's data."""
    return [packet for packet in data.carrying(again.seq, again.end) if packet.place < again.place]


def segments_of(observed: Observed, lost: Iterable[Lost], *, to_client: bool) -> tuple[LostSegment, ...]:
    """Return the losses of one direction in the simulator's form."""
    numbers = {flow: number for number, flow in enumerate(sorted(observed.by_flow))}
    # The simulator has no stream bytes from before the start of the captured connection.
    of_stream = (each for each in lost if each.to_client is to_client and each.offset >= 0)
    counts = Counter((numbers[each.flow], each.offset) for each in of_stream)
    return tuple(
        LostSegment(connection=connection, offset=offset, times=times)
        for (connection, offset), times in sorted(counts.items())
    )


def chance_of_loss(observed: Observed, lost: Iterable[Lost]) -> float:
    """Return the losses as a share of the server's data packets."""
    gone = sum(each.to_client and each.offset > 0 for each in lost)
    came = sum(packet.to_client and packet.payload > 0 for packet in observed.packets)
    total = came + (gone if observed.is_near_client else 0)
    return gone / max(total, gone, 1)


def loss_rate(observed: Observed, lost: tuple[Lost, ...], *, of_runs: tuple[Lost, ...]) -> Figure:
    """Return the loss rate of the server's data packets.

    ``of_runs`` are the losses of the nearest run. If they differ from ``lost``, the interval covers both.
    """
    came = [packet for packet in observed.packets if packet.to_client and packet.payload]
    gone = [each for each in lost if each.to_client and each.offset]
    if not came:
        return assumed(_NAME, 0.0, reason="the server sent no data")
    count, other = len(gone), sum(each.to_client and each.offset > 0 for each in of_runs)
    total, of_other = (len(came) + (lost_too if observed.is_near_client else 0) for lost_too in (count, other))
    # If a middlebox or the capture changed the packets, more losses than packets are possible.
    total, of_other = max(total, count), max(of_other, other)
    low, high = _interval(count, total)
    least, most = _interval(other, of_other)
    low, high = min(low, least), max(high, most)
    doubt = f"; {other} in the nearest run, which does not reproduce the capture" if other != count else ""
    return seen(
        _NAME,
        count / total,
        low=low,
        high=high,
        confidence=1 - (high - low),
        frames=[each.frame for each in gone] or [came[0].frame, came[-1].frame],
        how=f"{count} of {total} data packets were lost{doubt}; Wilson's 95 % interval",
    )


def _holes(observed: Observed, flow: int, data: list[Packet]) -> list[Lost]:
    """Return the packets that filled holes late, as seen behind the place of loss.

    A reordered packet arrives before the sender can detect the hole.
    """
    far = observed.server_path if observed.is_near_client else observed.client_path
    found = []
    came: set[int] = set()
    # Highest stream offsets so far, and their times.
    ends: list[int] = []
    times: list[int] = []
    for packet in data:
        if not packet.payload:
            continue
        behind = bisect_right(ends, packet.seq)
        is_late = behind < len(ends) and packet.time - times[behind] > _OF_ROUND_TRIP * far
        if (packet.is_resent or is_late) and packet.seq not in came:
            found.append(Lost(flow, packet.to_client, packet.seq, packet.frame))
        came.add(packet.seq)
        if not ends or packet.end > ends[-1]:
            ends.append(packet.end)
            times.append(packet.time)
    return found


def _sent_again(observed: Observed, flow: int, seen_at: dict[int, int], *, to_client: bool) -> list[Lost]:
    """Return the necessary retransmissions, as seen before the place of loss."""
    far = observed.server_path if observed.is_near_client else observed.client_path
    packets = observed.by_flow[flow]
    data = [packet for packet in packets if packet.to_client is to_client]
    with_data = observed.lookups[flow].data(to_client=to_client)
    heard = _Heard(data, [packet for packet in packets if packet.to_client is not to_client])
    gone: dict[int, Lost] = {}
    again = [packet for packet in data if packet.is_resent or _carrying(packet, with_data)]
    needed = 0
    for packet in again:
        # Before the bottleneck, the packet has an unknown queue to pass.
        least = packet.time + far
        until = least if observed.is_near_client else seen_at.get(packet.frame, least)
        surely = until - max(round(_UNKNOWN * (until - least)), _CLOCK)
        if not packet.payload or heard.has_arrived(packet, surely, until - _CLOCK):
            continue
        needed += 1
        for before in _carrying(packet, with_data):
            lost = Lost(flow, packet.to_client, before.seq, packet.frame, before.place)
            gone.setdefault(before.place, lost)
    side = "server" if to_client else "client"
    in_vain = int(observed.flows[flow].get(f"{side}_unnecessary_retransmissions") or 0)
    # Receiver reports also reveal the number of spurious retransmissions, but not which ones they are.
    doubted = max(in_vain - (len(again) - needed), 0)
    return list(gone.values())[: max(len(gone) - doubted, 0)]


class _Heard:
    """Knowledge of a data sender from its ACKs, in order."""

    def __init__(self, data: list[Packet], acks: list[Packet]) -> None:
        self._acks = acks
        self._furthest = list(accumulate((ack.ack for ack in acks), max))
        #: Before each ACK: the highest acknowledged offset, and the highest sent offset when the receiver
        #: last reported reordering.
        self._before: list[tuple[int, int]] = []
        highest, recovery = 1, 0
        sent = place = 0
        for ack in acks:
            while place < len(data) and data[place].place < ack.place:
                sent = max(sent, data[place].end)
                place += 1
            self._before.append((highest, recovery))
            if ack.ack > highest:
                highest = ack.ack
            elif ack.ack == highest and not ack.payload and not ack.flags & SYN:
                recovery = sent

    def has_arrived(self, again: Packet, surely: int, until: int) -> bool:
        """Return whether the receiver had the data before its retransmission arrived.

        An ACK of the retransmission is visible from ``until`` on, and certainly not before ``surely``.
        """
        number = bisect_right(self._furthest, again.seq)
        if number == len(self._acks):
            return False
        highest, recovery = self._before[number]
        is_of_hole_before = highest < again.seq and highest < recovery
        return self._acks[number].time < (until if is_of_hole_before else surely)


def _opening(observed: Observed, flow: int, packets: list[Packet]) -> list[Lost]:
    """Return the retransmitted SYNs and SYN-ACKs.

    Near the client, a repeated SYN means that the SYN or its answer was lost. Most servers' timers repeat the
    answer at the same moment, so the delay is the same and the answer is assumed lost.
    """
    syns = [packet for packet in packets if packet.flags & SYN and not packet.to_client]
    answers = [packet for packet in packets if packet.flags & SYN and packet.to_client]
    if observed.is_near_client:
        again = syns[1:] if len(answers) <= 1 else []
        return [Lost(flow, True, 0, packet.frame) for packet in again]
    return [Lost(flow, True, 0, packet.frame, before.place) for before, packet in pairwise(answers)]


def _interval(count: int, total: int) -> tuple[float, float]:
    part = count / total
    scale = 1 + _Z**2 / total
    middle = (part + _Z**2 / (2 * total)) / scale
    half = _Z * sqrt(part * (1 - part) / total + _Z**2 / (4 * total**2)) / scale
    return max(middle - half, 0.0), min(middle + half, 1.0)

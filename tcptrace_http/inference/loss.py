"""Which packets were lost, of either end, and what part of the server's that is.

Theory of operation. Behind the place of loss a packet that was lost is a hole, which a later packet
fills. Before it the packet is seen twice: it was lost, unless what it carries was acknowledged too soon
for the second one to have done it, or together with a hole before it, when the client already had what
came behind that hole (a receiver acknowledges at once what fills a gap: RFC 5681, section 4.2). What a
receiver reports to have got twice (RFC 2883) was not lost either.

A loss that leaves no hole, at the end of what was sent, shows behind its place only as a wait: see
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
# The 95 % interval of Wilson 1927 for a part of so many.
_Z: Final = 1.96
# Rates and paths are known to microseconds: an ACK is too soon only if it is so by more.
_CLOCK: Final = 100_000
# What was lost unseen did not stand in the queue: so much less of it may have been to wait for.
_UNKNOWN: Final = 0.3
# What fills a hole after this part of the way to the sender and back was sent for it.
_OF_ROUND_TRIP: Final = 0.9


@dataclass(frozen=True, slots=True)
class Lost:
    """One packet that was lost."""

    flow: int
    to_client: bool
    #: Its first place in the sender's stream: the SYN is 0, the first byte 1.
    offset: int
    #: Of the packet that stood in for it.
    frame: int
    #: Its place among the packets of the retrieval, if it was seen.
    place: int | None = None


def losses(observed: Observed, rate: int | None, propagation: int) -> tuple[Lost, ...]:
    """The packets of both ends that the capture shows to be lost, flow by flow."""
    found = _losses(observed, reactions(observed, rate, propagation, without=_sent_before(observed)))
    if observed.is_near_client:
        return found
    while True:
        # What was not lost took its place in the queue: what was sent again behind it had longer to wait.
        gone = {each.place for each in found if each.place is not None}
        fewer = _losses(observed, reactions(observed, rate, propagation, without=gone))
        if len(fewer) >= len(found):
            return found
        found = fewer


def _losses(observed: Observed, seen_at: dict[int, int]) -> tuple[Lost, ...]:
    """``seen_at``: by the frames of the server's packets, when what they made the client do could be seen."""
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
    """The places of the server's packets that were sent again later."""
    found: set[int] = set()
    for flow, packets in observed.by_flow.items():
        data = observed.lookups[flow].data(to_client=True)
        for again in packets:
            if again.to_client and again.payload:
                found.update(packet.place for packet in _carrying(again, data))
    return found


def _carrying(again: Packet, data: SentData) -> list[Packet]:
    """The packets before this one that carried any of what it carries."""
    return [packet for packet in data.carrying(again.seq, again.end) if packet.place < again.place]


def segments_of(observed: Observed, lost: Iterable[Lost], *, to_client: bool) -> tuple[LostSegment, ...]:
    """The losses of one direction as the simulator has them."""
    numbers = {flow: number for number, flow in enumerate(sorted(observed.by_flow))}
    # What was sent before the connection as it was captured began is in no stream of the simulator.
    of_stream = (each for each in lost if each.to_client is to_client and each.offset >= 0)
    counts = Counter((numbers[each.flow], each.offset) for each in of_stream)
    return tuple(
        LostSegment(connection=connection, offset=offset, times=times)
        for (connection, offset), times in sorted(counts.items())
    )


def chance_of_loss(observed: Observed, lost: Iterable[Lost]) -> float:
    """The part that these losses are of the server's packets with data."""
    gone = sum(each.to_client and each.offset > 0 for each in lost)
    came = sum(packet.to_client and packet.payload > 0 for packet in observed.packets)
    total = came + (gone if observed.is_near_client else 0)
    return gone / max(total, gone, 1)


def loss_rate(observed: Observed, lost: tuple[Lost, ...], *, of_runs: tuple[Lost, ...]) -> Figure:
    """The part of the server's packets with data that was lost.

    ``of_runs``: what is lost in the nearest run. Where that is not ``lost``, the interval is of either.
    """
    came = [packet for packet in observed.packets if packet.to_client and packet.payload]
    gone = [each for each in lost if each.to_client and each.offset]
    if not came:
        return assumed(_NAME, 0.0, reason="the server sent no data")
    count, other = len(gone), sum(each.to_client and each.offset > 0 for each in of_runs)
    total, of_other = (len(came) + (lost_too if observed.is_near_client else 0) for lost_too in (count, other))
    # Where a middlebox or the capture changed what was sent, more can be found lost than was seen.
    total, of_other = max(total, count), max(of_other, other)
    low, high = _interval(count, total)
    least, most = _interval(other, of_other)
    low, high = min(low, least), max(high, most)
    doubt = f"; {other} in the nearest run, which does not retell the capture" if other != count else ""
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
    """What came late behind what follows it, as seen behind the place of loss.

    What was only overtaken comes sooner than the sender can have heard of the hole.
    """
    far = observed.server_path if observed.is_near_client else observed.client_path
    found = []
    came: set[int] = set()
    # The ends of what came furthest, and when.
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
    """What had to be sent again, as seen before the place of loss."""
    far = observed.server_path if observed.is_near_client else observed.client_path
    packets = observed.by_flow[flow]
    data = [packet for packet in packets if packet.to_client is to_client]
    with_data = observed.lookups[flow].data(to_client=to_client)
    heard = _Heard(data, [packet for packet in packets if packet.to_client is not to_client])
    gone: dict[int, Lost] = {}
    again = [packet for packet in data if packet.is_resent or _carrying(packet, with_data)]
    needed = 0
    for packet in again:
        # Before the slowest link, it has a queue to pass; what stood in it is not known to the packet.
        least = packet.time + far
        until = least if observed.is_near_client else seen_at.get(packet.frame, least)
        surely = until - max(round(_UNKNOWN * (until - least)), _CLOCK)
        if not packet.payload or heard.was_there(packet, surely, until - _CLOCK):
            continue
        needed += 1
        for before in _carrying(packet, with_data):
            lost = Lost(flow, packet.to_client, before.seq, packet.frame, before.place)
            gone.setdefault(before.place, lost)
    side = "server" if to_client else "client"
    in_vain = int(observed.flows[flow].get(f"{side}_unnecessary_retransmissions") or 0)
    # What was not needed is told by reports, too, though not which it was.
    doubted = max(in_vain - (len(again) - needed), 0)
    return list(gone.values())[: max(len(gone) - doubted, 0)]


class _Heard:
    """What the ACKs of one direction's data told its sender, one after the other."""

    def __init__(self, data: list[Packet], acks: list[Packet]) -> None:
        self._acks = acks
        self._furthest = list(accumulate((ack.ack for ack in acks), max))
        #: Before each ACK: the highest that came, and the end of what had been sent when the receiver last showed
        #: that something came out of order.
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

    def was_there(self, again: Packet, surely: int, until: int) -> bool:
        """Whether the receiver had what was sent again before that came.

        An ACK made by it can be seen from ``until`` on, and ``surely`` not sooner than that.
        """
        number = bisect_right(self._furthest, again.seq)
        if number == len(self._acks):
            return False
        highest, recovery = self._before[number]
        is_of_hole_before = highest < again.seq and highest < recovery
        return self._acks[number].time < (until if is_of_hole_before else surely)


def _opening(observed: Observed, flow: int, packets: list[Packet]) -> list[Lost]:
    """SYNs and SYN-ACKs that were sent again.

    Near the client a SYN that is repeated may be lost, or the answer to it: as that is sent again at the same
    moment by most servers' timers, it comes as soon either way, and the answer is taken.
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

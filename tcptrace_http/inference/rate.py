"""The rate of the path's slowest link, by packet dispersion.

Packets that leave together queue at the slowest link and come out one behind the other: the time from
one to the next is that packet's length over the link's rate (Jacobson 1988, the packet pair; Dovrolis,
Ramanathan and Moore 2001). Behind the link that is seen in the data itself, before it in the ACKs: the
bytes that were sent between the ends of what two ACKs acknowledge, over the time between them.

The rate is the most common of these quotients, those of the longest packets counting most. Idle times
make single quotients too low, and ACKs or frames that were delayed and bunched make some too high;
neither makes the same value again and again.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.handshakes import handshakes
from tcptrace_http.inference.packets import SYN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.packets import Packet

__all__ = ["bottleneck_rate"]

_NAME: Final = "path.rate"
_BITS_A_BYTE: Final = 8
_S: Final = 1_000_000_000
# Quotients this near to each other are of one rate: the clock of a capture on Ethernet has a microsecond,
# a full packet at 100 Mb/s takes 120.
_BAND: Final = 1.03
# So near they are with a busy machine's noise, too.
_NOISY_BAND: Final = 1.1
# A faster band is the rate if it has this part of the most common one's bytes: the slower ones are the
# sender's pace then.
_ENOUGH: Final = 0.25
# ACKs are bunched, each bunch at another rate: a faster band is the rate only if it has this part of the pairs
# that the most common one has.
_ABOUT_AS_COMMON: Final = 0.6
# The confidence of one pair alone: nothing confirms it.
_ONE_PAIR: Final = 0.3
# From this confidence on, no other method is asked.
_SURE: Final = 0.5
# A client that acknowledges two segments at a time does so at least every so many ACKs.
_OFTEN: Final = 4
# From so many quotients on, more make nothing surer.
_MANY: Final = 20


@dataclass(frozen=True, slots=True)
class _Dispersion:
    """Bytes that followed each other through the link in this time."""

    bits: int
    gap: int
    frame: int
    #: Nothing passed between them whose answer the second one can be.
    is_unasked: bool = False

    @property
    def rate(self) -> float:
        return self.bits * _S / self.gap


def bottleneck_rate(observed: Observed) -> Figure:
    """Bits a second of IP packets through the slowest link from the server to the client."""
    least = _least_rate(observed)
    if observed.is_near_client:
        found = _by_dispersion(observed, list(_behind(observed, to_client=True)), "packets", is_bounded=True)
    else:
        found = _by_dispersion(observed, list(_of_acks(observed)), "ACKs", is_bounded=False)
        back = _by_dispersion(observed, list(_behind(observed, to_client=False)), "packets", is_bounded=True)
        # ACKs that were delayed say little; packets of the client came through the same link, if that has
        # one rate in both directions.
        if back is not None and (found is None or found.confidence < _SURE):
            found = replace(back, confidence=min(back.confidence, _SURE), how=f"{back.how}, of the client")
    if found is not None and (
        least is None or _float(found.value) >= _float(least.value) / _BAND or _is_common(observed)
    ):
        return found if len(found.frames) > 1 else _of_one_pair(found)
    if least is not None:
        return least
    return assumed(
        _NAME, None, reason="no two packets of the server came back to back: the links take no time", unit="b/s"
    )


def _is_common(observed: Observed) -> bool:
    """Half of many packets have one rate: a single answer that was quicker than a handshake says less."""
    usable = _within_a_round_trip(observed, list(_behind(observed, to_client=True)))
    together = sum(pair.bits for pair in _heaviest_band(usable)) if usable else 0
    return len(usable) > _MANY and 2 * together > sum(pair.bits for pair in usable)


def _of_one_pair(found: Figure) -> Figure:
    """One pair may have been sent apart, and shows no more than that the link is no slower."""
    return replace(
        assumed(_NAME, found.value, reason="a single pair of packets may have been sent apart", low=found.low),
        unit="b/s",
        frames=found.frames,
    )


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _by_dispersion(
    observed: Observed, pairs: list[_Dispersion], of_what: str, *, is_bounded: bool
) -> Figure | None:
    """The rate of these pairs; ``is_bounded``: none of them can be faster than the link."""
    usable = _within_a_round_trip(observed, pairs)
    if not usable:
        return None
    band = _fastest_common_band(usable) if is_bounded else _most_common_band(usable)
    rates = [pair.rate for pair in band]
    share = len(band) / len(usable)
    return seen(
        _NAME,
        round(median(rates)),
        low=round(min(rates)),
        high=round(max(rates)),
        unit="b/s",
        confidence=(_ONE_PAIR + (1 - _ONE_PAIR) * min(len(band) - 1, _MANY) / _MANY) * (0.7 + 0.3 * share),
        frames=[pair.frame for pair in band],
        how=f"dispersion of {len(band)} of {len(usable)} {of_what} behind each other",
    )


def _within_a_round_trip(observed: Observed, pairs: list[_Dispersion]) -> list[_Dispersion]:
    """What one round trip lies between may have been released by an ACK of the packet before, if there was one."""
    round_trip = observed.server_path + observed.client_path
    return [pair for pair in pairs if pair.gap < round_trip or pair.is_unasked] or pairs


def _least_rate(observed: Observed) -> Figure | None:
    """The least rate with which the quickest answer can have come.

    An answer that took the server no time takes longer than a handshake by what it is longer: at the
    link's rate. That is a bound, and an estimate where the server answers at once.
    """
    opened = min(handshakes(observed), default=None)
    if not observed.is_near_client or opened is None:
        return None
    least_round_trip, small_bytes, _ = opened
    found: list[tuple[float, int]] = []
    packets = {packet.frame: packet for packet in observed.packets}
    for exchange in observed.exchanges:
        request, answer = packets.get(exchange.request_frame), packets.get(exchange.response_frame)
        if request is None or answer is None:
            continue
        extra = (answer.ip_bytes + request.ip_bytes - small_bytes) * _BITS_A_BYTE
        longer = exchange.response_start - exchange.request_end - least_round_trip
        if longer > 0 and extra > 0:
            found.append((extra * _S / longer, exchange.response_frame))
    if not found:
        return None
    rate, frame = max(found)
    return replace(
        assumed(_NAME, round(rate), reason="no packets came back to back; the server may have answered at once"),
        low=round(rate),
        unit="b/s",
        frames=(frame,),
    )


def _behind(observed: Observed, *, to_client: bool) -> Iterator[_Dispersion]:
    """Each packet with data behind another one of the same sender; of the client, each packet."""
    before: Packet | None = None
    asked: int | None = None
    for packet in observed.packets:
        if packet.to_client != to_client:
            asked = packet.time if asked is None else asked
            continue
        if before is not None and (packet.payload or not to_client) and packet.time > before.time:
            is_unasked = asked is None or asked + observed.server_path > packet.time
            bits, gap = packet.ip_bytes * _BITS_A_BYTE, packet.time - before.time
            yield _Dispersion(bits, gap, packet.frame, is_unasked=to_client and is_unasked)
        before, asked = packet, None


def _of_acks(observed: Observed) -> Iterator[_Dispersion]:
    """Each ACK of new data behind another one, over all flows: they share the link."""
    sent = 0
    ends: dict[int, list[int]] = {}
    totals: dict[int, list[int]] = {}
    times: dict[int, list[int]] = {}
    acknowledged: dict[int, int] = {}
    prompt = _prompt_bytes(observed)
    before: tuple[int, int] | None = None
    for packet in observed.packets:
        flow = packet.flow
        if packet.to_client:
            sent += packet.ip_bytes
            if packet.payload and packet.end > (ends.get(flow) or [0])[-1]:
                ends.setdefault(flow, []).append(packet.end)
                totals.setdefault(flow, []).append(sent)
                times.setdefault(flow, []).append(packet.time)
            continue
        if packet.flags & SYN or packet.ack <= acknowledged.get(flow, 1):
            continue
        is_prompt = packet.ack - acknowledged.get(flow, 1) >= prompt[flow]
        acknowledged[flow] = packet.ack
        covered = bisect_right(ends.get(flow, []), packet.ack)
        if not covered:
            continue
        through = totals[flow][covered - 1]
        if not is_prompt:
            before = None
            continue
        # What was sent after the ACK before came did not queue behind what that acknowledges.
        is_behind = before is not None and times[flow][covered - 1] < before[0]
        if before is not None and is_behind and packet.time > before[0] and through > before[1]:
            yield _Dispersion((through - before[1]) * _BITS_A_BYTE, packet.time - before[0], packet.frame)
        before = (packet.time, through)


def _prompt_bytes(observed: Observed) -> dict[int, int]:
    """How much an ACK acknowledges, by flow, that no timer has sent: two segments, if the client waits for two."""
    singles = pairs = 0
    for number, packets in observed.by_flow.items():
        full = observed.segment_bytes(number)
        acks = [packet.ack for packet in packets if not packet.to_client and packet.ack]
        steps = [later - earlier for earlier, later in pairwise(acks) if later > earlier]
        singles += sum(step <= full for step in steps)
        pairs += sum(step > full for step in steps)
    wanted = 2 if pairs * _OFTEN >= singles else 1
    return {number: wanted * observed.segment_bytes(number) for number in observed.flows}


class _Band(NamedTuple):
    """Quotients of one rate, by their places among all, the slowest first."""

    start: int
    stop: int
    #: Of all of them together.
    bits: int

    @property
    def pairs(self) -> int:
        """How many they are."""
        return self.stop - self.start


def _bands(ordered: list[_Dispersion], width: float = _BAND) -> list[_Band]:
    """From each quotient on, those that are of one rate with it."""
    before = [0, *accumulate(pair.bits for pair in ordered)]
    bands = []
    stop = 0
    for start, pair in enumerate(ordered):
        while stop < len(ordered) and ordered[stop].rate <= pair.rate * width:
            stop += 1
        bands.append(_Band(start, stop, before[stop] - before[start]))
    return bands


def _by_rate(pairs: list[_Dispersion]) -> list[_Dispersion]:
    return sorted(pairs, key=attrgetter("rate"))


def _fastest_common_band(pairs: list[_Dispersion]) -> list[_Dispersion]:
    """The quotients of the fastest rate that is common among them."""
    ordered = _by_rate(pairs)
    bands = _bands(ordered)
    most = max(band.bits for band in bands)
    band = next(band for band in reversed(bands) if band.bits >= most * _ENOUGH)
    return ordered[band.start : band.stop]


def _heaviest_band(pairs: list[_Dispersion]) -> list[_Dispersion]:
    """The quotients of about the rate that most bytes have."""
    ordered = _by_rate(pairs)
    band = max(_bands(ordered, _NOISY_BAND), key=attrgetter("bits"))
    return ordered[band.start : band.stop]


def _most_common_band(pairs: list[_Dispersion]) -> list[_Dispersion]:
    """The quotients of the rate that most of them have; of the fastest of those that are about as common.

    Windows make the same pace again and again, too, and it is a slower one.
    """
    ordered = _by_rate(pairs)
    bands = _bands(ordered)
    most = max(band.pairs for band in bands)
    common = [band for band in bands if band.pairs >= most * _ABOUT_AS_COMMON]
    # Of bands that overlap, the one with most.
    fastest = max(band.start for band in common)
    overlapping = (band for band in common if ordered[band.stop - 1].rate >= ordered[fastest].rate)
    band = max(overlapping, key=attrgetter("pairs"))
    return ordered[band.start : band.stop]

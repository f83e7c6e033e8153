"""Rate of the bottleneck, by packet dispersion.

Packets that leave together queue at the bottleneck and come out back to back. The gap between two of them is
the packet's serialization time at the link's rate (Jacobson 1988, the packet pair; Dovrolis, Ramanathan and
Moore 2001). Behind the link the data shows the gaps. Before the link the ACKs show them: the bytes between
the acknowledged ends of two ACKs, over the time between the ACKs.

The rate is the most common quotient, weighted towards the longest packets. Idle times make single quotients
too low. Delayed and bunched ACKs or frames make single quotients too high. Neither repeats the same value.
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
# Maximum ratio between quotients of one rate: a capture clock on Ethernet has a microsecond, and a full
# packet takes 120 at 100 Mb/s.
_BAND: Final = 1.03
# Maximum ratio with the noise of a busy machine.
_NOISY_BAND: Final = 1.1
# Minimum share of bytes, relative to the most common band, for a faster band to be the rate. The slower bands
# are then the sender's pace.
_ENOUGH: Final = 0.25
# Minimum share of pairs, relative to the most common band, for a faster band of ACKs. Bunched ACKs have
# varying rates.
_ABOUT_AS_COMMON: Final = 0.6
# Confidence of a single pair without confirmation.
_ONE_PAIR: Final = 0.3
# Minimum confidence that makes other methods unnecessary.
_SURE: Final = 0.5
# Maximum number of ACKs between two ACKs of two segments, for a client with delayed ACKs.
_OFTEN: Final = 4
# Number of quotients from which more add no confidence.
_MANY: Final = 20


@dataclass(frozen=True, slots=True)
class _Dispersion:
    """Consecutive bytes through the link, and their time."""

    bits: int
    gap: int
    frame: int
    #: True if no packet between them can have triggered the second one.
    is_unasked: bool = False

    @property
    def rate(self) -> float:
        return self.bits * _S / self.gap


def bottleneck_rate(observed: Observed) -> Figure:
    """Return the bits per second of IP packets through the bottleneck from server to client."""
    least = _least_rate(observed)
    if observed.is_near_client:
        found = _by_dispersion(observed, list(_behind(observed, to_client=True)), "packets", is_bounded=True)
    else:
        found = _by_dispersion(observed, list(_of_acks(observed)), "ACKs", is_bounded=False)
        back = _by_dispersion(observed, list(_behind(observed, to_client=False)), "packets", is_bounded=True)
        # Delayed ACKs prove little. Client packets crossed the same link, if its rate is symmetric.
        if back is not None and (found is None or found.confidence < _SURE):
            found = replace(back, confidence=min(back.confidence, _SURE), how=f"{back.how}, of the client")
    if found is not None and (
        least is None or _float(found.value) >= _float(least.value) / _BAND or _is_common(observed)
    ):
        return found if len(found.frames) > 1 else _of_one_pair(found)
    if least is not None:
        return least
    return assumed(
        _NAME, None, reason="no packets of the server came back to back: no serialization time", unit="b/s"
    )


def _is_common(observed: Observed) -> bool:
    """Return whether half of many packets have one rate. A single answer faster than a handshake proves less."""
    usable = _within_a_round_trip(observed, list(_behind(observed, to_client=True)))
    together = sum(pair.bits for pair in _heaviest_band(usable)) if usable else 0
    return len(usable) > _MANY and 2 * together > sum(pair.bits for pair in usable)


def _of_one_pair(found: Figure) -> Figure:
    """Return the figure of a single pair, a lower bound: the pair may have been sent apart."""
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
    """Return the rate of these pairs. With ``is_bounded``, no pair can be faster than the link."""
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
    """Return the pairs within a round trip. An ACK may have released the second packet of a wider pair."""
    round_trip = observed.server_path + observed.client_path
    return [pair for pair in pairs if pair.gap < round_trip or pair.is_unasked] or pairs


def _least_rate(observed: Observed) -> Figure | None:
    """Return the minimum rate that allows the fastest answer.

    An answer without server time exceeds the handshake by the serialization time of its extra bytes. The rate
    is a lower bound, and an estimate if the server answers at once.
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
    """Yield each data packet behind another one of the same sender; for the client each packet."""
    before: Packet | None = None
    requested: int | None = None
    for packet in observed.packets:
        if packet.to_client != to_client:
            requested = packet.time if requested is None else requested
            continue
        if before is not None and (packet.payload or not to_client) and packet.time > before.time:
            is_unasked = requested is None or requested + observed.server_path > packet.time
            bits, gap = packet.ip_bytes * _BITS_A_BYTE, packet.time - before.time
            yield _Dispersion(bits, gap, packet.frame, is_unasked=to_client and is_unasked)
        before, requested = packet, None


def _of_acks(observed: Observed) -> Iterator[_Dispersion]:
    """Yield each ACK of new data behind another one, over all flows: they share the link."""
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
        # Data sent after the previous ACK did not queue behind the acknowledged data.
        is_behind = before is not None and times[flow][covered - 1] < before[0]
        if before is not None and is_behind and packet.time > before[0] and through > before[1]:
            yield _Dispersion((through - before[1]) * _BITS_A_BYTE, packet.time - before[0], packet.frame)
        before = (packet.time, through)


def _prompt_bytes(observed: Observed) -> dict[int, int]:
    """Return, by flow, the bytes of an ACK without a timer: two segments for a client with delayed ACKs."""
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
    """Quotients of one rate, by their indices in ascending order."""

    start: int
    stop: int
    #: Bits of all quotients together.
    bits: int

    @property
    def pairs(self) -> int:
        """Return the number of quotients."""
        return self.stop - self.start


def _bands(ordered: list[_Dispersion], width: float = _BAND) -> list[_Band]:
    """Return, for each quotient, the following quotients of the same rate."""
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
    """Return the quotients of the fastest common rate."""
    ordered = _by_rate(pairs)
    bands = _bands(ordered)
    most = max(band.bits for band in bands)
    band = next(band for band in reversed(bands) if band.bits >= most * _ENOUGH)
    return ordered[band.start : band.stop]


def _heaviest_band(pairs: list[_Dispersion]) -> list[_Dispersion]:
    """Return the quotients near the rate with most bytes."""
    ordered = _by_rate(pairs)
    band = max(_bands(ordered, _NOISY_BAND), key=attrgetter("bits"))
    return ordered[band.start : band.stop]


def _most_common_band(pairs: list[_Dispersion]) -> list[_Dispersion]:
    """Return the quotients of the most common rate, or of the fastest of about equally common rates.

    Windows also repeat a pace, but a slower one.
    """
    ordered = _by_rate(pairs)
    bands = _bands(ordered)
    most = max(band.pairs for band in bands)
    common = [band for band in bands if band.pairs >= most * _ABOUT_AS_COMMON]
    # The largest of overlapping bands.
    fastest = max(band.start for band in common)
    overlapping = (band for band in common if ordered[band.stop - 1].rate >= ordered[fastest].rate)
    band = max(overlapping, key=attrgetter("pairs"))
    return ordered[band.start : band.stop]

"""Client's request writes: whole or in two parts, and whether Nagle's algorithm held the second part.

A request in two segments with a short first one was written in two parts. If the second part came on an ACK
of the first, it waited for that ACK. If it came before any ACK was possible, this client uses no Nagle's
algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.stack import Nagle
from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from reference_sim.plan import Fetch, Plan
    from reference_sim.stack import Stack
    from tcptrace_http.inference.observed import Exchange, Observed

__all__ = ["Split", "split_figure", "splits", "with_nagle", "with_splits"]

_NAME: Final = "browser.split_request"
_NAGLE: Final = "client.nagle"
# Maximum time between an ACK and the segment that it released: a client's work takes less on any machine.
_SOON: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Split:
    """Request in two parts."""

    #: Bytes of the first part.
    after: int
    #: Captured time between the parts, in nanoseconds.
    gap: int
    #: True if the second part came on an ACK of the first.
    is_held: bool
    frame: int

    @property
    def pause(self) -> int:
        """Return the nanoseconds between the application's writes."""
        return 0 if self.is_held else self.gap


def splits(observed: Observed) -> dict[tuple[int, int], Split]:
    """Return the requests in two parts, by visit and index."""
    found = {}
    for number, visit in enumerate(observed.visits):
        for place, exchange in enumerate(visit.exchanges):
            split = _split(observed, exchange)
            if split is not None:
                found[number, place] = split
    return found


def _split(observed: Observed, exchange: Exchange) -> Split | None:
    if exchange.stream is not None:
        return None
    packets = observed.lookups[exchange.flow].between(exchange.request_frame, exchange.request_last_frame)
    parts = [packet for packet in packets if not packet.to_client and packet.payload and not packet.is_resent]
    mss = observed.flows[exchange.flow]["mss_server"]
    if len(parts) != 2 or (mss is not None and parts[0].payload >= _full(observed, exchange.flow, mss)):  # noqa: PLR2004 -- two writes
        return None
    first, second = parts
    inside = packets[packets.index(first) : packets.index(second)]
    if any(packet.to_client and packet.payload for packet in inside):
        # The server sent something, such as 100 (Continue), and the rest is the answer.
        return None
    # Away from the client, an ACK crosses the rest of the path twice before its effect is visible.
    way = 0 if observed.is_near_client else observed.client_path
    is_held = any(
        packet.to_client and packet.ack >= first.end and 0 <= second.time - packet.time - way < _SOON
        for packet in inside
    )
    return Split(first.payload, second.time - first.time, is_held, first.frame)


def _full(observed: Observed, flow: int, mss: int) -> int:
    """Return the payload of a full client segment: timestamps take 12 bytes (RFC 7323, appendix A)."""
    has_timestamps = any(packet.timestamp is not None for packet in observed.by_flow[flow][:1])
    return mss - 12 * has_timestamps


def with_splits(plan: Plan, visit: int, found: dict[tuple[int, int], Split]) -> Plan:
    """Return the plan of this visit with its captured request parts."""
    if not any(number == visit for number, _ in found):
        return plan

    def parted(place: int, fetch: Fetch) -> Fetch:
        split = found.get((visit, place))
        return fetch if split is None else replace(fetch, split_after=split.after, split_gap=split.pause)

    return replace(plan, fetches=tuple(parted(place, fetch) for place, fetch in enumerate(plan.fetches)))


def with_nagle(
    stack: Stack, found: dict[tuple[int, int], Split], behind_finished: bool | None
) -> tuple[Stack, Figure]:
    """Return the client's stack, without Nagle's algorithm if the second part of a request did not wait.

    ``behind_finished``: whether a request waited for the ACK of the client's Finished; None without TLS.
    """
    if not found and behind_finished is False:
        off = Nagle.OFF
        return replace(stack, nagle=off), assumed(
            _NAGLE, str(off.value), reason="no request waited behind the client's Finished"
        )
    if not found:
        return stack, assumed(
            _NAGLE, str(stack.nagle.value), reason="no request was written in parts: as the preset"
        )
    held = [split for split in found.values() if split.is_held]
    free = [split for split in found.values() if not split.is_held]
    nagle = Nagle.OFF if len(free) > len(held) else stack.nagle
    told = free if nagle is Nagle.OFF else held
    figure = seen(
        _NAGLE,
        str(nagle.value),
        confidence=len(told) / len(found),
        frames=[split.frame for split in told],
        how=f"of {len(found)} requests in parts, the second one of {len(held)} came on an ACK",
    )
    return replace(stack, nagle=nagle), figure


def split_figure(observed: Observed, found: dict[tuple[int, int], Split]) -> Figure:
    """Return the number of split requests, and the cut of the first one."""
    if not found:
        return seen(
            _NAME,
            0,
            unit="B",
            confidence=1.0,
            frames=[exchange.request_frame for exchange in observed.exchanges],
            how="each request is one segment, or full ones",
        )
    cuts = sorted(split.after for split in found.values())
    return seen(
        _NAME,
        cuts[len(cuts) // 2],
        low=cuts[0],
        high=cuts[-1],
        unit="B",
        confidence=len(found) / len(observed.exchanges),
        frames=[split.frame for split in found.values()],
        how=f"a short segment before the end of {len(found)} of {len(observed.exchanges)} requests",
    )

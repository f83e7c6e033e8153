"""Pathologies of a transaction that detectors should find, and their costs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_sim.true_waits._partition import Partition
from reference_sim.true_waits._transaction import gaps_of, request_gaps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.true_waits._gap import Gap
    from reference_sim.true_waits._observer import Observer
    from reference_sim.true_waits._partition import Wait
    from reference_sim.true_waits._records import Packet, Transaction
    from reference_sim.true_waits._transaction import Times

__all__ = ["Stall", "stalls_of"]

_DELAYED: Final = "stall.nagle_delayed_ack"
_HELD: Final = "stall.nagle_hold"
#: Full segments that a receiver acknowledges at once (RFC 1122, section 4.2.3.2).
_ACKED_AT_ONCE: Final = 2
_RESTART: Final = "stall.slow_start_restart"
#: Cause of a Nagle hold that is neither at the beginning nor at the end of a response.
_NAGLE: Final = {_DELAYED: "nagle-delayed-ack", _HELD: "nagle-hold"}
#: Causes that are a pathology by themselves.
_BY_CAUSE: Final = {
    _RESTART: "slow-start-restart",
    "send_limited.send_buffer": "small-send-buffer",
    "stall.delayed_ack_first_segment": "delayed-ack-first-segment",
    "send_limited.receive_window": "receive-window-limit",
}
#: Causes that also occur in a request or in its support: a timer's copy, or a window probe.
_ANYWHERE: Final = {
    "send_limited.zero_window": "zero-window",
    "stall.retransmission_timeout": "retransmission-timeout",
    "stall.tail_loss": "tail-loss",
}


@dataclass(frozen=True, slots=True)
class Stall:
    """Pathology of a transaction: its detector's name, its cause and its cost."""

    name: str
    cause: str
    #: Intervals of the waits in which the pathology cost time: starts and ends, in order.
    spans: tuple[tuple[int, int], ...]
    #: Intervals that packets do not show. Either cwnd was reset before its full use, or, at the server, an
    #: ACK of two full segments was delayed.
    unseen: tuple[tuple[int, int], ...] = ()
    #: RTT of the held packet by span, including its queueing delay. If no packet was held or the held packet
    #: was lost, the path's RTT.
    round_trips: tuple[int, ...] = ()

    @property
    def lost_ns(self) -> int:
        return sum(end - start for start, end in self.spans)


def stalls_of(transaction: Transaction, times: Times, waits: list[Wait], observer: Observer) -> list[Stall]:
    """Return the stalls of a transaction, one per name and cause.

    Except for losses and Nagle holds, only the response counts.
    """
    spans: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    unseen: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    round_trips: dict[tuple[str, str], list[int]] = defaultdict(list)

    def add(name: str, wait: Wait, packet: Packet | None) -> None:
        spans[name, wait.cause].append((wait.start, wait.end))
        round_trips[name, wait.cause].append(observer.connection.round_trip_of(packet))

    for wait in waits:
        if wait.cause in _ANYWHERE:
            add(_ANYWHERE[wait.cause], wait, None)
    for packet, wait in _holds(request_gaps_of(times, observer), observer):
        if wait.cause in _NAGLE:
            add(_NAGLE[wait.cause], wait, packet)
    for packet, wait in _holds(gaps_of(times, observer), observer):
        if wait.cause in _BY_CAUSE:
            name = _BY_CAUSE[wait.cause]
        elif wait.cause in _NAGLE:
            name = _name(transaction, packet, wait.cause, observer)
        else:
            continue
        add(name, wait, packet)
        if _is_unseen(wait.cause, packet, observer):
            unseen[name, wait.cause].append((wait.start, wait.end))
    return [
        Stall(*key, tuple(found), tuple(unseen[key]), tuple(round_trips[key]))
        for key, found in sorted(spans.items())
    ]


def _holds(gaps: Iterator[Gap], observer: Observer) -> Iterator[tuple[Packet, Wait]]:
    """Yield the holds of a message's segments.

    At the receiver, a lost segment shows nothing of its hold. The same is true of a segment that arrives with
    retransmitted data: the retransmission timer ended the hold.
    """
    for gap in gaps:
        packet = gap.held
        is_at_sender = observer.at == packet.side
        if packet.is_retransmission or (packet.received is None and not is_at_sender):
            continue
        partition = Partition(gap.start, gap.came)
        partition.pieces(gap.pieces)
        for wait in partition.waits:
            yield packet, wait


def _is_unseen(cause: str, packet: Packet, observer: Observer) -> bool:
    """Return whether packets do not show the hold of ``packet``: see :attr:`Stall.unseen`."""
    if cause == _RESTART:
        return not observer.server.shows_restart(packet)
    outstanding = sum(it.payload for it in observer.server.outstanding(packet))
    return (
        cause == _DELAYED
        and observer.at == packet.side
        and outstanding >= _ACKED_AT_ONCE * observer.connection.mss
    )


def _name(transaction: Transaction, held: Packet, cause: str, observer: Observer) -> str:
    """Return the pathology of a hold, from its place in the response and the preceding segments.

    Heidemann's pathology is the odd, short final segment: the ACK is delayed, or a second short segment waits
    for the first. The original algorithm may also hold a tail after full segments for an ordinary RTT: that
    is a plain Nagle hold. A segment that the next response filled is a plain Nagle hold, too.
    """
    is_short = observer.connection.is_short
    if not is_short(held) and cause == _HELD:
        return _NAGLE[cause]
    outstanding = observer.server.outstanding(held)
    start = transaction.response_offset
    opening = next((it for it in outstanding if it.start <= start < it.end), None)
    waits_for_opening = opening is not None
    opens_short = waits_for_opening and opening is not None and is_short(opening)
    head_alone = opening is not None and opening.payload <= transaction.response_head_bytes
    is_last = held.end >= transaction.response_end
    if opens_short and (head_alone or not is_last):
        return "short-initial-segment"
    is_behind_short = any(map(is_short, outstanding))
    if is_last and is_short(held) and (cause == _DELAYED or is_behind_short):
        return "odd-short-final-segment"
    return _NAGLE[cause]

"""The pathologies of a transaction that detectors should find, and what each cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_sim.true_waits._partition import Partition
from reference_sim.true_waits._transaction import gaps_of, request_gaps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.true_waits._observer import Observer
    from reference_sim.true_waits._partition import Wait
    from reference_sim.true_waits._records import Packet, Transaction
    from reference_sim.true_waits._transaction import Gap, Times

__all__ = ["Stall", "stalls_of"]

_DELAYED: Final = "stall.nagle_delayed_ack"
_HELD: Final = "stall.nagle_hold"
#: Full segments that a receiver acknowledges at once (RFC 1122, section 4.2.3.2).
_ACKED_AT_ONCE: Final = 2
_RESTART: Final = "stall.slow_start_restart"
#: What a hold by Nagle's algorithm is called wherever it is neither the opening of a response nor its end.
_NAGLE: Final = {_DELAYED: "nagle-delayed-ack", _HELD: "nagle-hold"}
#: Causes that are a pathology by themselves.
_BY_CAUSE: Final = {
    _RESTART: "slow-start-restart",
    "send_limited.send_buffer": "small-send-buffer",
    "stall.delayed_ack_first_segment": "delayed-ack-first-segment",
    "send_limited.receive_window": "receive-window-limit",
}
#: Causes that also a request may have, or what is sent for it alone: a timer's copy, or a probe of a window.
_ANYWHERE: Final = {
    "send_limited.zero_window": "zero-window",
    "stall.retransmission_timeout": "retransmission-timeout",
    "stall.tail_loss": "tail-loss",
}


@dataclass(frozen=True, slots=True)
class Stall:
    """A pathology of a transaction: its detector's name, its cause and the time it cost."""

    name: str
    cause: str
    #: When it cost something, in the time of the waits: starts and ends, in order.
    spans: tuple[tuple[int, int], ...]
    #: Those of them of which packets show nothing: a window was thrown away that had never been used, or, at the
    #: server, an ACK of two full segments was delayed all the same.
    unseen: tuple[tuple[int, int], ...] = ()
    #: How long a round trip took of what was held, by span, with the queue that it met; that of the path alone if
    #: nothing was held, or what was did not come.
    round_trips: tuple[int, ...] = ()

    @property
    def lost_ns(self) -> int:
        return sum(end - start for start, end in self.spans)


def stalls_of(transaction: Transaction, times: Times, waits: list[Wait], observer: Observer) -> list[Stall]:
    """The stalls of a transaction, each name and cause once; of its response, but for losses and Nagle's holds."""
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
    """What held the segments of a message.

    At its receiver a segment that was lost shows nothing of what had held it, nor does one that came with data
    that was sent again: the timer that sent this ended the hold.
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
    """Whether packets show nothing of what held ``packet``: see :attr:`Stall.unseen`."""
    if cause == _RESTART:
        return not observer.server.shows_restart(packet)
    outstanding = sum(it.payload for it in observer.server.outstanding(packet))
    return (
        cause == _DELAYED
        and observer.at == packet.side
        and outstanding >= _ACKED_AT_ONCE * observer.connection.mss
    )


def _name(transaction: Transaction, held: Packet, cause: str, observer: Observer) -> str:
    """The pathology that a hold belongs to: where in its response it happened, and behind what.

    The odd, short final segment is Heidemann's: the ACK is delayed, or a second short segment waits for the
    first. A tail that the original algorithm held behind full segments for an ordinary round trip has no such
    name: it is a hold by Nagle's algorithm; and so is what the next response filled up to a full segment.
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

"""The pathologies of a transaction that detectors should find, and what each cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_sim.true_waits._partition import Partition
from reference_sim.true_waits._transaction import gaps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.true_waits._partition import Wait
    from reference_sim.true_waits._records import Packet, Transaction
    from reference_sim.true_waits._transaction import Observer, Times

__all__ = ["Stall", "stalls_of"]

_DELAYED: Final = "stall.nagle_delayed_ack"
_HELD: Final = "stall.nagle_hold"
#: Causes that are a pathology by themselves.
_BY_CAUSE: Final = {
    "stall.slow_start_restart": "slow-start-restart",
    "send_limited.send_buffer": "small-send-buffer",
    "stall.delayed_ack_first_segment": "delayed-ack-first-segment",
    "send_limited.receive_window": "receive-window-limit",
    "send_limited.zero_window": "zero-window",
}
#: ... and that also a request may have.
_ANYWHERE: Final = {
    "stall.retransmission_timeout": "retransmission-timeout",
    "stall.tail_loss": "tail-loss",
}


@dataclass(frozen=True, slots=True)
class Stall:
    """A pathology of a transaction: its detector's name, its cause and the time it cost."""

    name: str
    cause: str
    #: When it cost something: starts and ends, in order.
    spans: tuple[tuple[int, int], ...]

    @property
    def lost_ns(self) -> int:
        return sum(end - start for start, end in self.spans)


def stalls_of(transaction: Transaction, times: Times, waits: list[Wait], observer: Observer) -> list[Stall]:
    """The stalls of a transaction, each name and cause once; of its response, but for losses."""
    spans: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for wait in waits:
        if wait.cause in _BY_CAUSE and wait.start >= times.response_first:
            spans[_BY_CAUSE[wait.cause], wait.cause].append((wait.start, wait.end))
        if wait.cause in _ANYWHERE:
            spans[_ANYWHERE[wait.cause], wait.cause].append((wait.start, wait.end))
    for packet, wait in _holds_of_nagle(times, observer):
        spans[_name(transaction, packet, wait.cause, observer), wait.cause].append((wait.start, wait.end))
    return [Stall(name, cause, tuple(found)) for (name, cause), found in sorted(spans.items())]


def _holds_of_nagle(times: Times, observer: Observer) -> Iterator[tuple[Packet, Wait]]:
    for gap in gaps_of(times, observer):
        partition = Partition(gap.start, gap.delivery.time)
        partition.pieces(gap.pieces)
        for wait in partition.waits:
            if wait.cause in (_DELAYED, _HELD):
                yield gap.delivery.packet, wait


def _name(transaction: Transaction, held: Packet, cause: str, observer: Observer) -> str:
    """The pathology that a hold belongs to: where in its response it happened, and behind what.

    The odd, short final segment is Heidemann's: the ACK is delayed, or a second short segment waits for the
    first. A tail that the original algorithm held behind full segments for an ordinary round trip has no such
    name: it is a hold by Nagle's algorithm.
    """
    full = observer.connection.mss
    outstanding = observer.server.outstanding(held)
    start = transaction.response_offset
    opening = next((it for it in outstanding if it.start <= start < it.end), None)
    waits_for_opening = opening is not None
    opens_short = waits_for_opening and opening is not None and opening.payload < full
    head_alone = opening is not None and opening.payload <= transaction.response_head_bytes
    is_last = held.end >= transaction.response_end
    if opens_short and (head_alone or not is_last):
        return "short-initial-segment"
    is_behind_short = any(it.payload < full for it in outstanding)
    if is_last and held.payload < full and (cause == _DELAYED or is_behind_short):
        return "odd-short-final-segment"
    return "nagle-delayed-ack" if cause == _DELAYED else "nagle-hold"

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
}


@dataclass(frozen=True, slots=True)
class Stall:
    """A pathology of a transaction: its detector's name, its cause and the time it cost."""

    name: str
    cause: str
    lost_ns: int


def stalls_of(transaction: Transaction, times: Times, waits: list[Wait], observer: Observer) -> list[Stall]:
    """The stalls of a transaction's response, each name once with its sum."""
    lost: dict[tuple[str, str], int] = defaultdict(int)
    for wait in waits:
        if wait.cause in _BY_CAUSE and wait.start >= times.response_first:
            lost[_BY_CAUSE[wait.cause], wait.cause] += wait.end - wait.start
    for packet, cause, length in _holds_of_nagle(times, observer):
        lost[_name(transaction, packet, cause, observer), cause] += length
    return [Stall(name, cause, length) for (name, cause), length in sorted(lost.items())]


def _holds_of_nagle(times: Times, observer: Observer) -> Iterator[tuple[Packet, str, int]]:
    for gap in gaps_of(times, observer):
        partition = Partition(gap.start, gap.delivery.time)
        partition.pieces(gap.pieces)
        for wait in partition.waits:
            if wait.cause in (_DELAYED, _HELD):
                yield gap.delivery.packet, wait.cause, wait.end - wait.start


def _name(transaction: Transaction, held: Packet, cause: str, observer: Observer) -> str:
    """The pathology that a hold belongs to: where in its response it happened, and behind what."""
    full = observer.connection.mss
    opening = observer.responses.first_copy(transaction.response_offset)
    outstanding = [packet.packet for packet in observer.server.outstanding(held)]
    waits_for_opening = opening is not None and opening.packet in outstanding
    opens_short = waits_for_opening and opening is not None and opening.payload < full
    head_alone = opening is not None and opening.payload <= transaction.response_head_bytes
    is_last = held.end >= transaction.response_end
    if opens_short and (head_alone or not is_last):
        return "short-initial-segment"
    if is_last and held.payload < full:
        return "odd-short-final-segment"
    return "nagle-delayed-ack" if cause == _DELAYED else "nagle-hold"

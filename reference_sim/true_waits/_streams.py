"""Waits of an HTTP/2 response for other streams on its connection.

A server's segments carry the frames of all its streams. A segment with bytes of the response has the same
causes as on any connection. Earlier segments carried other streams' bytes. A flow-control window may block
the response's next frame in that time. The block lasts from the delivery of all allowed data to the earliest
delivery of the released data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.true_waits._partition import Partition, Piece, Wait
from reference_sim.true_waits._records import SERVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reference_sim.true_waits._gap import Gap
    from reference_sim.true_waits._observer import Observer
    from reference_sim.true_waits._records import Frame, Transaction

__all__ = ["comes_behind_others", "pieces_among_streams"]

_BEHIND: Final = "send_limited.multiplexed_behind"
_OF_STREAM: Final = "send_limited.h2_stream_window"
_OF_CONNECTION: Final = "send_limited.h2_connection_window"
_LOSSES: Final = ("stall.fast_recovery", "stall.retransmission_timeout", "stall.tail_loss")


def comes_behind_others(transaction: Transaction, gaps: Iterable[Gap]) -> bool:
    """Return whether other streams' bytes arrived before the beginning of a response, in these gaps."""
    return any(gap.delivery.before < transaction.response_offset for gap in gaps)


def pieces_among_streams(
    transaction: Transaction, since: int, gaps: Iterable[Gap], observer: Observer
) -> Iterator[Piece]:
    """Yield the time of consecutive gaps from ``since`` on, as the response has it."""
    group: list[Gap] = []
    begun = since
    for gap in gaps:
        group.append(gap)
        if _is_own(transaction, gap):
            yield from _told(transaction, begun, group, observer)
            group, begun = [], gap.delivery.time
    if group:
        yield from _told(transaction, begun, group, observer)


def _is_own(transaction: Transaction, gap: Gap) -> bool:
    """Return whether a delivery brought bytes of the response."""
    before, after = gap.delivery.before, gap.delivery.after
    return any(frame.start < after and before < frame.end for frame in transaction.frames)


def _told(transaction: Transaction, begun: int, group: list[Gap], observer: Observer) -> Iterator[Piece]:
    """Yield the gaps up to one that brought bytes of the response."""
    last = group[-1].delivery
    plain = Partition(begun, last.time)
    for gap in group:
        own = _is_own(transaction, gap)
        plain.pieces(it if own or it.cause in _LOSSES else Piece(it.end, _BEHIND) for it in gap.pieces)
        plain.until(gap.delivery.time, gap.pieces[-1].cause if own and gap.pieces else _BEHIND)
    first = group[0].delivery.before
    # A connection window that blocks other streams also blocks the data queued after them.
    held = [
        window
        for each in observer.connection.transactions
        for frame in each.frames
        if first <= frame.start < last.after and (each is transaction or not frame.is_held_by_stream)
        for window in [_window(each, frame, begun, observer)]
        if window is not None and window.start < window.end
    ]
    yield from _overlaid(plain.waits, sorted(held, key=lambda window: window.start))


def _window(transaction: Transaction, frame: Frame, begun: int, observer: Observer) -> Wait | None:
    """Return the interval in which a window blocked a frame, as observed."""
    arrival = observer.responses.delivered(frame.start)
    left = observer.responses.first_copy(frame.start)
    if frame.held_since is None or frame.held_until is None or arrival is None or left is None:
        return None
    every = observer.connection.transactions
    of_window = [transaction] if frame.is_held_by_stream else every
    written = (it.end for each in of_window for it in each.frames if it.written <= frame.held_since)
    filled = observer.responses.delivered(max(written, default=1) - 1)
    start = max(begun, begun if filled is None else filled.time)
    # After others' frames, it was sent later than the window allowed.
    later = max(0, left.sent - frame.held_until)
    path = observer.connection.paths[SERVER]
    end = min(arrival.time - later, frame.held_until + path.crossing(left.bytes) + observer.later)
    return Wait(_OF_STREAM if frame.is_held_by_stream else _OF_CONNECTION, start, end)


def _overlaid(waits: list[Wait], windows: list[Wait]) -> Iterator[Piece]:
    """Yield the waits, overlaid with the intervals of blocking windows."""
    for wait in waits:
        at = wait.start
        for window in windows:
            if window.end <= at or window.start >= wait.end:
                continue
            if window.start > at:
                yield Piece(window.start, wait.cause, wait.ended_elsewhere)
            at = min(window.end, wait.end)
            yield Piece(at, window.cause)
        yield Piece(wait.end, wait.cause, wait.ended_elsewhere)

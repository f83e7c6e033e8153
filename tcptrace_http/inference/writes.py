"""How the server wrote its responses: the head alone, chunks of one size, or all at once.

Short segments inside a response end where a write ended. What they suggest is run. Where runs are alike,
PSH tells: stacks set it on the segment in which a write ended, also where the next one filled that up
(RFC 9293, section 3.9.1.2). What came later behind a short segment than any ACK of that can have made it come
was written so much later.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from reference_sim.quantities import nanoseconds, time_text
from reference_sim.scenario import Writes
from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.packets import PSH
from tcptrace_http.inference.tls import data_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.inference.observed import Exchange, Observed
    from tcptrace_http.inference.packets import Packet
    from tcptrace_http.inference.synthesis import Match

__all__ = ["ways_of_writing", "words_of", "writes_figure"]

_NAME: Final = "server.writes"
# Sizes that are tried, the most common ones first.
_TRIED: Final = 2
# A busy machine is late by so much without any reason that a capture shows.
_NOISE: Final = 3_000_000
# Buffers that servers wrote by, also where no short segment shows it: BUFSIZ of BSD's stdio and Apache 1.1's
# (Heidemann 1996, section 2.3), and Apache 2's (AP_IOBUFSIZE).
_USUAL: Final = (4096, 8192)


def ways_of_writing(observed: Observed) -> list[Writes]:
    """What short segments suggest, and what servers usually do; one write a response first."""
    ends = list(_short_ends(observed))
    if any(exchange.stream is not None for exchange in observed.exchanges):
        # Frames are no writes: only a head that goes out before there is any DATA shows.
        is_alone = any(offset == head for offset, head in ends)
        return [Writes(), Writes(head_alone=True)] if is_alone else [Writes()]
    heads = {exchange.head_bytes for exchange in observed.exchanges}
    sizes = Counter(offset for offset, head in ends if offset not in heads for offset in {offset, offset - head})
    longest = max(exchange.head_bytes + exchange.body_bytes for exchange in observed.exchanges)
    suggested = [data_bytes(observed, size) for size, _ in sizes.most_common(_TRIED)]
    chunks = [size for size in dict.fromkeys((*suggested, *_USUAL)) if 0 < size < longest]
    found = [Writes(), *(Writes(chunk_bytes=size) for size in chunks)]
    if any(offset == head for offset, head in ends):
        found += [Writes(head_alone=True), *(Writes(head_alone=True, chunk_bytes=size) for size in chunks)]
    found += [replace(way, gap=gap) for way in found if (gap := _gap(observed, way)) is not None]
    pushed = list(_pushed(observed))
    return sorted(found, key=lambda way: not _explains(way, pushed))


def writes_figure(observed: Observed, match: Match[Writes]) -> Figure:
    """How the server wrote, by the runs of the ways that it can have."""
    if not match.is_told:
        off = f"the nearest run is {100 * match.off:.1f} % of the page time off"
        return assumed(_NAME, words_of(match.best), reason=f"no run retells the capture: {off}")
    return seen(
        _NAME,
        words_of(match.best),
        confidence=match.confidence,
        frames=[exchange.response_frame for exchange in observed.exchanges],
        how=f"of {match.candidates} ways of writing, by their runs: short segments end where writes end",
        alternatives=tuple(words_of(other) for other in match.alike),
    )


def words_of(writes: Writes) -> str:
    """A way of writing in words."""
    parts = ["head alone"] * writes.head_alone
    parts += [f"{writes.chunk_bytes} B a write"] if writes.chunk_bytes else []
    parts += [f"{time_text(nanoseconds(writes.gap))} between writes"] if writes.gap else []
    return ", ".join(parts) or "one write"


def _responses(observed: Observed) -> Iterator[tuple[Exchange, int, int, list[Packet]]]:
    """Each exchange, where its response begins, what a full segment has, and the packets with the response."""
    for exchange in observed.exchanges:
        begin = observed.by_frame.get(exchange.response_frame)
        if begin is None:
            continue
        last = begin.seq + exchange.head_bytes + exchange.body_bytes
        data = observed.lookups[exchange.flow].data(to_client=True).starting_in(begin.seq, last)
        yield exchange, begin.seq, observed.segment_bytes(exchange.flow), data


def _short_ends(observed: Observed) -> Iterator[tuple[int, int]]:
    """Where short segments end inside a response, from its start, and the length of its head."""
    for exchange, first, full, data in _responses(observed):
        total = exchange.head_bytes + exchange.body_bytes
        for packet in data:
            if packet.payload < full and not packet.is_resent and packet.end - first < total:
                yield packet.end - first, exchange.head_bytes


def _gap(observed: Observed, way: Writes) -> int | None:
    """Nanoseconds between writes that end where these do, if any two were apart: the median of those that were."""
    if not way.head_alone and not way.chunk_bytes:
        return None
    gaps = [gap for offset, head, gap in _paused(observed) if (offset == head) is way.head_alone]
    return round(median(gaps)) if gaps else None


def _paused(observed: Observed) -> Iterator[tuple[int, int, int]]:
    """Where a write ended, the length of the head, and how much later the next one came, if no ACK explains it."""
    for exchange, first, full, data in _responses(observed):
        packets = observed.lookups[exchange.flow]
        for before, after in pairwise(data):
            if before.payload >= full or before.is_resent or after.is_resent or after.seq != before.end:
                continue
            ack = packets.first_ack_from(before.end)
            heard = before.time if ack is None or ack.place > after.place else ack.time
            released = heard + observed.server_path
            if after.time - max(released, before.time) > _NOISE:
                yield before.end - first, exchange.head_bytes, after.time - before.time


@dataclass(frozen=True, slots=True)
class _Pushed:
    """The full segments inside a response, as offsets, and which of them have PSH."""

    head: int
    total: int
    segments: tuple[tuple[int, int, bool], ...]

    def ends(self, way: Writes) -> set[int]:
        """Where writes end inside the response if it is written this way."""
        first = self.head if way.head_alone else 0
        step = int(way.chunk_bytes) if way.chunk_bytes else self.total
        return {end for end in (first, *range(first + step, self.total, step)) if end}


def _pushed(observed: Observed) -> Iterator[_Pushed]:
    for exchange, first, full, data in _responses(observed):
        total = exchange.head_bytes + exchange.body_bytes
        segments = tuple(
            (packet.seq - first, packet.end - first, bool(packet.flags & PSH))
            for packet in data
            if packet.payload == full and not packet.is_resent and packet.end - first < total
        )
        yield _Pushed(exchange.head_bytes, total, segments)


def _explains(way: Writes, responses: list[_Pushed]) -> bool:
    """Whether a write ends in each full segment with PSH, and in no other one."""
    is_seen = False
    for response in responses:
        ends = response.ends(way)
        for start, end, has_push in response.segments:
            if has_push != any(start < place <= end for place in ends):
                return False
            is_seen |= has_push
    return is_seen

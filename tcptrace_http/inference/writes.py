"""Server's response writes: the head alone, chunks of one size, or all at once.

Short segments inside a response end with a write. The ways of writing that they suggest are run. If runs are
alike, PSH decides: stacks set PSH on the segment that ends a write, even if the next write fills that segment
(RFC 9293, section 3.9.1.2). Data behind a short segment, later than any ACK of it explains, was written
later.
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
# Maximum number of tried sizes, most common first.
_TRIED: Final = 2
# Delay of a busy machine without a visible reason, in nanoseconds.
_NOISE: Final = 3_000_000
# Usual write buffers of servers, tried without a short segment too: BUFSIZ of BSD's stdio and Apache 1.1
# (Heidemann 1996, section 2.3), and Apache 2 (AP_IOBUFSIZE).
_USUAL: Final = (4096, 8192)


def ways_of_writing(observed: Observed) -> list[Writes]:
    """Return the ways of writing that short segments suggest, and the usual ones; one write per response first."""
    ends = list(_short_ends(observed))
    if any(exchange.stream is not None for exchange in observed.exchanges):
        # Frames are not writes: only a head without DATA behind it shows a write.
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
    """Return the figure of the server's writes, from the runs of the possible ways."""
    if not match.is_conclusive:
        off = f"the nearest run is {100 * match.off:.1f} % of the page time off"
        return assumed(_NAME, words_of(match.best), reason=f"no run reproduces the capture: {off}")
    return seen(
        _NAME,
        words_of(match.best),
        confidence=match.confidence,
        frames=[exchange.response_frame for exchange in observed.exchanges],
        how=f"of {match.candidates} ways of writing, by their runs: short segments end where writes end",
        alternatives=tuple(words_of(other) for other in match.alike),
    )


def words_of(writes: Writes) -> str:
    """Return a way of writing in words."""
    parts = ["head alone"] * writes.head_alone
    parts += [f"{writes.chunk_bytes} B per write"] if writes.chunk_bytes else []
    parts += [f"{time_text(nanoseconds(writes.gap))} between writes"] if writes.gap else []
    return ", ".join(parts) or "one write"


def _responses(observed: Observed) -> Iterator[tuple[Exchange, int, int, list[Packet]]]:
    """Yield each exchange, the start of its response, the size of a full segment, and the response's packets."""
    for exchange in observed.exchanges:
        begin = observed.by_frame.get(exchange.response_frame)
        if begin is None:
            continue
        last = begin.seq + exchange.head_bytes + exchange.body_bytes
        data = observed.lookups[exchange.flow].data(to_client=True).starting_in(begin.seq, last)
        yield exchange, begin.seq, observed.segment_bytes(exchange.flow), data


def _short_ends(observed: Observed) -> Iterator[tuple[int, int]]:
    """Yield the ends of short segments inside a response, from its start, with the length of its head."""
    for exchange, first, full, data in _responses(observed):
        total = exchange.head_bytes + exchange.body_bytes
        for packet in data:
            if packet.payload < full and not packet.is_resent and packet.end - first < total:
                yield packet.end - first, exchange.head_bytes


def _gap(observed: Observed, way: Writes) -> int | None:
    """Return the median nanoseconds between writes with these ends, among those with a gap; None without one."""
    if not way.head_alone and not way.chunk_bytes:
        return None
    gaps = [gap for offset, head, gap in _paused(observed) if (offset == head) is way.head_alone]
    return round(median(gaps)) if gaps else None


def _paused(observed: Observed) -> Iterator[tuple[int, int, int]]:
    """Yield the end of a write, the length of the head, and the delay of the next write, if no ACK explains it."""
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
    """Full segments inside a response, as offsets, with the ones that have PSH."""

    head: int
    total: int
    segments: tuple[tuple[int, int, bool], ...]

    def ends(self, way: Writes) -> set[int]:
        """Return the ends of writes inside the response, for this way of writing."""
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
    """Return whether writes end exactly in the full segments with PSH."""
    is_seen = False
    for response in responses:
        ends = response.ends(way)
        for start, end, has_push in response.segments:
            if has_push != any(start < place <= end for place in ends):
                return False
            is_seen |= has_push
    return is_seen

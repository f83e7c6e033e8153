"""How the server wrote its responses: the head alone, chunks of one size, or all at once.

Short segments inside a response end where a write ended. What they suggest is run; what makes no
difference to any packet is not shown.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from reference_sim.scenario import Writes
from tcptrace_http.inference.figure import Figure, seen
from tcptrace_http.inference.synthesis import nearest_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.observed import Observed

__all__ = ["write_pattern"]

_NAME: Final = "server.writes"
# Sizes that are tried, the most common ones first.
_TRIED: Final = 2


def write_pattern(observed: Observed, scenario_of: Callable[[Writes], Scenario]) -> tuple[Writes, Figure]:
    """The way of writing whose run is nearest; one write a response, where that explains the packets as well."""
    ends = list(_short_ends(observed))
    heads = {exchange.head_bytes for exchange in observed.exchanges}
    sizes = Counter(offset for offset, head in ends if offset not in heads for offset in {offset, offset - head})
    chunks = [size for size, _ in sizes.most_common(_TRIED) if size > 0]
    candidates = [Writes()]
    candidates += [Writes(chunk_bytes=size) for size in chunks]
    if any(offset == head for offset, head in ends):
        candidates += [Writes(head_alone=True), *(Writes(head_alone=True, chunk_bytes=size) for size in chunks)]
    match = nearest_run(observed, candidates, scenario_of)
    return match.best, seen(
        _NAME,
        _words(match.best),
        confidence=match.confidence,
        frames=[exchange.response_frame for exchange in observed.exchanges],
        how=f"{len(ends)} short segments inside responses; of {match.candidates} ways of writing, by their runs",
        alternatives=tuple(_words(other) for other in match.alike),
    )


def _words(writes: Writes) -> str:
    parts = ["head alone"] * writes.head_alone
    parts += [f"{writes.chunk_bytes} B a write"] if writes.chunk_bytes else []
    return ", ".join(parts) or "one write"


def _short_ends(observed: Observed) -> Iterator[tuple[int, int]]:
    """Where short segments end inside a response, from its start, and the length of its head."""
    for exchange in observed.exchanges:
        packets = observed.by_flow[exchange.flow]
        first = next((p for p in packets if p.frame == exchange.response_frame), None)
        if first is None:
            continue
        full = observed.segment_bytes(exchange.flow)
        total = exchange.head_bytes + exchange.body_bytes
        for packet in packets:
            if packet.to_client and 0 < packet.payload < full and not packet.is_resent and packet.seq >= first.seq:
                offset = packet.end - first.seq
                if offset < total:
                    yield offset, exchange.head_bytes

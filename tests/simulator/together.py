"""Several random scenarios in one capture, for what an analysis costs whatever is in a capture is paid but once.

Each scenario's hosts get addresses of their own, so no flow of one has to do with another's.
"""

from __future__ import annotations

import heapq
import struct
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import tcptrace_http
from reference_sim.simulation import simulate

from .comparison import Comparison, Key, Run, Told, compared, told_of
from .random_scenarios import random_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

__all__ = ["TOGETHER_MAX", "compared_together"]

#: As many as an octet of an address tells apart; 0 is in the addresses as they are.
TOGETHER_MAX: Final = 255
_FILE_HEADER_BYTES: Final = 24
_RECORD_HEADER: Final = struct.Struct("<IIII")


@dataclass(frozen=True, slots=True)
class _Member:
    words: str
    document: Mapping[str, Any]
    truth: Mapping[str, pl.DataFrame]
    pcap: bytes


def compared_together(seed: int, numbers: Sequence[int], *, at: str) -> list[tuple[str, Comparison]]:
    """Of each of at most 255 scenarios what it is, and how its analysis compares with its truth.

    :raises ValueError: there are more.
    """
    if len(numbers) > TOGETHER_MAX:
        raise ValueError(f"{len(numbers)} scenarios; the addresses of one capture tell {TOGETHER_MAX} apart")
    members = [_simulated(seed, number, place + 1, at=at) for place, number in enumerate(numbers)]
    capture = _merged([member.pcap for member in members])
    analysis = tcptrace_http.analyze(capture, tables=("packets",), jobs=1)
    told = _by_place(told_of(analysis, members[0].document["epoch_ns"]))
    return [
        (member.words, compared(Run(member.truth, member.document, told[place + 1], at)))
        for place, member in enumerate(members)
    ]


def _simulated(seed: int, number: int, place: int, *, at: str) -> _Member:
    made = random_scenario(seed, number)
    document = made.scenario.document()
    document["nodes"] = [_moved(node, place) for node in document["nodes"]]
    simulation = simulate(document)
    pcap = simulation.pcap(at=simulation.taps[0 if at == "client" else 1])
    return _Member(made.words, document, vars(simulation.truth), pcap)


def _moved(node: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The node in the network of this place: of 10.0.0.1 the second octet is changed."""
    first, _, *rest = node["address"]
    return {**node, "address": [first, place, *rest]}


def _by_place(told: Told) -> dict[int, Told]:
    parts: dict[int, Told] = defaultdict(lambda: Told({}, {}, {}))
    for name in ("rows", "waits", "findings"):
        for key, value in getattr(told, name).items():
            getattr(parts[_place_of(key)], name)[key] = value
    return parts


def _place_of(key: Key) -> int:
    return int(key[0].split(".")[1])


def _merged(pcaps: Sequence[bytes]) -> bytes:
    """The packets of all captures in the order of their times."""
    records = heapq.merge(*map(_records, pcaps), key=lambda record: record[0])
    return pcaps[0][:_FILE_HEADER_BYTES] + b"".join(record for _, record in records)


def _records(pcap: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    start = _FILE_HEADER_BYTES
    while start < len(pcap):
        seconds, fraction, captured, _ = _RECORD_HEADER.unpack_from(pcap, start)
        end = start + _RECORD_HEADER.size + captured
        yield (seconds, fraction), pcap[start:end]
        start = end

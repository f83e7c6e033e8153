"""Several random scenarios in one capture, to pay the fixed cost of an analysis once.

Each scenario's hosts have their own addresses, so flows of different scenarios are unrelated.
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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from reference_sim.simulation import Simulation

    from .random_scenarios import RandomScenario

__all__ = ["TOGETHER_MAX", "Member", "compared_together", "comparisons_of", "simulated_together"]

#: Number of distinct values of an address octet; 0 is the original address.
TOGETHER_MAX: Final = 255
_FILE_HEADER_BYTES: Final = 24
_RECORD_HEADER: Final = struct.Struct("<IIII")


@dataclass(frozen=True, slots=True)
class Member:
    """Simulated scenario of a capture that holds several; its hosts have their own addresses."""

    made: RandomScenario
    document: Mapping[str, Any]
    simulation: Simulation

    @property
    def has_loss(self) -> bool:
        """Whether the network may lose packets, or a queue overflowed."""
        is_lossy = any(link.loss for link in self.made.scenario.network.links)
        return is_lossy or self.simulation.truth.links["drops"].sum() > 0


def simulated_together(
    seed: int, numbers: Sequence[int], *, draw: Callable[[int, int], RandomScenario] = random_scenario
) -> list[Member]:
    """Return at most 255 scenarios, each drawn by ``draw`` from the seed and its number.

    :raises ValueError: there are more than 255 scenarios.
    """
    if len(numbers) > TOGETHER_MAX:
        raise ValueError(f"{len(numbers)} scenarios; the addresses of one capture tell {TOGETHER_MAX} apart")
    return [_simulated(draw(seed, number), place) for place, number in enumerate(numbers, start=1)]


def comparisons_of(members: Sequence[Member], *, at: str) -> list[Comparison]:
    """Return the comparisons of one joint analysis with the truth of each scenario."""
    tap = 0 if at == "client" else 1
    pcaps = [member.simulation.pcap(at=member.simulation.taps[tap]) for member in members]
    analysis = tcptrace_http.analyze(_merged(pcaps), tables=("packets",), jobs=1)
    told = _by_place(told_of(analysis, members[0].document["epoch_ns"]))
    return [
        compared(Run(vars(member.simulation.truth), member.document, told[place], at))
        for place, member in enumerate(members, start=1)
    ]


def compared_together(seed: int, numbers: Sequence[int], *, at: str) -> list[tuple[str, Comparison]]:
    """Return description and comparison of each of at most 255 scenarios.

    :raises ValueError: there are more than 255 scenarios.
    """
    members = simulated_together(seed, numbers)
    found = comparisons_of(members, at=at)
    return [(member.made.words, comparison) for member, comparison in zip(members, found, strict=True)]


def _simulated(made: RandomScenario, place: int) -> Member:
    document = made.scenario.document()
    document["nodes"] = [_moved(node, place) for node in document["nodes"]]
    return Member(made, document, simulate(document))


def _moved(node: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the node with the second octet of its address (10.0.0.1) set to this place."""
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
    """Return the packets of all captures in time order."""
    records = heapq.merge(*map(_records, pcaps), key=lambda record: record[0])
    return pcaps[0][:_FILE_HEADER_BYTES] + b"".join(record for _, record in records)


def _records(pcap: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    start = _FILE_HEADER_BYTES
    while start < len(pcap):
        seconds, fraction, captured, _ = _RECORD_HEADER.unpack_from(pcap, start)
        end = start + _RECORD_HEADER.size + captured
        yield (seconds, fraction), pcap[start:end]
        start = end

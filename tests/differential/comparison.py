"""Result of a comparison with another program: counts, explained differences, unexplained differences.

A peer is a function of a capture and its name (relative to the folder of captures) that returns a
:class:`Comparison`; ``report.PEERS`` lists the peers. The reasons are entries ``[[peer]]`` of
``disagreements.toml`` (for tcptrace ``[[tcptrace]]``). Most reasons are rules in the peer's code. Instead, an
entry may have ``cases``: the exact number of explained cells per file and column.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Comparison", "Reason", "Tally", "merged", "reasons"]

_EXPLAINED: Final = Path(__file__).with_name("disagreements.toml")
#: Texts kept per file and column of unexplained cells: enough to diagnose the difference.
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison with a peer: counts of compared items, and the differences with their reasons."""

    peer: str
    #: packets, flows, segments, transactions, cells, … -> count.
    compared: Mapping[str, int]
    #: Reason -> cells.
    disagreements: Mapping[str, int]
    #: Cells without a reason, and reasons for cells that no longer differ.
    unexplained: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason of a peer's difference; ``cases`` are (file, column) -> cells, for reasons without a rule."""

    peer: str
    reason: str
    explanation: str
    cases: Mapping[tuple[str, str], int]


def reasons(peer: str) -> list[Reason]:
    """Return the reasons for differences from a peer."""
    document = tomllib.loads(_EXPLAINED.read_text(encoding="utf-8"))
    return [
        Reason(
            peer,
            entry["reason"],
            entry["explanation"],
            {(path, name): n for path, cells in entry.get("cases", {}).items() for name, n in cells.items()},
        )
        for entry in [*document.get("peer", []), *({"peer": peer} | one for one in document.get(peer, []))]
        if entry["peer"] == peer
    ]


@dataclass
class Tally:
    """Counter of one file's compared cells."""

    peer: str
    name: str
    compared: Counter[str] = field(default_factory=Counter)
    disagreements: Counter[str] = field(default_factory=Counter)
    _left: dict[str, list[str]] = field(default_factory=dict)

    def note(self, column: str, where: str, ours: object, theirs: object, reason: str | None = None) -> None:
        """Count a differing cell, with a rule's reason if any."""
        if reason is not None:
            self.disagreements[reason] += 1
        else:
            text = f"{self.name}: {where}: {column} {ours!r}, {self.peer} {theirs!r}"
            self._left.setdefault(column, []).append(text)

    def finish(self) -> Comparison:
        """Explain the remaining cells by the cases of the reasons, or report them."""
        left = dict(self._left)
        unexplained, examples = 0, []
        for reason in reasons(self.peer):
            for (path, column), cells in reason.cases.items():
                if path != self.name:
                    continue
                texts = left.pop(column, [])
                if len(texts) == cells:
                    self.disagreements[reason.reason] += cells
                else:
                    unexplained += max(len(texts), 1)
                    examples += [f"{path}: {column}: {len(texts)} cells, {reason.reason} explains {cells}"]
                    examples += texts[:_SHOWN]
        for texts in left.values():
            unexplained += len(texts)
            examples += texts[:_SHOWN]
        return Comparison(self.peer, self.compared, self.disagreements, unexplained, tuple(examples))


def merged(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return the sums over all files, one per peer."""
    by_peer: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        by_peer.setdefault(comparison.peer, []).append(comparison)
    return [_sum(peer, parts) for peer, parts in by_peer.items()]


def _sum(peer: str, parts: list[Comparison]) -> Comparison:
    compared: Counter[str] = Counter()
    disagreements: Counter[str] = Counter()
    for part in parts:
        compared.update(part.compared)
        disagreements.update(part.disagreements)
    examples = tuple(text for part in parts for text in part.examples)
    return Comparison(peer, compared, disagreements, sum(part.unexplained for part in parts), examples)

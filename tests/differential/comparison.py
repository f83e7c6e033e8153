"""What a comparison with another program found: counts, reasons to differ, and what no reason explains.

A peer is a function of a capture and its name (relative to the folder of captures) that gives a
:class:`Comparison`; ``report.PEERS`` lists them. The reasons are entries ``[[peer]]`` of
``disagreements.toml`` (those of tcptrace ``[[tcptrace]]``). Most are rules in the code of the peer; an
entry may have ``cases`` instead: how many cells of which column of which file it explains, no more and
no fewer.
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
#: Texts of what is not explained that are kept of a file and column: enough to see what is wrong.
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared with a peer: how much of what, where the two differ and why."""

    peer: str
    #: packets, flows, segments, transactions, cells, … -> how many.
    compared: Mapping[str, int]
    #: Reason -> cells.
    disagreements: Mapping[str, int]
    #: Cells that no reason explains, and explanations of what no longer differs.
    unexplained: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a peer differs; ``cases`` are (file, column) -> cells where no rule in the code decides."""

    peer: str
    reason: str
    explanation: str
    cases: Mapping[tuple[str, str], int]


def reasons(peer: str) -> list[Reason]:
    """Return the reasons to differ from a peer."""
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
    """Counts the cells of one file as they are compared."""

    peer: str
    name: str
    compared: Counter[str] = field(default_factory=Counter)
    disagreements: Counter[str] = field(default_factory=Counter)
    _left: dict[str, list[str]] = field(default_factory=dict)

    def note(self, column: str, where: str, ours: object, theirs: object, reason: str | None = None) -> None:
        """A cell that differs, with the reason that a rule gives for it."""
        if reason is not None:
            self.disagreements[reason] += 1
        else:
            text = f"{self.name}: {where}: {column} {ours!r}, {self.peer} {theirs!r}"
            self._left.setdefault(column, []).append(text)

    def finish(self) -> Comparison:
        """What is left is explained by the cases of the reasons, or by nothing."""
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
    """Return the sums over all files, one a peer."""
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

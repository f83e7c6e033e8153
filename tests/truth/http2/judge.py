"""Findings on a culprit against its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

import tcptrace_http

if TYPE_CHECKING:
    from pathlib import Path

    from .culprits import Culprit

__all__ = ["WITHIN", "Costs", "Verdict", "judged"]

WITHIN: Final = 0.1
#: Smaller costs are ignored: a capturing machine loses as much by scheduling.
_OTHER_MIN_NS: Final = 2_000_000
#: Relative difference between two equal runs: hosts of a busy machine are late.
_JITTER: Final = 0.02
_JITTER_MIN_NS: Final = 5_000_000


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of a culprit, and duration of its twin."""

    lost_ns: int
    twin_ns: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on one capture."""

    name: str
    point: str
    lost_ns: int
    #: Duration of the twin.
    twin_ns: int
    named_ns: int
    #: Lost time of the other detectors' findings.
    others: dict[str, int]

    @property
    def is_right(self) -> bool:
        jitter_ns = max(_JITTER * self.twin_ns, _JITTER_MIN_NS)
        return abs(self.named_ns - self.lost_ns) <= max(WITHIN * self.lost_ns, jitter_ns) and not self.others

    def __str__(self) -> str:
        share = f"{self.named_ns / self.lost_ns:6.2f}" if self.lost_ns else " " * 6
        others = ", ".join(f"{name} {lost / 1e6:.1f} ms" for name, lost in self.others.items())
        word = "right" if self.is_right else "WRONG"
        figures = f"lost {self.lost_ns / 1e6:8.1f} ms, named {self.named_ns / 1e6:8.1f} ms {share}"
        return f"{word} {self.name:28} {self.point:6} {figures}  {others}".rstrip()


def judged(culprit: Culprit, point: str, capture: Path, costs: Costs, keys: Path | None) -> Verdict:
    analysis = tcptrace_http.analyze(capture, keylog=keys)
    by_detector = analysis.findings.group_by("detector", maintain_order=True)
    named = dict(by_detector.agg(pl.col("lost").sum().dt.total_nanoseconds()).iter_rows())
    right = sum(lost for name, lost in named.items() if name in culprit.named)
    if culprit.waits:
        of_culprit = analysis.waits.filter(pl.col("cause").cast(pl.String).is_in(culprit.waits))
        right = of_culprit.select((pl.col("end") - pl.col("start")).dt.total_nanoseconds().sum()).item()
    passed = {*culprit.named, *culprit.also}
    others = {name: lost for name, lost in named.items() if name not in passed and lost >= _OTHER_MIN_NS}
    return Verdict(culprit.name, point, costs.lost_ns, costs.twin_ns, right, others)

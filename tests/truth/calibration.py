"""Reliability of confidences: ``python -m tests.truth.calibration DIR… [--kernel DIR]``.

The table gives the share of right findings among the findings with a confidence. The findings are those of
the field captures in DIR (``field.make`` writes them) and of kernel captures with sidecars (``--kernel``;
default: the environment variable TCPTRACE_HTTP_CAPTURES). A finding counts if the truth decides it: by
``field.judge`` for field captures, by the rules of ``precision`` for kernel captures. ``--set`` selects one
half of the field captures.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .field.judge import judge_folder, sidecars_of
from .field.sidecar import NAGLE
from .judge import examine
from .table import kernel_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Bin", "main", "reliability"]

_EDGES: Final = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
#: Permitted difference between the share and the mean confidence.
_TOLERANCE: Final = 0.05

#: Detector, confidence, and whether the finding is right.
_Decided = tuple[str, float, bool]


@dataclass(frozen=True, slots=True)
class Bin:
    """Findings with a confidence above ``low``, at most ``high``."""

    low: float
    high: float
    findings: int
    mean_confidence: float
    share_right: float

    @property
    def is_calibrated(self) -> bool:
        return abs(self.mean_confidence - self.share_right) <= _TOLERANCE


def reliability(decided: Iterable[_Decided]) -> list[Bin]:
    """Return the bins with findings."""
    # A floating-point sum that prints as .6 must not exceed .6.
    rows = [(name, round(told, 6), right) for name, told, right in decided]
    bins = []
    for low, high in itertools.pairwise(_EDGES):
        own = [(told, right) for _, told, right in rows if low < told <= high or told == low == 0]
        if own:
            mean = sum(told for told, _ in own) / len(own)
            bins.append(Bin(low, high, len(own), mean, sum(right for _, right in own) / len(own)))
    return bins


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.calibration", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", metavar="DIR")
    default = os.environ.get("TCPTRACE_HTTP_CAPTURES")
    parser.add_argument("--kernel", type=Path, default=default and Path(default), metavar="DIR")
    parser.add_argument("--set", choices=("tuning", "aside"))
    options = parser.parse_args(arguments)
    sources: dict[str, list[_Decided]] = {}
    if options.folders:
        paths = [path for folder in options.folders for path in sidecars_of(folder, options.set)]
        sources["field"] = [
            (c.detector, c.confidence, right) for v in judge_folder(paths) for c, right in v.decided
        ]
    if options.kernel:
        sources["kernel"] = list(_of_kernel(kernel_folder(options.kernel)))
    if len(sources) > 1:
        sources["both"] = [row for rows in sources.values() for row in rows]
    if not any(sources.values()):
        print("no finding that a truth decides", file=sys.stderr)
        return 2
    print("\n".join(_table(sources)))
    return 0


def _of_kernel(folder: Path) -> Iterable[_Decided]:
    for _, judgements in examine([folder]):
        for name, judgement in judgements.items():
            yield from ((name, claim.confidence, True) for claim in judgement.right)
            yield from ((name, claim.confidence, False) for claim in judgement.wrong)


def _table(sources: dict[str, list[_Decided]]) -> Iterable[str]:
    yield "| captures | findings | confidence | count | mean confidence | share right | within .05 |"
    yield "|---|---|---|---|---|---|---|"
    for source, rows in sources.items():
        of_nagle = [row for row in rows if row[0] in NAGLE]
        for what, own in (("Nagle", of_nagle), ("all", rows)):
            for each in reliability(own):
                verdict = "yes" if each.is_calibrated else "no"
                yield (
                    f"| {source} | {what} | {each.low:g}-{each.high:g} | {each.findings}"
                    f" | {each.mean_confidence:.3f} | {each.share_right:.3f} | {verdict} |"
                )


if __name__ == "__main__":
    sys.exit(main())

"""Element sizes of a page, for which the paper prints only count and sum (Table 1).

Several distributions show the effect of this choice. A list is in the order of the links.
"""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from reference_sim.names import named
from reference_sim.pages import KRUSE_SPLITS, sized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reference_sim.page import Page

__all__ = ["LOGNORMAL", "NAMED_SPLITS", "PAGES", "PublishedPage", "page_of", "published_pages", "sizes_of"]

_KIB: Final = 1024
#: Page names in the paper's tables and figures.
PAGES: Final = ("lerc", "acts", "oufr", "test")
#: Random split, drawn anew for each number.
LOGNORMAL: Final = "lognormal"
# Web file sizes below the tail: log-normal with this deviation (Barford and Crovella 1998, Table 1).
_LOGNORMAL_DEVIATION: Final = 1.318
# Ratio of the largest to the smallest element in the geometric split; our choice.
_GEOMETRIC_SPAN: Final = 10.0
# Minimum element size: the smallest useful GIF; our choice.
_LEAST_BYTES: Final = 64
# Figure 7: the GETs of elements 2 to 4 are sent together after the document's first segment. All links are
# therefore in this part of it (Figure 6: "all GET requests were issued while the first element was being
# received").
_LINKS_WITHIN: Final = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedPage:
    """Row of Tables 1 and 2."""

    elements: int
    bytes: int
    #: HTTP/1.1 transfers with bit errors.
    corrupted_percent: float

    @property
    def corrupted(self) -> float:
        """Share of transfers with bit errors."""
        return self.corrupted_percent / 100


@cache
def published_pages() -> Mapping[str, PublishedPage]:
    """Return Tables 1 and 2, by the names of :data:`PAGES`; 1 KB is 1024 bytes there."""
    text = files("reference_sim.papers").joinpath("kruse_2001_pages.csv").read_text(encoding="utf-8")
    return {
        row["page"].lower(): PublishedPage(
            elements=int(row["elements"]),
            bytes=int(row["page_size_kbytes"]) * _KIB,
            corrupted_percent=float(row["corrupted_transfers_pct"]),
        )
        for row in csv.DictReader(text.splitlines())
    }


def _as_bytes(weights: Sequence[float], total: int) -> tuple[int, ...]:
    """Return whole bytes in these proportions; the largest element absorbs the rounding."""
    spare = total - _LEAST_BYTES * len(weights)
    sizes = [_LEAST_BYTES + int(spare * weight / sum(weights)) for weight in weights]
    sizes[sizes.index(max(sizes))] += total - sum(sizes)
    return tuple(sizes)


def _lognormal(name: str, number: int) -> tuple[int, ...]:
    known = published_pages()[name]
    law = random.Random(f"{name} {number}")  # noqa: S311 -- no secret
    return _as_bytes([law.lognormvariate(0, _LOGNORMAL_DEVIATION) for _ in range(known.elements)], known.bytes)


def _geometric(name: str) -> tuple[int, ...]:
    """Return sizes in geometric progression, the document the largest."""
    known = published_pages()[name]
    ratio = _GEOMETRIC_SPAN ** (-1 / (known.elements - 1))
    return _as_bytes([ratio**number for number in range(known.elements)], known.bytes)


def _of_pages(split: str) -> Callable[[str], tuple[int, ...]]:
    return lambda name: tuple(size * _KIB for size in KRUSE_SPLITS[split][name])


#: Deterministic splits, including three of :data:`~reference_sim.pages.KRUSE_SPLITS`.
NAMED_SPLITS: Final[Mapping[str, Callable[[str], tuple[int, ...]]]] = {
    "equal": _of_pages("equal"),
    "geometric": _geometric,
    "documented": _of_pages("documented"),
    "one-large": _of_pages("one-large"),
}


def sizes_of(name: str, split: str, number: int) -> tuple[int, ...]:
    """Return the bytes of a page's elements, the document first; ``number`` selects a random split.

    :raises ScenarioError: the split is unknown.
    """
    if split == LOGNORMAL:
        return _lognormal(name, number)
    return named(NAMED_SPLITS, split, what="split")(name)


def page_of(name: str, sizes: Sequence[int]) -> Page:
    """Return the page of these elements, its links spread over the first part of the document."""
    plain = sized(f"kruse-{name}", *sizes, source="Kruse 2001, Table 1; sizes of single elements are ours")
    base, *rest = plain.objects
    within = min(_LINKS_WITHIN, sizes[0])
    links = (
        replace(part, found_at=max(1, within * index // len(sizes))) for index, part in enumerate(rest, start=1)
    )
    return plain.with_objects((base, *links))

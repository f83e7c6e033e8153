"""Sizes of a page's elements, of which the paper prints count and sum only (Table 1).

Several laws, so that what depends on them is seen. The order of a list is that of the links.
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
#: The pages, as the paper's tables and figures have them.
PAGES: Final = ("lerc", "acts", "oufr", "test")
#: The split that is drawn at random, anew for each number.
LOGNORMAL: Final = "lognormal"
# Sizes of Web files below the tail: log-normal with this deviation (Barford and Crovella 1998, Table 1).
_LOGNORMAL_DEVIATION: Final = 1.318
# The largest element over the smallest, in the geometric split; ours.
_GEOMETRIC_SPAN: Final = 10.0
# No element is smaller than the smallest GIF of use; ours.
_LEAST_BYTES: Final = 64
# Figure 7: the GETs of elements 2 to 4 leave together, as soon as the first segment of the document has come. All
# links stand in this much of it therefore (Figure 6: "all GET requests were issued while the first element was
# being received").
_LINKS_WITHIN: Final = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedPage:
    """A row of Tables 1 and 2."""

    elements: int
    bytes: int
    #: Of the HTTP/1.1 transfers, those that bit errors hit.
    corrupted_percent: float

    @property
    def corrupted(self) -> float:
        """Their share."""
        return self.corrupted_percent / 100


@cache
def published_pages() -> Mapping[str, PublishedPage]:
    """Tables 1 and 2, by the names of :data:`PAGES`; 1 KB is 1024 bytes there."""
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
    """Whole bytes in these proportions; the largest takes what rounding leaves."""
    spare = total - _LEAST_BYTES * len(weights)
    sizes = [_LEAST_BYTES + int(spare * weight / sum(weights)) for weight in weights]
    sizes[sizes.index(max(sizes))] += total - sum(sizes)
    return tuple(sizes)


def _lognormal(name: str, number: int) -> tuple[int, ...]:
    known = published_pages()[name]
    law = random.Random(f"{name} {number}")  # noqa: S311 -- no secret
    return _as_bytes([law.lognormvariate(0, _LOGNORMAL_DEVIATION) for _ in range(known.elements)], known.bytes)


def _geometric(name: str) -> tuple[int, ...]:
    """Return each element a fixed part of the one before, the document the largest."""
    known = published_pages()[name]
    ratio = _GEOMETRIC_SPAN ** (-1 / (known.elements - 1))
    return _as_bytes([ratio**number for number in range(known.elements)], known.bytes)


def _of_pages(split: str) -> Callable[[str], tuple[int, ...]]:
    return lambda name: tuple(size * _KIB for size in KRUSE_SPLITS[split][name])


#: The splits that are no matter of chance; three of :data:`~reference_sim.pages.KRUSE_SPLITS` among them.
NAMED_SPLITS: Final[Mapping[str, Callable[[str], tuple[int, ...]]]] = {
    "equal": _of_pages("equal"),
    "geometric": _geometric,
    "documented": _of_pages("documented"),
    "one-large": _of_pages("one-large"),
}


def sizes_of(name: str, split: str, number: int) -> tuple[int, ...]:
    """Return bytes of a page's elements, the document first. ``number`` is of what is drawn at random only.

    :raises ScenarioError: there is no such split.
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

"""Prediction of the next page: readers that follow links, and a predictor that learns from them (section 7.2.2).

A reader moves from page to page of a site by links with Zipf-like popularity, and reads each page for a
while. The predictor is the simplest form of Padmanabhan and Mogul's (1996). During each page it prefetches
the page that most often followed so far.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Prediction", "Reader", "predicted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """Reader of a site. All figures are assumed; the claim is a ratio that depends on none of them."""

    pages: int = 50
    links: int = 5
    #: Zipf exponent of a page's links: at 1, the first link attracts 44 % of the readers.
    exponent: float = 1.0
    clicks: int = 2000
    #: Mean reading time of a page; exponential distribution.
    reading_s: float = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """Success of the prediction."""

    #: Share of clicks on the predicted page.
    hit_ratio: float
    #: Share of the waiting time saved: all of it for a complete prefetch, part of it for a prefetch in
    #: progress.
    spared: float


def predicted(reader: Reader, *, page_s: float, prefetch_s: float, seed: int) -> Prediction:
    """Return the result of a reader with a predictor; a page takes ``page_s``, a prefetch ``prefetch_s``."""
    hits = spared = 0.0
    followed: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for page, following, reading_s in _clicks(reader, seed=seed):
        if [guess for guess, _count in followed[page].most_common(1)] == [following]:
            hits += 1
            spared += 1 - min(max(prefetch_s - reading_s, 0.0), page_s) / page_s
        followed[page][following] += 1
    return Prediction(hit_ratio=hits / reader.clicks, spared=spared / reader.clicks)


#: A page, its successor, and the seconds between.
_Click = tuple[int, int, float]


def _clicks(reader: Reader, *, seed: int) -> Iterator[_Click]:
    random = Random(seed)  # noqa: S311 -- a model, no secret
    links = [random.sample(range(reader.pages), reader.links) for _ in range(reader.pages)]
    weights: Final = [rank**-reader.exponent for rank in range(1, reader.links + 1)]
    page = 0
    for _ in range(reader.clicks):
        (following,) = random.choices(links[page], weights)
        yield page, following, random.expovariate(1 / reader.reading_s)
        page = following

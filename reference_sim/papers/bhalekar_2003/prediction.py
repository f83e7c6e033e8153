"""Which page comes next: readers who follow links, and a predictor that learns from them (section 7.2.2).

A reader goes from page to page of a site by one of its links, each with a Zipf-like popularity, and reads for
a while. The predictor is Padmanabhan and Mogul's (1996) at its simplest: after each page the one that most
often followed it so far is fetched while the reader reads.
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
    """Somebody who reads on a site. All figures are assumed; the claim is a ratio that depends on none."""

    pages: int = 50
    links: int = 5
    #: Of a page's links: the first one gets 44 % of the readers of the page at 1.
    exponent: float = 1.0
    clicks: int = 2000
    #: Mean of the time that a page is read, exponential.
    reading_s: float = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """How well it went."""

    #: Of all clicks, those on the page that was predicted.
    hit_ratio: float
    #: Of all waiting for pages, what was spared: all of it for a hit that had come, a part for one on its way.
    spared: float


def predicted(reader: Reader, *, page_s: float, prefetch_s: float, seed: int) -> Prediction:
    """Return a reader with a predictor, where a page takes ``page_s``, and a prefetched one ``prefetch_s``."""
    hits = spared = 0.0
    followed: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for page, following, reading_s in _clicks(reader, seed=seed):
        if [guess for guess, _count in followed[page].most_common(1)] == [following]:
            hits += 1
            spared += 1 - min(max(prefetch_s - reading_s, 0.0), page_s) / page_s
        followed[page][following] += 1
    return Prediction(hit_ratio=hits / reader.clicks, spared=spared / reader.clicks)


#: A page, the one that comes after it, and the seconds between.
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

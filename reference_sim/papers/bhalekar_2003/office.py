"""Users of one satellite terminal and their requests: a seeded model of section 5.5's office.

A user requests either one of the office's common documents or one of the user's own documents, with Zipf-like
popularity (section 5.4.2). The user's browser cache, the cumulative cache in front of the terminal, or the
server responds. A cached copy is shown at once and validated in the background (section 5.3). Freshness thus
costs satellite bytes but no time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import inf
from random import Random
from typing import Final

__all__ = ["Office", "Request", "Tally", "day", "tallied", "zipf_exponent"]

# Steeper than any distribution of requests; the search halves the interval to full precision.
_STEEPEST: Final = 4.0
_HALVINGS: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Office:
    """Office for a day; its cache is then flushed ("every 24 hours", 5.3)."""

    #: "10, which is a very realistic figure" (5.5).
    users: int = 10
    #: Requests per user and day: assumed. Only the ratio to the documents matters.
    requests: int = 100
    #: "The probability of requesting a cumulative resource is 0.7" (5.5).
    common_share: float = 0.7
    #: Documents per user, common and own documents in the shares of their requests. This number makes a
    #: browser's own cache save 40 %, as the paper presumes (5.5): the premise of its 79 %.
    documents: int = 200
    #: "Realistic figures for a Zipf-like distribution for web requests are 70/30" (5.4.2): 30 % of the
    #: documents attract 70 % of the requests.
    popular_share: float = 0.3
    share_of_popular: float = 0.7
    #: Mean hours between two changes of a document. With this value, 13 % of repeated requests find a
    #: modified document, as the paper's reference [32] measured (Douglis et al. 1997, abstract).
    change_hours: float = 9.5
    #: Capacity of the cumulative cache with LRU replacement; None: unlimited ("benefits [...] are directly
    #: proportional to the cache size", 5.6).
    capacity: int | None = None
    #: "It begins to refill the moment people start browsing in the morning" (5.3): hours of a working day.
    hours: float = 8.0


@dataclass(frozen=True, slots=True)
class Request:
    """Request, with the current version of its document."""

    user: int
    document: Hashable
    version: int
    #: Working time since the start.
    hour: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Sources of a day's responses."""

    requests: int
    #: From the user's own browser cache.
    own: int
    #: From the cumulative cache, after another user's request.
    cumulative: int
    #: Subset of both: responses with an outdated copy.
    stale: int

    @property
    def own_share(self) -> float:
        """Share of requests that the browser's cache answers."""
        return self.own / self.requests

    @property
    def hit_share(self) -> float:
        """Share of requests that either cache answers."""
        return (self.own + self.cumulative) / self.requests

    @property
    def stale_share(self) -> float:
        """Share of cache responses that are outdated."""
        return self.stale / (self.own + self.cumulative)

    @property
    def crossing_share(self) -> float:
        """Share of pages that cross the satellite: misses, and copies that validation finds modified."""
        return (self.requests - self.own - self.cumulative + self.stale) / self.requests

    @property
    def delta_eligible_share(self) -> float:
        """Share of 200 responses whose resource was previously received in another version."""
        whole = self.requests - self.own - self.cumulative
        return self.stale / (whole + self.stale)


def day(office: Office, *, seed: int) -> Iterator[Request]:
    """Yield the requests of a day in order."""
    random = Random(seed)  # noqa: S311 -- a model, no secret
    common = max(1, round(office.documents * office.common_share))
    own = max(1, office.documents - common)
    shares = office.popular_share, office.share_of_popular
    weights = {count: _popularity(count, zipf_exponent(count, *shares)) for count in {common, own}}
    changes: dict[Hashable, list[float]] = {}
    arrivals = sorted(
        (random.uniform(0, office.hours), user) for user in range(office.users) for _ in range(office.requests)
    )
    for time, user in arrivals:
        is_common = random.random() < office.common_share
        count = common if is_common else own
        (number,) = random.choices(range(count), cum_weights=weights[count])
        document: Hashable = number if is_common else (user, number)
        if document not in changes:
            changes[document] = list(_change_times(random, office))
        yield Request(user, document, sum(changed <= time for changed in changes[document]), time)


def tallied(
    requests: Sequence[Request],
    *,
    capacity: int | None = None,
    is_cumulative: bool = True,
    flush_hours: float = inf,
) -> Tally:
    """Return the sources of the responses; without the cumulative cache, each browser miss is a miss.

    The cumulative cache is flushed at each multiple of ``flush_hours``.
    """
    browsers: dict[tuple[int, Hashable], int] = {}
    cache: OrderedDict[Hashable, int] = OrderedDict()
    own = cumulative = stale = 0
    flushes = 0.0
    for request in requests:
        if request.hour // flush_hours > flushes:
            flushes = request.hour // flush_hours
            cache.clear()
        key = (request.user, request.document)
        held = browsers.get(key)
        if held is not None:
            own += 1
        elif is_cumulative and request.document in cache:
            cumulative += 1
            held = cache[request.document]
        stale += held is not None and held != request.version
        browsers[key] = request.version
        if is_cumulative:
            cache[request.document] = request.version
            cache.move_to_end(request.document)
            if capacity is not None and len(cache) > capacity:
                cache.popitem(last=False)
    return Tally(requests=len(requests), own=own, cumulative=cumulative, stale=stale)


@cache
def zipf_exponent(count: int, popular_share: float, share_of_popular: float) -> float:
    """Return the Zipf exponent at which the most popular documents attract this share of requests."""
    popular = max(1, round(count * popular_share))
    low, high = 0.0, _STEEPEST
    for _ in range(_HALVINGS):
        exponent = (low + high) / 2
        weights = _popularity(count, exponent)
        low, high = (exponent, high) if weights[popular - 1] / weights[-1] < share_of_popular else (low, exponent)
    return low


def _popularity(count: int, exponent: float) -> list[float]:
    """Return cumulative weights of the ranks 1 to ``count``."""
    return list(accumulate(rank**-exponent for rank in range(1, count + 1)))


def _change_times(random: Random, office: Office) -> Iterator[float]:
    time = random.expovariate(1 / office.change_hours)
    while time < office.hours:
        yield time
        time += random.expovariate(1 / office.change_hours)

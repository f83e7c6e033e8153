"""B11 and B12: priority of a reader's requests over prefetching, and prefetched deltas (7.2.2)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Final

from reference_sim.http2 import Http2, WriteOrder
from reference_sim.page_versions import precreated_delta
from reference_sim.pages import page as page_named
from reference_sim.papers.bhalekar_2003.prediction import Reader, predicted
from reference_sim.papers.bhalekar_2003.saved_bytes import bytes_and_times
from reference_sim.papers.bhalekar_2003.scenarios import Access, repeated, retrieved, seconds
from reference_sim.plan import Bytes, Complete, Fetch, HttpVersion, Plan
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.strategies import named_strategy
from reference_sim.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reference_sim.page import Object, Page
    from reference_sim.simulation import Simulation

__all__ = ["PREFETCHED_DELTAS", "PRIORITY"]

_MORE: Final = (1.0, inf)
#: The current page, the prefetched page, and the page that the reader requests instead.
_READ: Final = page_named("bhalekar-5-medium")
_AHEAD: Final = page_named("bhalekar-10-large")
_ASKED: Final = page_named("bhalekar-10-medium")
#: Urgency by RFC 9218, section 4.1: from 0 (most urgent) to 7.
_OF_READER: Final = "priority: u=1"
_IN_ADVANCE: Final = "priority: u=7"
#: The reader sends the request when the first object after the prefetched document arrives.
_BYTES_AHEAD: Final = 1000
_ALL: Final = 1000
_WINDOW: Final = 1 << 30

_NOTHING_AHEAD: Final = "nothing in advance"
#: Write order of the server.
_ORDERS: Final = {
    "first come, first served": WriteOrder.SEQUENTIAL,
    "in turn": WriteOrder.ROUND_ROBIN,
    "the reader's requests first": WriteOrder.PRIORITY,
}
_FIRST: Final = "the reader's requests first"
#: Maximum delay of the requested page by the prefetching.
_STILL: Final = 0.2


def _placed(page: Page, *, under: str, at: int, field: str) -> Iterator[Object]:
    """Yield the objects of a page, renumbered from this number on."""
    for number, part in enumerate(page.objects):
        yield replace(
            part,
            target=f"{under}{part.target}",
            found_in=at + part.found_in if number else 0,
            request_fields=(*part.request_fields, field),
        )


_AHEAD_AT: Final = len(_READ.objects)
_ASKED_AT: Final = _AHEAD_AT + len(_AHEAD.objects)
_ALL_PAGES: Final = _READ.with_objects(
    (
        *_READ.objects,
        *_placed(_AHEAD, under="/ahead", at=_AHEAD_AT, field=_IN_ADVANCE),
        *_placed(_ASKED, under="/asked", at=_ASKED_AT, field=_OF_READER),
    ),
    name="read-ahead-asked",
)


def _fetches(first: int, count: int, number: int, after: Complete | Bytes) -> Iterator[Fetch]:
    """Yield a document (object ``first``, fetch ``number``) followed by its objects."""
    yield Fetch(objects=(first,), after=after)
    for index in range(first + 1, first + count):
        yield Fetch(objects=(index,), after=Complete(fetch=number))


def _with_ahead(page: Page) -> Plan:
    """Return the current page, then the prefetched page; during that, the reader requests another page."""
    del page
    read = _AHEAD_AT
    fetches = (
        Fetch(objects=(0,)),
        *(Fetch(objects=(index,), after=Complete(fetch=0)) for index in range(1, read)),
        *_fetches(read, len(_AHEAD.objects), read, Complete(fetch=read - 1)),
        *_fetches(_ASKED_AT, len(_ASKED.objects), _ASKED_AT, Bytes(fetch=read + 1, bytes=_BYTES_AHEAD)),
    )
    return Plan(persistent=True, pipelining=_ALL, fetches=fetches)


def _without_ahead(page: Page) -> Plan:
    """Return the current page, and the page that the reader requests."""
    del page
    read = _AHEAD_AT
    fetches = (
        Fetch(objects=(0,)),
        *(Fetch(objects=(index,), after=Complete(fetch=0)) for index in range(1, read)),
        *_fetches(_ASKED_AT, len(_ASKED.objects), read, Complete(fetch=read - 1)),
    )
    return Plan(persistent=True, pipelining=_ALL, fetches=fetches)


def _asked(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds of the requested page, and of the prefetched page, if any."""
    rows = simulation.truth.transactions
    made = {}
    for name in ("asked", "ahead"):
        own = rows.filter(rows["target"].str.starts_with(f"/{name}"))
        if own.height:
            ends = own["response_last_received"].sort().tail(1) - own["request_first_sent"].sort().head(1)
            (made[name],) = seconds(ends)
    return made


def _priority_runs(effort: Effort) -> Iterable[Run]:
    for name, order in {_NOTHING_AHEAD: WriteOrder.PRIORITY, **_ORDERS}.items():
        strategy = Strategy(
            name=f"prefetch, {name}",
            about="A page, a prefetched one, and the requested one, as streams of one connection",
            source="Bhalekar 2003, section 7.2.2; RFC 9218",
            version=HttpVersion.HTTP11,
            persistent=True,
            http2=Http2(stream_window=_WINDOW, connection_window=_WINDOW, order=order),
            plan=_without_ahead if name == _NOTHING_AHEAD else _with_ahead,
        )
        yield from repeated(effort, name, retrieved(strategy, _ALL_PAGES, access=Access.END_TO_END), _asked)


def _judge_priority(results: Results) -> Judgement:
    comparisons = [
        _ordered(
            f"time of the requested page: {name}, over {_FIRST}",
            results.value(name, "asked") / results.value(_FIRST, "asked"),
        )
        for name in _ORDERS
        if name != _FIRST
    ]
    comparisons.append(
        Comparison(
            what="time of the prefetched page with such priority over that without",
            unit="ratio",
            published=1.0,
            ours=Mean(results.value(_FIRST, "ahead") / results.value("in turn", "ahead")),
            tolerance=_STILL,
            shape_tolerance=2 * _STILL,
            neutral=0.0,
        )
    )
    delays = [results.value(name, "asked") - results.value(_NOTHING_AHEAD, "asked") for name in _ORDERS]
    remarks = _PRIORITY_REMARKS.format(*delays)
    return judged(comparisons, remarks=remarks)


_PRIORITY_REMARKS: Final = (
    "HTTP/2 with the priority field of RFC 9218 distinguishes both kinds of requests; the thesis has no"
    " figures and no protocol. The prefetch of a 505 kB page is in progress when the reader requests another"
    " page. Compared with no prefetch, that page takes {:.1f} s (first come, first served), {:.1f} s (in turn)"
    " and {:.1f} s (the reader's first) longer. The data in TCP's send buffer always leaves first."
)


def _ordered(what: str, ours: float) -> Comparison:
    """Return the comparison of a ratio that must exceed one."""
    return Comparison(
        what=what, unit="ratio", published=_MORE, ours=Mean(ours), tolerance=0.0, shape_tolerance=0.0
    )


_PAGE: Final = "espn"
_PLAIN: Final = "http11-pipelined"
_WHOLE: Final = "prefetch"
_DELTAS: Final = "prefetch, deltas"
_SEEDS: Final = 5
#: Mean reading times (exponential), for which some readers leave a page before a whole page is prefetched.
_READING_S: Final = 5.0
#: "An almost 100 % reduction in the user's perceived latency, depending on the hit-ratio".
_NEARLY: Final = 0.1


def _deltas_ahead(page: Page) -> tuple[Page, ...]:
    """Return the page, the prefetched deltas of the next page (which the reader had before), and the next page."""
    both, requested = named_strategy(_WHOLE).revisit(page)
    count = len(page.objects)
    deltas = precreated_delta(page)[-1].objects
    ahead = (
        replace(delta, target=whole.target, found_in=whole.found_in)
        for delta, whole in zip(deltas, both.objects[count:], strict=True)
    )
    return both.with_objects((*page.objects, *ahead), name=f"{page.name}-and-deltas"), requested


_STRATEGIES: Final[Mapping[str, Strategy]] = {
    _PLAIN: named_strategy(_PLAIN),
    _WHOLE: named_strategy(_WHOLE),
    _DELTAS: replace(named_strategy(_WHOLE), name=_DELTAS, revisit=_deltas_ahead),
}


def _delta_runs(effort: Effort) -> Iterable[Run]:
    for name, strategy in _STRATEGIES.items():
        scenario = retrieved(strategy, _PAGE, access=Access.END_TO_END)
        yield from repeated(effort, name, scenario, bytes_and_times)


def _spared(results: Results, name: str) -> float:
    """Return the saved share of the latency that hits of the prediction could save."""
    page_s = results.value(_PLAIN, "first_s")
    predictions = [
        predicted(
            Reader(reading_s=_READING_S),
            page_s=page_s,
            prefetch_s=results.value(name, "prefetch_s"),
            seed=seed,
        )
        for seed in range(1, _SEEDS + 1)
    ]
    return fmean(one.spared / one.hit_ratio for one in predictions)


def _judge_deltas(results: Results) -> Judgement:
    page_bytes = results.value(_PLAIN, "first_bytes")
    whole, deltas = (results.value(name, "first_bytes") - page_bytes for name in (_WHOLE, _DELTAS))
    return judged(
        [
            _ordered("prefetched bytes, complete over deltas", whole / deltas),
            _ordered(
                "time until the next page is prefetched, complete over deltas",
                results.value(_WHOLE, "prefetch_s") / results.value(_DELTAS, "prefetch_s"),
            ),
            _ordered(
                "latency saved at short reading times, deltas over complete pages",
                _spared(results, _DELTAS) / _spared(results, _WHOLE),
            ),
            Comparison(
                what="latency saved over the hit ratio, deltas",
                unit="share",
                published=1.0,
                ours=Mean(_spared(results, _DELTAS)),
                tolerance=_NEARLY,
                shape_tolerance=0.5,
                neutral=0.0,
            ),
        ],
        remarks=f"A quarter of the page's 51 objects changed. Readers stay {_READING_S:g} s on a page on"
        " average (assumed), at times for less than the prefetch takes.",
    )


#: Section 7.2.2, the last paragraph but one.
PRIORITY: Final = Experiment(claim="B11", runs=_priority_runs, judge=_judge_priority)
#: Section 7.2.2, both schemes combined.
PREFETCHED_DELTAS: Final = Experiment(claim="B12", runs=_delta_runs, judge=_judge_deltas)

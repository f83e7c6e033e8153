"""Statements outside the tables: segments of a transaction, larger windows, requests without waiting.

Section 2.4 counts the segments of the smallest transaction (G12), and warns of larger windows (G13). Table
4.5 shows that the thesis's pipelining waits for each response; G14 sends requests without waiting. Chapter 5
proposes GETWEB, one command for all uncached files of a document (G15).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.page import Page, expected, objects_of
from reference_sim.page_versions import conditional_get
from reference_sim.pages import page as page_named
from reference_sim.papers.gurkan_1998.cells import measured
from reference_sim.plan import Fetch, HttpVersion, Plan
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.readings import durations
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record
from reference_sim.strategy import Discovery, Strategy
from reference_sim.workloads import retrieval, thesis

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.simulation import Simulation

__all__ = ["EXPERIMENTS"]

_S: Final = 10**9
#: Section 2.4: three segments for the handshake, four for request and response, three for the close.
_SEGMENTS: Final = {"handshake": 3, "exchange": 4, "close": 3}
_TRANSACTION: Final = "one transaction"
_SMALL: Final = Page(name="one-segment", objects=objects_of(500))
_DURATION: Final = 100 * _S
_QUICK_SEEDS: Final = 2
#: Strategies, and numbers of web and FTP clients: an idle link and a saturated link.
_STRATEGIES: Final = ("http10-serial", "http10-parallel", "thesis-pipelined")
_LOADS: Final = ((16, 0), (16, 2))
#: Tables 4.9 and 4.10 end at an initial window of three segments; the largest window is fourteen.
_WINDOWS: Final = (1, 2, 3, 4, 6, 10)
_PIPELINING_LOADS: Final = ((8, 0), (8, 2), (32, 0), (32, 2))
_WAITING: Final = "thesis-pipelined"
_TRUE: Final = "http11-pipelined"
#: Random error of three short runs.
_CHANCE: Final = 0.03


def _segments(simulation: Simulation) -> Mapping[str, float]:
    """Return the number of packets of a transaction, from the SYN to the last ACK."""
    import polars as pl

    packets = simulation.truth.packets
    opening = packets.filter(pl.col("sent") < packets.filter(pl.col("payload_bytes") > 0)["sent"].min())
    return {"all": float(packets.height), "handshake": float(opening.height)}


def _one_transaction(_: Effort) -> Iterator[Run]:
    made = retrieval(
        strategy="http10-serial", page=_SMALL, network="wan", client_stack="bsd-4.4", record=Record(packets=True)
    )
    yield Run(label=_TRANSACTION, scenario=made, measure=_segments)


def _judge_transaction(results: Results) -> Judgement:
    return judged(
        [
            Comparison(
                what="segments of a transaction with a single-segment request and response",
                unit="segments",
                published=float(sum(_SEGMENTS.values())),
                ours=results.mean(_TRANSACTION, "all"),
                tolerance=0.0,
                # A FIN with the last data, or an ACK with the response, saves a segment each.
                shape_tolerance=0.3,
                # A lower bound on a count, not an order of two figures: only zero would be no effect.
                neutral=0.0,
            )
        ],
        remarks='"At least 10 segments" counts each function of a segment separately. The response carries the'
        " ACK of the request, and the FIN may be in it (4.4BSD's TCP), so that there are fewer.",
    )


def _label(strategy: str, webs: int, ftps: int, window: int = 1) -> str:
    return f"gurkan beyond, {strategy} {webs}/{ftps} IW {window}"


def _run(strategy: str, webs: int, ftps: int, window: int, seed: int) -> Run:
    scenario = thesis(
        strategy=strategy,
        web_clients=webs,
        ftp_clients=ftps,
        initial_window=window,
        seed=seed,
        duration=_DURATION,
    )
    return Run(label=_label(strategy, webs, ftps, window), scenario=scenario, measure=measured)


def _seeds(effort: Effort) -> range:
    return range(1, 1 + (_QUICK_SEEDS if effort.quick else effort.seeds))


def _windows(effort: Effort) -> Iterator[Run]:
    for strategy in _STRATEGIES:
        for webs, ftps in _LOADS:
            for window in _WINDOWS:
                yield from (_run(strategy, webs, ftps, window, seed) for seed in _seeds(effort))


def _judge_windows(results: Results) -> Judgement:
    comparisons = []
    for strategy in _STRATEGIES:
        for webs, ftps in _LOADS:

            def of(window: int, name: str, at: tuple[str, int, int] = (strategy, webs, ftps)) -> float:
                return results.value(_label(*at, window), name)

            where = f"{strategy}, {webs} web, {ftps} FTP clients"
            comparisons.append(
                Comparison(
                    what=f"rate ratio of windows of 10 and 4, {where}",
                    unit="ratio",
                    published=(0.0, 1.0),
                    ours=Mean(of(10, "rate") / of(4, "rate")),
                    tolerance=0.0,
                    shape_tolerance=_CHANCE,
                )
            )
            comparisons.append(
                Comparison(
                    what=f"additional drops with a window of 10 over 3, {where}",
                    unit="percent",
                    published=(0.0, inf),
                    ours=Mean(of(10, "drops") - of(3, "drops")),
                    tolerance=0.0,
                    shape_tolerance=0.0,
                    absolute=True,
                )
            )
    return judged(
        comparisons,
        remarks="With all strategies, a larger window increases the drops. But the rate falls only if many"
        " connections start at once (parallel). Serial and persistent connections have at most one window each"
        " in the queue of 25 packets, and gain slightly up to the largest window of 14.",
    )


def _pipelining(effort: Effort) -> Iterator[Run]:
    for strategy in (_WAITING, _TRUE):
        for webs, ftps in _PIPELINING_LOADS:
            yield from (_run(strategy, webs, ftps, 1, seed) for seed in _seeds(effort))


def _judge_pipelining(results: Results) -> Judgement:
    return judged(
        [
            Comparison(
                what=f"rate with true pipelining over one request outstanding, {webs} web, {ftps} FTP clients",
                unit="ratio",
                published=(1.0, inf),
                ours=Mean(
                    results.value(_label(_TRUE, webs, ftps), "rate")
                    / results.value(_label(_WAITING, webs, ftps), "rate")
                ),
                tolerance=0.0,
                shape_tolerance=_CHANCE,
            )
            for webs, ftps in _PIPELINING_LOADS
        ],
        remarks="On a full link, single runs differ by more than the gain: a single seed can have the opposite"
        " sign.",
    )


#: "A primary and three inline files"; the first two inline files are cached.
_DOCUMENT: Final = page_named("golden")
_CACHED: Final = (1, 2)
_PATHS: Final = ("thesis", "wan", "satellite")


def _getweb(left_out: tuple[int, ...], page: Page) -> Plan:
    """Return one command for the files of a document, without the cached files."""
    wanted = tuple(index for index in range(len(page.objects)) if index not in left_out)
    return Plan(persistent=True, closes_with_last=True, fetches=(Fetch(objects=wanted),))


def _naming_cached(page: Page) -> tuple[Page, ...]:
    """Return the document with a request that lists the cached files; the thesis does not define the form."""
    base, *inlines = page.objects
    names = ", ".join(page.objects[index].target for index in _CACHED)
    requested = replace(base, request_fields=(*base.request_fields, f"Pragma: getweb; cached={names}"))
    return (page.with_objects((requested, *inlines)),)


def _some_cached(page: Page) -> tuple[Page, ...]:
    """Return the document with 304 for the cached files."""
    unchanged = conditional_get(page)[-1].objects
    parts = (unchanged[index] if index in _CACHED else part for index, part in enumerate(page.objects))
    return (page.with_objects(tuple(parts)),)


_GETWEB: Final = Strategy(
    name="getweb",
    about="One command for all files of a document",
    source="Gürkan 1998, chapter 5",
    version=HttpVersion.HTTP11,
    persistent=True,
    plan=partial(_getweb, ()),
)
_DOCUMENTS: Final = {
    "GETWEB, all files": _GETWEB,
    "GETWEB, uncached files": replace(
        _GETWEB, name="getweb-cached", plan=partial(_getweb, _CACHED), revisit=_naming_cached
    ),
    "pipelined conditional requests": Strategy(
        name="conditional",
        about="One request per file, conditional for cached files",
        source="RFC 2068, section 14.24",
        version=HttpVersion.HTTP11,
        persistent=True,
        pipelining=len(_DOCUMENT.objects),
        closes_with_last=True,
        discovery=Discovery.STREAMING,
        revisit=_some_cached,
    ),
}
_ALL_FILES, _NOT_CACHED, _CONDITIONAL = _DOCUMENTS


def _document(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds, requests and body bytes of a document."""
    rows = simulation.truth.transactions
    (seconds,) = durations(simulation.truth)
    return {"seconds": seconds, "requests": float(rows.height), "bytes": float(rows["response_body_bytes"].sum())}


def _documents(_: Effort) -> Iterator[Run]:
    for way, strategy in _DOCUMENTS.items():
        for where in _PATHS:
            made = retrieval(strategy=strategy, page=_DOCUMENT, network=where, client_stack="tahoe-ns")
            yield Run(label=f"{way}, {where}", scenario=made, measure=_document)


def _judge_getweb(results: Results) -> Judgement:
    sizes = [round(expected(part.size)) for part in _DOCUMENT.objects]
    wanted = sum(size for index, size in enumerate(sizes) if index not in _CACHED)
    comparisons = []
    for where in _PATHS:

        def of(way: str, name: str, where: str = where) -> float:
            return results.value(f"{way}, {where}", name)

        comparisons += [
            Comparison(
                what=f"bytes of uncached files over those that GETWEB transfers, {where}",
                unit="ratio",
                published=1.0,
                ours=Mean(wanted / of(_NOT_CACHED, "bytes")),
                # "The list of files and their lengths": about 90 bytes per file.
                tolerance=0.03,
                shape_tolerance=0.1,
            ),
            *(
                Comparison(
                    what=f"time of {slower} over that of {_NOT_CACHED}, {where}",
                    unit="ratio",
                    published=(1.0, inf),
                    ours=Mean(of(slower, "seconds") / of(_NOT_CACHED, "seconds")),
                    tolerance=0.0,
                    shape_tolerance=0.0,
                )
                for slower in (_ALL_FILES, _CONDITIONAL)
            ),
        ]
    return judged(
        comparisons,
        remarks='The thesis does not define how the command identifies cached files ("some more research"):'
        " here its request names the files. The primary file has changed; two of three inline files are"
        " cached.",
    )


EXPERIMENTS: Final = (
    Experiment(claim="G12", runs=_one_transaction, judge=_judge_transaction),
    Experiment(claim="G13", studies=frozenset({"initial_window"}), runs=_windows, judge=_judge_windows),
    Experiment(claim="G14", runs=_pipelining, judge=_judge_pipelining),
    Experiment(claim="G15", runs=_documents, judge=_judge_getweb),
)

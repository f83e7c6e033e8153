"""Table 2 and Figure 9: the share of HTTP/1.1 transfers with bit errors, and their cost."""

from __future__ import annotations

from itertools import pairwise
from math import exp, inf, sqrt
from typing import TYPE_CHECKING, Final

from reference_sim.networks import lossy
from reference_sim.networks import network as network_named
from reference_sim.papers.kruse_2001.satellite import PIPELINED, page_seconds, retrieved
from reference_sim.papers.kruse_2001.splits import PAGES, published_pages
from reference_sim.reproduction.drawing import bars
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run, mean
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.topology import BitErrors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.simulation import Simulation
    from reference_sim.topology import Network

__all__ = ["BIT_ERRORS", "bit_error_rate", "hit", "runs"]

_DOWNLINK: Final = "router-2-router-1"
_SPLIT: Final = "documented"
_QUICK_TRANSFERS: Final = 200
_TRANSFERS_A_SEED: Final = 100
_BITS: Final = 8
# A segment of 1448 bytes is an IP packet of 1500 bytes.
_WITH_HEADERS: Final = 1500 / 1448
# "Approximately 48 minutes": number of retrievals of each of four pages, which take about 21 s together.
_PUBLISHED_TRANSFERS: Final = 130
# Two-sided, 95 %.
_NORMAL95: Final = 1.96
# "Fairly minimal": a tenth of the time, just visible in a bar of Figure 9.
_MINIMAL: Final = 0.1
_MINIMAL_SHAPE: Final = 0.2
# Bounds of the search for the rate, for every page.
_LEAST_RATE, _MOST_RATE = 1e-9, 1e-5
_HALVINGS: Final = 60


def bit_error_rate() -> float:
    """Return the maximum-likelihood bit error rate of Table 2's four shares, with equal transfers per page.

    The derivative of the likelihood, sum of bits * (share / (exp(rate * bits) - 1) - (1 - share)), falls as
    the rate grows; bisection finds its zero. Bits are those of the page in full segments.
    """
    low, high = _LEAST_RATE, _MOST_RATE
    pages = [(page.bytes * _WITH_HEADERS * _BITS, page.corrupted) for page in published_pages().values()]
    for _ in range(_HALVINGS):
        rate = (low + high) / 2
        slope = sum(bits * (share / (exp(rate * bits) - 1) - (1 - share)) for bits, share in pages)
        low, high = (rate, high) if slope > 0 else (low, rate)
    return (low + high) / 2


def hit(simulation: Simulation) -> Mapping[str, float]:
    """Return the page's duration, and the number of lost packets towards the client."""
    links = simulation.truth.links
    return {**page_seconds(simulation), "lost": float(links["drops"].sum())}


def _noisy() -> Network:
    return lossy(network_named("satellite"), BitErrors(rate=bit_error_rate()), link=_DOWNLINK)


def runs(effort: Effort) -> Iterator[Run]:
    """Yield each page many times, each time with different bit errors."""
    noisy = _noisy()
    for number in range(_QUICK_TRANSFERS if effort.quick else _TRANSFERS_A_SEED * effort.seeds):
        for name in PAGES:
            scenario = retrieved(name, PIPELINED, split=_SPLIT, number=number, over=noisy, seed=number + 1)
            yield Run(label=name, scenario=scenario, measure=hit)


def _hits(results: Results, name: str) -> list[bool]:
    return [lost > 0 for lost in results.of(name, "lost")]


def _shares(results: Results) -> Iterator[Comparison]:
    for name in PAGES:
        hits = _hits(results, name)
        published = published_pages()[name].corrupted
        error = sqrt(published * (1 - published) * (1 / _PUBLISHED_TRANSFERS + 1 / len(hits)))
        yield Comparison(
            what=f"{name}: transfers with bit errors",
            unit="%",
            published=published_pages()[name].corrupted_percent,
            ours=_share(hits),
            tolerance=100 * _NORMAL95 * error,
            shape_tolerance=200 * _NORMAL95 * error,
            absolute=True,
        )


def _share(hits: list[bool]) -> Mean:
    """Return percent with the interval of a proportion."""
    share = sum(hits) / len(hits)
    half = _NORMAL95 * sqrt(share * (1 - share) / len(hits))
    return Mean(100 * share, low=100 * (share - half), high=100 * (share + half))


def _order(results: Results) -> Iterator[Comparison]:
    order = ("oufr", "acts", "lerc", "test")
    for more, fewer in pairwise(order):
        yield Comparison(
            what=f"{more} has bit errors more often than {fewer}",
            unit="times",
            published=(1.0, inf),
            ours=Mean(sum(_hits(results, more)) / max(sum(_hits(results, fewer)), 1)),
            tolerance=0.0,
            shape_tolerance=_MINIMAL,
        )


def _excess(results: Results, name: str) -> Mean:
    """Return the excess of the mean of all transfers over the mean without errors."""
    clean = _clean(results, name)
    taken = mean(results.of(name, "seconds"))
    ends = [None if end is None else end / clean - 1 for end in (taken.low, taken.high)]
    return Mean(taken.value / clean - 1, low=ends[0], high=ends[1])


def _clean(results: Results, name: str) -> float:
    times = zip(results.of(name, "seconds"), _hits(results, name), strict=True)
    return mean(seconds for seconds, is_hit in times if not is_hit).value


def _effects(results: Results) -> Iterator[Comparison]:
    others = [name for name in PAGES if name != "oufr"]
    for name in others:
        yield Comparison(
            what=f"{name}: additional mean time with errors",
            unit="of the time",
            published=(0.0, _MINIMAL),
            ours=_excess(results, name),
            tolerance=0.0,
            shape_tolerance=_MINIMAL_SHAPE,
            absolute=True,
        )
    most = max(_excess(results, name).value for name in others)
    yield Comparison(
        what="oufr: additional mean time with errors, above every other page's",
        unit="of the time",
        published=(most, inf),
        ours=_excess(results, "oufr"),
        tolerance=0.0,
        shape_tolerance=_MINIMAL,
        absolute=True,
    )


def _judge(results: Results) -> Judgement:
    count = len(results.of("oufr", "lost"))
    return judged(
        [*_shares(results), *_order(results), *_effects(results)],
        remarks=f"One bit error rate for all pages, {bit_error_rate():.2e}, is fitted to the four shares of"
        f" Table 2 (maximum likelihood, if each page was transferred equally often). Each page has {count}"
        " transfers. The tolerance of a share is the sampling error at 95 % of ours and of about"
        f" {_PUBLISHED_TRANSFERS} transfers in 48 minutes.",
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    import altair as alt
    import polars as pl

    rows = [
        {"page": name, "transfers": which, "Seconds": value}
        for name in PAGES
        for which, value in (
            ("all", results.value(name, "seconds")),
            ("without bit errors", _clean(results, name)),
        )
    ]
    means = bars(rows, category="page", value="Seconds", group="transfers")
    every = [{"page": name, "seconds": seconds} for name in PAGES for seconds in results.of(name, "seconds")]
    distribution = (
        alt.Chart(pl.DataFrame(every))
        .transform_window(rank="cume_dist()", sort=[alt.SortField("seconds", order="ascending")], groupby=["page"])
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("seconds:Q", title="Seconds"),
            y=alt.Y("rank:Q", title="Share of transfers"),
            color=alt.Color("page:N", sort=list(PAGES), title=None),
        )
    )
    return {"Figure 9: impact of bit errors on HTTP/1.1 transfers": means, "Figure 9, all transfers": distribution}


BIT_ERRORS: Final = Experiment(claim="K7", runs=runs, judge=_judge, charts=_charts)

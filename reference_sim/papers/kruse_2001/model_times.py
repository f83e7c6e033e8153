"""Figures 10 to 13: the model of section 5 beside what pages took."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.models import page_time, pipelined_page_time
from reference_sim.papers.kruse_2001.page_times import SPLITS, runs, times
from reference_sim.papers.kruse_2001.satellite import ALONE_4K, FOUR, PIPELINED, PIPELINED_4K, SECOND, T1, Way
from reference_sim.papers.kruse_2001.splits import LOGNORMAL, PAGES, sizes_of
from reference_sim.reproduction.experiment import Experiment, Results, mean
from reference_sim.reproduction.verdict import Comparison, Judgement, judged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import altair as alt

    from reference_sim.reproduction.verdict import Mean

__all__ = ["FIGURES", "MODEL_TIMES", "modelled"]

#: Which figure shows which way.
FIGURES: Final = {"10": FOUR, "11": ALONE_4K, "12": PIPELINED, "13": PIPELINED_4K}
_HTTP10: Final = (FOUR, ALONE_4K)
_HTTP11: Final = (PIPELINED, PIPELINED_4K)
_ALIKE: Final = ("lerc", "acts", "oufr")

# The model counts segments of 1460 bytes and no heads, odd ACKs that come at once: 2 % are what these make.
_BOUND: Final = 0.02
_BOUND_SHAPE: Final = 0.1
# "Agrees reasonably well" with HTTP/1.0, "excellent" with HTTP/1.1; the paper prints no figure.
_REASONABLE: Final = 0.25
_REASONABLE_SHAPE: Final = 0.5
_EXCELLENT: Final = 0.1
_EXCELLENT_SHAPE: Final = 0.2


def modelled(sizes: Sequence[int], way: Way) -> float:
    """Seconds that the model has for a page of these elements.

    With several connections it is a lower bound: the others open with the first segment of the
    document (section 5.3.2: "one RTT to get the document, and a second RTT to open the additional
    three TCP connections"), and what the rest of the document takes beside them is left out.
    """
    if way.is_pipelined:
        return pipelined_page_time(sizes, path=T1, initial=way.initial, delayed_acks=True) / SECOND
    base, *rest = sizes
    first = min(base, T1.mss) if way.connections > 1 else base
    bound = page_time(
        (first, *rest),
        path=T1,
        initial=way.initial,
        delayed_acks=True,
        connections=way.connections,
        split_request=way.splits_request,
    )
    return bound / SECOND


def _over_model(results: Results, name: str, way: Way, split: str = LOGNORMAL) -> Mean:
    measured = times(results, name, way, split)
    return mean(took / modelled(sizes_of(name, split, number), way) for number, took in enumerate(measured))


def _bounds(results: Results) -> Iterator[Comparison]:
    for way in _HTTP10:
        for name in PAGES:
            over = _over_model(results, name, way)
            what = f"{name}, {way.title}: measured over model"
            yield Comparison(
                what=f"{what}, a lower bound",
                unit="times",
                published=(1.0, inf),
                ours=over,
                tolerance=_BOUND,
                shape_tolerance=_BOUND_SHAPE,
            )
            yield Comparison(
                what=f"{what}, agrees reasonably well",
                unit="times",
                published=1.0,
                ours=over,
                tolerance=_REASONABLE,
                shape_tolerance=_REASONABLE_SHAPE,
            )


def _agreements(results: Results) -> Iterator[Comparison]:
    for way in _HTTP11:
        for name in _ALIKE:
            yield Comparison(
                what=f"{name}, {way.title}: measured over model",
                unit="times",
                published=1.0,
                ours=_over_model(results, name, way),
                tolerance=_EXCELLENT,
                shape_tolerance=_EXCELLENT_SHAPE,
            )
    worst = max(_over_model(results, name, PIPELINED_4K).value for name in _ALIKE)
    off = _over_model(results, "test", PIPELINED_4K)
    yield Comparison(
        what=f"Test, {PIPELINED_4K.title}: measured over model, above every other page's",
        unit="times",
        published=(worst, inf),
        ours=off,
        tolerance=0.0,
        shape_tolerance=_BOUND,
    )


def _sensitivity(results: Results) -> str:
    return " ".join(
        f"{split}: "
        + "; ".join(
            f"{way.title} "
            + ", ".join(f"{name} {_over_model(results, name, way, split).value:.2f}" for name in PAGES)
            for way in FIGURES.values()
        )
        + "."
        for split in SPLITS
    )


def _judge(results: Results) -> Judgement:
    return judged(
        [*_bounds(results), *_agreements(results)],
        remarks="Measured over model, by split of the page's elements: "
        + _sensitivity(results)
        + " Test exceeds the model with the larger window where its document is one segment: the first flight,"
        " which the model fills, then carries nothing else. No effect of browser or server is needed for that."
        " Four connections beat the bound for some splits of Test, for its packing counts slow start anew for"
        " each element and so gives a connection one more than the others.",
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    import altair as alt
    import polars as pl

    drawn: dict[str, alt.TopLevelMixin] = {}
    for figure, way in FIGURES.items():
        base = alt.Chart(pl.DataFrame(list(_rows(results, way)))).encode(
            y=alt.Y("page:N", sort=list(PAGES), title=None),
            yOffset=alt.YOffset("what:N"),
            color=alt.Color("what:N", title=None),
        )
        means = base.mark_bar(opacity=0.5).encode(x=alt.X("mean(seconds):Q", title="Seconds"))
        each = base.mark_tick().encode(x="seconds:Q")
        drawn[f"Figure {figure}: model comparison, {way.title}"] = alt.layer(means, each)
    return drawn


def _rows(results: Results, way: Way) -> Iterator[dict[str, object]]:
    for name in PAGES:
        for number, took in enumerate(times(results, name, way)):
            yield {"page": name, "what": "simulated", "seconds": took}
            sizes = sizes_of(name, LOGNORMAL, number)
            yield {"page": name, "what": "model", "seconds": modelled(sizes, way)}


MODEL_TIMES: Final = Experiment(claim="K8", runs=runs, judge=_judge, charts=_charts)

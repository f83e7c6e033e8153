"""B9: a partial GET completes an aborted transfer without repeating received data (section 2.4)."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.page import expected
from reference_sim.page_versions import partial_get, twice
from reference_sim.pages import page as page_named
from reference_sim.plan import HttpVersion
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.readings import durations
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.strategy import Discovery, Strategy
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.simulation import Simulation

__all__ = ["PARTIAL_GET"]

_PAGE: Final = "kruse-lerc"
_NETWORK: Final = "satellite"
_ALL: Final = 100
_WHOLE: Final = "again, whole"
_RANGE: Final = "the rest alone"
_WAYS: Final = {_WHOLE: twice, _RANGE: partial_get}


def _second_visit(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds and body bytes of the second visit, and body bytes of both visits."""
    rows = simulation.truth.transactions
    again = rows.filter(rows["visit"] == 1)
    return {
        "seconds": durations(simulation.truth)[1],
        "bytes": float(again["response_body_bytes"].sum()),
        "of_both": float(rows["response_body_bytes"].sum()),
    }


def _runs(_: Effort) -> Iterator[Run]:
    for way, revisit in _WAYS.items():
        strategy = Strategy(
            name=f"bhalekar-{revisit.__name__}",
            about=f"HTTP/1.1 pipelined, an interrupted page: {way}",
            source="Bhalekar 2003, section 2.4",
            version=HttpVersion.HTTP11,
            persistent=True,
            pipelining=_ALL,
            discovery=Discovery.STREAMING,
            revisit=revisit,
        )
        made = retrieval(strategy=strategy, page=_PAGE, network=_NETWORK)
        yield Run(label=way, scenario=made, measure=_second_visit)


def _judge(results: Results) -> Judgement:
    page = sum(round(expected(part.size)) for part in page_named(_PAGE).objects)
    return judged(
        [
            Comparison(
                what="bytes of both visits over those of the page",
                unit="ratio",
                published=1.0,
                ours=Mean(results.value(_RANGE, "of_both") / page),
                tolerance=1e-9,
                shape_tolerance=0.05,
            ),
            Comparison(
                what="time of a second visit for all, over one for the rest",
                unit="ratio",
                published=(1.0, inf),
                ours=Mean(results.value(_WHOLE, "seconds") / results.value(_RANGE, "seconds")),
                tolerance=0.0,
                shape_tolerance=0.0,
            ),
        ],
        remarks="Assumed: the first visit was interrupted after half of each body. The thesis has no figures.",
    )


#: Section 2.4.
PARTIAL_GET: Final = Experiment(claim="B9", runs=_runs, judge=_judge)

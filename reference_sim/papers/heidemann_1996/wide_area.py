"""Section 2.2: over wide areas, the stalls of Apache's P-HTTP cost "substantially less" than on Ethernet (H7)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.networks import network
from reference_sim.papers.heidemann_1996.table_1 import APACHE, HTTP, retrieval_times
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.workloads import heidemann

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["H7"]

_RETRIEVALS: Final = 20
#: The paper's wide area (section 2.5), 1 Mb/s and 90 ms; and a modem.
_WIDE: Final = ("wan", "modem")
#: "Substantially less": at most half.
_HALF: Final = 0.5


def _label(strategy: str, where: str) -> str:
    return f"{strategy} over {where}"


def _runs(_: Effort) -> Iterator[Run]:
    for strategy in (HTTP, APACHE):
        made = heidemann(strategy=strategy, retrievals=_RETRIEVALS)
        for where in ("lan", *_WIDE):
            scenario = replace(made, network=network(where))
            yield Run(label=_label(strategy, where), scenario=scenario, measure=retrieval_times)


def _ratio(results: Results, where: str) -> float:
    """Return the ratio of P-HTTP's time to HTTP's time."""
    return results.value(_label(APACHE, where), "mean_ms") / results.value(_label(HTTP, where), "mean_ms")


def _judge(results: Results) -> Judgement:
    lan = _ratio(results, "lan")
    return judged(
        [
            Comparison(
                what=f"P-HTTP over HTTP on the {where}, over the same on Ethernet",
                unit="ratio",
                published=(0.0, _HALF),
                ours=Mean(_ratio(results, where) / lan),
                tolerance=0.0,
                shape_tolerance=1.0,
            )
            for where in _WIDE
        ],
        remarks="The paper states this without a measurement; the hosts, the page and the cost of a connection"
        " are those of Table 1.",
    )


H7: Final = Experiment(claim="H7", runs=_runs, judge=_judge)

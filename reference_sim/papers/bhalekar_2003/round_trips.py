"""B1: Figure 1.2, the round trips before the first data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.networks import path
from reference_sim.pages import sized
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, judged
from reference_sim.scenario import Record
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["ROUND_TRIPS", "round_trips_of", "two_files"]

_MS: Final = 10**6
_RTT_S: Final = 0.1
#: Only propagation takes time: the result counts round trips.
_ENDLESS: Final = path("endless", rate=None, delay=50 * _MS)
_TWO_FILES: Final = sized("two-files", 1000, 1000)
# Whole round trips, apart from rounding of a nanosecond.
_TOLERANCE: Final = 1e-6
# The nearest whole number still matches the figure: processing time on the path.
_SHAPE_TOLERANCE: Final = 0.5

#: Rows of Figure 1.2: transaction, strategy, quantity, round trips.
_PUBLISHED: Final = (
    ("first FTP transaction", "ftp", "first", 3),
    ("subsequent FTP transaction", "ftp", "next", 2),
    ("ideal: on an open connection", "http11", "next", 1),
    ("first HTTP/1.0 transaction", "http10-serial", "first", 2),
    ("subsequent HTTP/1.0 transaction", "http10-serial", "next", 2),
)


def two_files(strategy: str, *, waits_for_replies: bool = False) -> Scenario:
    """Return two small files over a path without rate; FTP's commands go out together, as in the figure."""
    scenario = retrieval(strategy=strategy, page=_TWO_FILES, network=_ENDLESS, record=Record(packets=True))
    files = (replace(transfer, waits_for_replies=waits_for_replies) for transfer in scenario.transfers)
    return replace(scenario, transfers=tuple(files))


def round_trips_of(simulation: Simulation) -> Mapping[str, float]:
    """Return round trips from each file's first packet, or from its discovery, to its first data."""
    truth = simulation.truth
    if truth.transactions.height:
        rows = truth.transactions
        spans = rows.select(span=rows["response_first_received"] - rows["wanted"])["span"]
    else:
        packets = truth.packets
        data = packets.filter((packets["connection"] > 0) & (packets["payload_bytes"] > 0)).sort("received")
        firsts = data.unique("connection", keep="first", maintain_order=True)["received"]
        spans = firsts - truth.retrievals["start"]
    first, following = (span.total_seconds() / _RTT_S for span in spans)
    return {"first": first, "next": following}


def _runs(_effort: Effort) -> Iterable[Run]:
    for strategy in dict.fromkeys(strategy for _, strategy, _, _ in _PUBLISHED):
        yield Run(label=strategy, scenario=two_files(strategy), measure=round_trips_of)


def _judge(results: Results) -> Judgement:
    comparisons = [
        Comparison(
            what=f"round trips before the data: {what}",
            unit="round trips",
            published=float(count),
            ours=results.mean(strategy, quantity),
            tolerance=_TOLERANCE,
            shape_tolerance=_SHAPE_TOLERANCE,
            absolute=True,
        )
        for what, strategy, quantity, count in _PUBLISHED
    ]
    return judged(
        comparisons,
        remarks="FTP's commands leave together, as in the figure. A client that awaits each reply (RFC 959,"
        " section 5.4) takes five more round trips for the first file and one more for the next.",
    )


#: Figure 1.2.
ROUND_TRIPS: Final = Experiment(claim="B1", runs=_runs, judge=_judge)

"""B15: deltas computed in advance and propagated to proxies (section 7.2.2)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.networks import with_users
from reference_sim.page_versions import delta_encoding, precreated_delta
from reference_sim.papers.bhalekar_2003.scenarios import ASSUMED_GROUND, RENO, hybrid, repeated, seconds
from reference_sim.reproduction.drawing import bars
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record
from reference_sim.strategies import named_strategy
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import altair as alt

    from reference_sim.page import Page
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["DELTA_PLACES"]

_PAGE: Final = "espn"
_MORE: Final = (1.0, inf)
_PIPELINED: Final = named_strategy("http11-pipelined")
#: Places of deltas, the farthest first, with the computation of the delta and the network node.
_PLACES: Final[Mapping[str, tuple[str, Callable[[Page], tuple[Page, ...]]]]] = {
    "server, on request": ("server", delta_encoding),
    "server, beforehand": ("server", precreated_delta),
    "proxy at the hub": ("hub", precreated_delta),
    # Satellite terminal in front of the users' LAN (section 5.3).
    "proxy on the LAN": ("client", precreated_delta),
}


def _changed(page: Page, revisit: Callable[[Page], tuple[Page, ...]]) -> tuple[Page, ...]:
    """Return the second visit alone: for a client with the earlier version, then for a new client."""
    return revisit(page)[-1], page


def _scenario(node: str, revisit: Callable[[Page], tuple[Page, ...]]) -> Scenario:
    strategy = replace(_PIPELINED, name=f"{revisit.__name__}-{node}", revisit=lambda page: _changed(page, revisit))
    network = with_users(hybrid(ground=ASSUMED_GROUND))
    made = retrieval(strategy=strategy, page=_PAGE, network=network, client_stack=RENO, record=Record())
    (server,) = made.servers
    return replace(made, servers=(replace(server, node=node),))


def _visits(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds of a client with the earlier version, and of a new client."""
    rows = simulation.truth.retrievals
    known, new = seconds(rows["end"] - rows["start"])
    return {"known_s": known, "new_s": new}


def _runs(effort: Effort) -> Iterable[Run]:
    for place, (node, revisit) in _PLACES.items():
        yield from repeated(effort, place, _scenario(node, revisit), _visits)


def _judge(results: Results) -> Judgement:
    def ratio(quantity: str, far: str, near: str) -> float:
        return results.value(far, quantity) / results.value(near, quantity)

    known = [
        (
            f"time of a client with an earlier version, deltas at the {far}, over {near}",
            ratio("known_s", far, near),
        )
        for far, near in pairwise(_PLACES)
    ]
    new = [
        (f"time of a new client, {far}, over {near}", ratio("new_s", far, near))
        for far, near in pairwise(list(_PLACES)[1:])
    ]
    return judged(
        [
            Comparison(
                what=what,
                unit="ratio",
                published=_MORE,
                ours=Mean(ours),
                tolerance=0.0,
                shape_tolerance=0.0,
            )
            for what, ours in (*known, *new)
        ],
        remarks="A proxy has the delta from the server and the earlier version. It thus also has the new"
        " version, and serves it to new clients. A quarter of the page's 51 objects changed; 25 ms of ground"
        " each way. The network's cost of the propagation is not counted.",
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    rows = [
        {"deltas at": place, "page, s": results.value(place, quantity), "client": client}
        for place in _PLACES
        for client, quantity in (("with an earlier version", "known_s"), ("new", "new_s"))
    ]
    drawn = bars(rows, category="deltas at", value="page, s", group="client")
    return {"Section 7.2.2: a changed page by the place of its deltas": drawn}


#: Section 7.2.2.
DELTA_PLACES: Final = Experiment(claim="B15", runs=_runs, judge=_judge, charts=_charts)

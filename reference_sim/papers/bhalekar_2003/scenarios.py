"""Bhalekar's setup as scenarios, and the readings of their results.

Section 4.2.1: client, satellite gateway, hybrid gateway (the hub, NOC) and server. The space segment has four
crossings of 0.125 s and a bit error rate of 1e-8. TCP Reno runs on the ground, RWBP (no slow start, no
congestion avoidance) over the space segment: "a split-connection TCP-RWBP connection".
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from reference_sim.networks import network
from reference_sim.reproduction.experiment import Effort, Measure, Run
from reference_sim.scenario import Proxy, Record, Scenario
from reference_sim.stack import Nagle
from reference_sim.stacks import stack
from reference_sim.strategies import named_strategy
from reference_sim.strategy import Place, Protocol, Strategy
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from reference_sim.page import Page
    from reference_sim.simulation import Simulation
    from reference_sim.topology import Network

__all__ = [
    "ASSUMED_GROUND",
    "NEGLIGIBLE_GROUND",
    "RENO",
    "SEGMENT",
    "Access",
    "hybrid",
    "page_time",
    "repeated",
    "retrieved",
    "seconds",
    "through_hub",
]

_MS: Final = 10**6
#: Each of the four crossings of the space segment (sections 1.1 and 4.2.1): an RTT of half a second.
SEGMENT: Final = 125 * _MS
#: Between hub and server: "the latency in this public portion of the network [...] is negligible" (4.7).
NEGLIGIBLE_GROUND: Final = 1 * _MS
#: Value of the network ``satellite-hub``: half an RTT across a continent.
ASSUMED_GROUND: Final = 25 * _MS

#: OPNET's TCP in the paper: Reno, one initial segment (4.2.2), delayed ACKs. Nagle's algorithm is off by
#: default in OPNET. With Nagle, the last segment of a persistent connection's response would wait an RTT for
#: an ACK. The FIN of HTTP/1.0 avoids this wait, so "identical performances" (4.4) would be impossible.
RENO: Final = replace(stack("reno"), name="reno-opnet", nagle=Nagle.OFF)


class Access(StrEnum):
    """Access between client and server."""

    #: One TCP connection end to end.
    END_TO_END = "end to end"
    #: The hub splits the connection: RWBP over the space segment, Reno on the ground (section 4.2.1).
    SPLIT = "split at the hub"


def hybrid(*, ground: int = NEGLIGIBLE_GROUND, segment: int = SEGMENT) -> Network:
    """Return the paper's network: ``ground`` and ``segment`` are link delays in nanoseconds."""
    made = network("satellite-hub")
    for link in made.links:
        delay = ground if "server" in (link.start, link.end) else segment
        made = made.with_link(link.title, delay=delay)
    return made


def retrieved(
    strategy: str | Strategy,
    page: str | Page,
    *,
    access: Access = Access.SPLIT,
    ground: int = NEGLIGIBLE_GROUND,
    segment: int = SEGMENT,
    record: Record | None = None,
) -> Scenario:
    """Return one page by one strategy over the paper's network.

    No proxy splits FTP: under split access, both FTP ends use RWBP.
    """
    chosen = named_strategy(strategy) if isinstance(strategy, str) else strategy
    scenario = retrieval(
        strategy=chosen,
        page=page,
        network=hybrid(ground=ground, segment=segment),
        client_stack=RENO,
        record=record or Record(),
    )
    if access is Access.END_TO_END or chosen.place is not Place.ORIGIN:
        return scenario
    if chosen.protocol is Protocol.FTP:
        space = stack("rwbp")
        return replace(scenario, transfers=(replace(scenario.transfers[0], stack=space, server_stack=space),))
    return through_hub(scenario, persistent=chosen.persistent)


def through_hub(scenario: Scenario, *, persistent: bool) -> Scenario:
    """Return the same with a proxy at the hub that only splits the connections."""
    space = stack("rwbp")
    hub = Proxy(
        name="hub",
        node="hub",
        stack=space,
        upstream_stack=scenario.servers[0].stack,
        upstream_connections=None,
        upstream_persistent=persistent,
    )
    return replace(scenario, browsers=(replace(scenario.browsers[0], stack=space, origin="hub"),), proxies=(hub,))


def repeated(effort: Effort, label: str, scenario: Scenario, measure: Measure) -> Iterator[Run]:
    """Yield the run with one seed per repetition: bit errors are random."""
    for seed in range(1, (2 if effort.quick else effort.seeds) + 1):
        yield Run(label=label, scenario=replace(scenario, seed=seed), measure=measure)


def seconds(durations: pl.Series) -> list[float]:
    """Convert durations to seconds."""
    return [duration.total_seconds() for duration in durations]


def page_time(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds from the first SYN to the last byte, over all FTP files: ``page_s``."""
    import polars as pl

    rows = simulation.truth.retrievals
    own = rows.filter(rows["client"] == 0)
    (elapsed,) = seconds(own.select(pl.col("end").max() - pl.col("start").min()).to_series())
    return {"page_s": elapsed}

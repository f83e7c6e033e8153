"""Arguments that the paper does not measure: delayed ACKs, parallel HTTP/1.1 connections, cross traffic.

Section 3.3: the scheme of skipped ACKs works only with immediate ACKs (E9). Section 6.1: several persistent
connections are more aggressive than an ensemble (E10). Sections 1 and 3.3: a bundle is unfair to other
traffic, and an ensemble is as aggressive as one connection (E11).
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.networks import network
from reference_sim.papers.eggert_1999.bundles import (
    PAGES,
    Cell,
    Situation,
    Transport,
    accesses,
    measure,
    page_of,
    page_run,
    quantity,
    stack_of,
)
from reference_sim.plan import HttpVersion
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record, Transfer
from reference_sim.stack import DelayTimer, Sharing
from reference_sim.strategy import Discovery, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.simulation import Simulation
    from reference_sim.stack import Stack

__all__ = ["BEYOND", "BUNDLE", "SHARED", "ack_label", "delayed", "measure_again", "must"]

_MS: Final = 10**6
_S: Final = 10**9
_ENSEMBLE: Final = "E-TCP"
#: Baseline of the comparison with an ensemble.
BUNDLE: Final = "Reno, a connection for each part"
_TWO: Final = "HTTP/1.1, two connections"
#: Pages of many objects: their connections form a bundle.
_MANY: Final = ("graphics", "frames", "java")
_MORE: Final = (1.0, inf)
_TWO_CONNECTIONS: Final = Strategy(
    name="eggert-http11-x2",
    about="HTTP/1.1 on two connections, one request outstanding on each",
    source="Eggert 1999, section 6.1; RFC 2068, section 8.1.4: at most two",
    version=HttpVersion.HTTP11,
    persistent=True,
    connections=2,
    discovery=Discovery.STREAMING,
)
SHARED: Final = Strategy(
    name="eggert-ensemble",
    about="HTTP/1.0, a connection for each part as its link arrives",
    source="Eggert 1999, section 4",
    connections=None,
    discovery=Discovery.STREAMING,
)


def delayed(stack: Stack) -> Stack:
    """Return the stack with an ACK per second segment, otherwise after 200 ms (RFC 1122, section 4.2.3.2)."""
    acks = replace(stack.acks, every=2, counts_segments=True, delay=DelayTimer(delay=200 * _MS))
    return replace(stack, name=f"{stack.name}, delayed ACKs", acks=acks)


def measure_again(simulation: Simulation) -> Mapping[str, float]:
    """Return times, losses, and the server's retransmitted segments."""
    import polars as pl

    packets = simulation.truth.packets.filter(pl.col("side") == "server", pl.col("payload_bytes") > 0)
    again = packets.filter(pl.col("reason").cast(pl.String) != "new").height
    return {**measure(simulation), "sent again": float(again)}


#: ACK policy and stack of the receiver.
_ACKS: Final = {
    "immediate": (Sharing.ETCP_FAIR, False),
    "delayed": (Sharing.ETCP_FAIR, True),
    "delayed, Reno": (Sharing.NONE, True),
}


def ack_label(page: str, kind: str) -> str:
    """Return the label of a run on ACKs."""
    return f"E-TCP and ACKs, {page}, {kind}"


def _acks(_: Effort) -> Iterator[Run]:
    for page in PAGES:
        for kind, (sharing, is_delayed) in _ACKS.items():
            # Longer than any ACK delay: this comparison excludes timeouts.
            stack = stack_of(sharing, least_timeout_ns=_S)
            made = page_run(ack_label(page, kind), SHARED, page, stack=delayed(stack) if is_delayed else stack)
            recorded = replace(made.scenario, record=Record(packets=True))
            yield replace(made, scenario=recorded, measure=measure_again)


def _judge_acks(results: Results) -> Judgement:
    comparisons = []
    for page in PAGES:

        def of(kind: str, name: str, page: str = page) -> float:
            return results.value(ack_label(page, kind), name)

        comparisons += [
            must(f"retransmissions with immediate ACKs, {page}", (0.0, 0.0), of("immediate", "sent again")),
            must(f"retransmissions with delayed ACKs, {page}", _MORE, of("delayed", "sent again")),
            must(
                f"Reno's retransmissions with delayed ACKs, {page}",
                (0.0, 0.0),
                of("delayed, Reno", "sent again"),
            ),
            must(
                f"time with delayed ACKs over that with immediate ACKs, {page}",
                _MORE,
                of("delayed", quantity("total")) / of("immediate", quantity("total")),
            ),
        ]
    return judged(
        comparisons,
        remarks="The model scenario has no loss, so that every retransmission is spurious. E12 has TCP-INT's"
        " variant for delayed ACKs.",
    )


def _page_label(page: str, kind: str) -> str:
    return f"beside E-TCP, {page}, {kind}"


def _aggressive(_: Effort) -> Iterator[Run]:
    for page in _MANY:
        yield Cell(page=page, situation=Situation.NETWORK, transport=Transport.FAIR).run()
        yield page_run(_page_label(page, _TWO), _TWO_CONNECTIONS, page, situation=Situation.NETWORK)


def _judge_aggressive(results: Results) -> Judgement:
    def shared(page: str) -> float:
        return results.value(Cell(page=page, situation=Situation.NETWORK, transport=Transport.FAIR).label, "loss")

    return judged(
        [
            must(
                f"share of packets that the queue drops, {page}: two connections of HTTP/1.1 less E-TCP",
                (0.0, inf),
                results.value(_page_label(page, _TWO), "loss") - shared(page),
            )
            for page in _MANY
        ],
        remarks="The queue of 10 packets; each of the two connections has one request outstanding.",
    )


def _other(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds of the concurrent transfer."""
    rows = simulation.truth.retrievals.to_dicts()
    (of_transfer,) = (row for row in rows if row["client"] == _TRANSFER)
    return {"seconds": (of_transfer["end"] - of_transfer["start"]).total_seconds()}


def _beside(_: Effort) -> Iterator[Run]:
    kinds = {BUNDLE: Sharing.NONE, _ENSEMBLE: Sharing.ETCP_FAIR}
    where = network("thesis")
    plain = stack_of(Sharing.NONE)
    # Other hosts on the same link.
    transfer = Transfer(
        node=where.clients[1], stack=plain, server_node=where.servers[1], server_stack=plain, files=(_FILE,)
    )
    for page in _MANY:
        for kind, sharing in kinds.items():
            made = accesses(strategy=SHARED, page=page_of(page), network=where, stack=stack_of(sharing))
            browsers = tuple(replace(browser, start=_LATER) for browser in made.browsers)
            scenario = replace(made, transfers=(transfer,), browsers=browsers)
            yield Run(label=_page_label(page, kind), scenario=scenario, measure=_other)


#: Longer than the pages take.
_FILE: Final = 1_000_000
_LATER: Final = 1 * _S
#: Browsers have the first numbers.
_TRANSFER: Final = 1


def _judge_beside(results: Results) -> Judgement:
    def of(page: str, kind: str) -> float:
        return results.value(_page_label(page, kind), "seconds")

    return judged(
        [
            must(
                f"time of a transfer beside {page}: beside a Reno bundle over beside E-TCP",
                _MORE,
                of(page, BUNDLE) / of(page, _ENSEMBLE),
            )
            for page in _MANY
        ],
        remarks="The paper has no other traffic, hence the dumbbell of Gürkan 1998. A Reno transfer of 1 MB"
        " between other hosts starts 1 s before the page.",
    )


def must(what: str, within: tuple[float, float], ours: float) -> Comparison:
    """Return the comparison of an inequality that has no shape."""
    return Comparison(
        what=what, unit="", published=within, ours=Mean(ours), tolerance=0.0, shape_tolerance=0.0, absolute=True
    )


BEYOND: Final = (
    Experiment(claim="E9", studies=frozenset({"acks"}), runs=_acks, judge=_judge_acks),
    Experiment(claim="E10", runs=_aggressive, judge=_judge_aggressive),
    Experiment(claim="E11", runs=_beside, judge=_judge_beside),
)

"""Figures 3 and 4: bare transfers, as ns-2's one-way connections are.

The figures print neither the sizes of what is transferred nor ns-2's clock, and connections there have
no SYNs: times are those of the data's packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from reference_sim.networks import network
from reference_sim.papers.eggert_1999.compared import compared
from reference_sim.reproduction.claim import claims
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record, Scenario, Transfer
from reference_sim.stacks import stack

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from reference_sim.simulation import Simulation
    from reference_sim.stack import Stack

__all__ = ["FIGURE_3", "FIGURE_4", "PACKET_COUNTS", "SEGMENT_BYTES", "data_packets", "transfers"]

_S: Final = 10**9
#: What a segment of 512 bytes carries beside T/TCP's option and its padding.
SEGMENT_BYTES: Final = 500
#: The packets that Figure 3 shows paced: what is transferred twice.
_PACED: Final = 4
#: Other numbers of packets, for E6's remarks.
_OTHER_COUNTS: Final = (3, 5, 6, 7, 8, 10, 15)
_STARTS_NS: Final = (0, 5 * _S // 10, 8 * _S // 10)
#: Sizes, in packets, with which the connections of Figure 4 end in its order: third, second, first.
PACKET_COUNTS: Final = (350, 140, 40)
_RENO: Final = "reno-ns"
_ETCP: Final = "etcp-fair"
#: The figure's 0.18 s is read off in words ("about 0.18 seconds").
_SAVED_TOLERANCE: Final = 0.10
_SAVED_SHAPE_TOLERANCE: Final = 0.30


def transfers(stack: Stack, *started: tuple[int, int]) -> Scenario:
    """Transfers between two hosts: when each starts, in nanoseconds, and how many bytes it has."""
    path = network("eggert")
    return Scenario(
        network=path,
        transfers=tuple(
            Transfer(
                node=path.clients[0],
                stack=stack,
                server_node=path.servers[0],
                server_stack=stack,
                start=start,
                files=(size,),
            )
            for start, size in started
        ),
        record=Record(packets=True),
    )


def data_packets(simulation: Simulation) -> pl.DataFrame:
    """The data's packets in the order of sending; ``sent`` and ``received`` in seconds after the first."""
    import polars as pl

    packets = simulation.truth.packets
    data = packets.filter((pl.col("side") == "server") & (pl.col("payload_bytes") > 0)).sort("sent")
    start = data["sent"][0]
    seconds = [((pl.col(name) - start).dt.total_nanoseconds() / 1e9).alias(name) for name in ("sent", "received")]
    return data.select("connection", *seconds)


def _measure_pacing(simulation: Simulation) -> Mapping[str, float]:
    """How long each of two transfers took, and how the packets of the second are spaced."""
    packets = data_packets(simulation)
    measured = {}
    for connection, name in enumerate(("first", "second")):
        own = packets.filter(connection=connection)
        measured[f"{name}, s"] = own["received"][-1] - own["sent"][0]
        measured[f"{name}, packets"] = own.height
        gaps = [later - earlier for earlier, later in pairwise(own["sent"].to_list())]
        measured[f"{name}, least gap"], measured[f"{name}, largest gap"] = min(gaps), max(gaps)
    return measured


def _pacing_run(name: str, packets: int) -> Run:
    size = packets * SEGMENT_BYTES
    scenario = transfers(stack(name), (0, size), (2 * _S, size))
    return Run(label=f"{name}, {packets}", scenario=scenario, measure=_measure_pacing)


def _pacing_runs(_: Effort) -> Iterator[Run]:
    yield _pacing_run(_RENO, _PACED)
    for packets in (_PACED, *_OTHER_COUNTS):
        yield _pacing_run(_ETCP, packets)


def _saved(results: Results, name: str, packets: int) -> float:
    label = f"{name}, {packets}"
    return results.value(label, "first, s") - results.value(label, "second, s")


def _judge_pacing(results: Results) -> Judgement:
    label = f"{_ETCP}, {_PACED}"
    spread = results.value(label, "second, largest gap") / results.value(label, "second, least gap")
    comparisons = [
        Comparison(
            what="the second transfer ends sooner by",
            unit="s",
            published=float(claims()["E6"].expect["saved_s"]),
            ours=Mean(_saved(results, _ETCP, _PACED)),
            tolerance=_SAVED_TOLERANCE,
            shape_tolerance=_SAVED_SHAPE_TOLERANCE,
        ),
        compared("its packets are paced: largest over least gap", 1.0, spread),
        compared("over Reno, which shares nothing, it ends sooner by (s)", 0.0, _saved(results, _RENO, _PACED)),
    ]
    others = ", ".join(f"{packets}: {_saved(results, _ETCP, packets):.2f} s" for packets in _OTHER_COUNTS)
    return judged(
        comparisons,
        remarks=f"{_PACED} packets are transferred twice: those that the figure shows paced. It prints neither"
        f" their number nor its link (here that of section 4). By other numbers of packets: {others}.",
    )


def _measure_shares(simulation: Simulation) -> Mapping[str, float]:
    """Shares of the packets sent while one, two and three connections are open."""
    import polars as pl

    packets = data_packets(simulation)
    ends = packets.group_by("connection").agg(pl.col("sent").min().alias("from"), pl.col("sent").max().alias("to"))
    (_, from2, from3), (to1, to2, to3) = (ends.sort("connection")[name].to_list() for name in ("from", "to"))
    without3 = packets.filter(pl.col("sent") > to3)["sent"][0]
    stretches = {"1": (0.0, from2), "1:1": (from2, from3), "1:1:1": (from3, to3), "1:1 again": (without3, to2)}
    measured = {"second ends before first": to1 - to2, "third ends before second": to2 - to3}
    for name, (start, end) in stretches.items():
        sent = packets.filter((pl.col("sent") >= start) & (pl.col("sent") < end))
        for connection in range(3):
            measured[f"{name}, connection {connection + 1}"] = (
                sent.filter(connection=connection).height / sent.height
            )
    return measured


def _share_runs(_: Effort) -> Iterator[Run]:
    started = [(start, count * SEGMENT_BYTES) for start, count in zip(_STARTS_NS, PACKET_COUNTS, strict=True)]
    yield Run(label=_ETCP, scenario=transfers(stack(_ETCP), *started), measure=_measure_shares)


def _judge_shares(results: Results) -> Judgement:
    published = {"1": (1, 0, 0), "1:1": (1 / 2, 1 / 2, 0), "1:1:1": (1 / 3,) * 3, "1:1 again": (1 / 2, 1 / 2, 0)}
    comparisons = [
        compared(
            f"{stretch}: share of connection {number}",
            share,
            results.value(_ETCP, f"{stretch}, connection {number}"),
        )
        for stretch, shares in published.items()
        for number, share in enumerate(shares, start=1)
    ]
    return judged(
        comparisons,
        remarks="Sizes are chosen for the connections to end in the figure's order; it prints none.",
    )


FIGURE_3: Final = Experiment(claim="E6", runs=_pacing_runs, judge=_judge_pacing)
FIGURE_4: Final = Experiment(claim="E7", runs=_share_runs, judge=_judge_shares)

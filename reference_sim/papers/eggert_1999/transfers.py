"""Figures 3 and 4: bare transfers over ns-2's one-way connections.

The figures print neither transfer sizes nor ns-2's clock, and their connections have no SYNs. Times are times
of data packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from reference_sim.networks import network
from reference_sim.papers.eggert_1999.compared import compared
from reference_sim.reproduction.claim import claims
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record, Scenario, Transfer
from reference_sim.stacks import stack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import altair as alt
    import polars as pl

    from reference_sim.simulation import Simulation
    from reference_sim.stack import Stack

__all__ = [
    "FIGURE_3",
    "FIGURE_4",
    "PACING_COUNT",
    "PACKET_COUNTS",
    "SEGMENT_BYTES",
    "coarse",
    "data_packets",
    "transfers",
]

_S: Final = 10**9
#: Payload of a 512-byte segment in addition to T/TCP's padded option.
SEGMENT_BYTES: Final = 500
#: Number of packets that Figure 3 shows paced.
_PACED: Final = 4
#: Packets of both transfers, and alternative numbers.
PACING_COUNT: Final = 8
_COUNTS: Final = (4, 6, PACING_COUNT, 10, 15)
_STARTS_NS: Final = (0, 5 * _S // 10, 8 * _S // 10)
#: Sizes in packets with which Figure 4's connections end in its order: third, second, first.
PACKET_COUNTS: Final = (350, 140, 40)
_RENO: Final = "reno-ns"
_ETCP: Final = "etcp-fair"
#: The paper gives the figure's 0.18 s in words ("about 0.18 seconds").
_SAVED_TOLERANCE: Final = 0.10
_SAVED_SHAPE_TOLERANCE: Final = 0.30
# Point areas in square pixels, for eight packets and for about a hundred.
_POINT: Final = 60
_SMALL_POINT: Final = 12


def transfers(stack: Stack, *started: tuple[int, int]) -> Scenario:
    """Return transfers between two hosts, by start in nanoseconds and size in bytes."""
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
    """Return the data packets in sending order; ``sent`` and ``received`` in seconds after the first."""
    import polars as pl

    packets = simulation.truth.packets
    data = packets.filter((pl.col("side") == "server") & (pl.col("payload_bytes") > 0)).sort("sent")
    start = data["sent"][0]
    seconds = [((pl.col(name) - start).dt.total_nanoseconds() / 1e9).alias(name) for name in ("sent", "received")]
    return data.select("connection", *seconds)


def _measure_pacing(simulation: Simulation) -> Mapping[str, float]:
    """Return the duration of each of two transfers, and the second's packets before its first ACK."""
    import polars as pl

    packets = data_packets(simulation)
    first, second = (packets.filter(connection=connection) for connection in (0, 1))
    acks = simulation.truth.packets.filter((pl.col("side") == "client") & (pl.col("ack") > 1), connection=1)
    before_ack = simulation.truth.packets.filter(
        (pl.col("side") == "server") & (pl.col("payload_bytes") > 0) & (pl.col("sent") < acks["received"].min()),
        connection=1,
    ).height
    times = second["sent"].to_list()[:before_ack]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return {
        "first, s": first["received"][-1] - first["sent"][0],
        "second, s": second["received"][-1] - second["sent"][0],
        "paced": before_ack,
        **_sent(packets),
        # A single packet has no gaps.
        **({"least gap": min(gaps), "largest gap": max(gaps)} if gaps else {}),
    }


def _sent(packets: pl.DataFrame) -> Mapping[str, float]:
    """Return the sending times of each connection's packets, for the figures: ``"sent 0, packet 1"`` …"""
    return {
        f"sent {connection}, packet {number}": time
        for (connection,), own in packets.group_by("connection")
        for number, time in enumerate(own["sent"], start=1)
    }


def coarse(made: Stack) -> Stack:
    """Return the stack with RTTs in ticks of its host's clock, as in BSD: 0.105 s is two ticks."""
    return replace(made, name=f"{made.name}, ticks", retransmission=replace(made.retransmission, on_ticks=True))


def _label(made: Stack, packets: int) -> str:
    return f"{made.name}, {packets}"


def _pacing_run(made: Stack, packets: int) -> Run:
    size = packets * SEGMENT_BYTES
    scenario = transfers(made, (0, size), (2 * _S, size))
    return Run(label=_label(made, packets), scenario=scenario, measure=_measure_pacing)


def _pacing_runs(_: Effort) -> Iterator[Run]:
    for made in (coarse(stack(_RENO)), coarse(stack(_ETCP)), stack(_ETCP)):
        for packets in _COUNTS:
            yield _pacing_run(made, packets)


def _saved(results: Results, made: Stack, packets: int) -> float:
    label = _label(made, packets)
    return results.value(label, "first, s") - results.value(label, "second, s")


def _judge_pacing(results: Results) -> Judgement:
    etcp = coarse(stack(_ETCP))
    label = _label(etcp, PACING_COUNT)
    comparisons = [
        Comparison(
            what="the second transfer ends earlier by",
            unit="s",
            published=float(claims()["E6"].expect["saved_s"]),
            ours=Mean(_saved(results, etcp, PACING_COUNT)),
            tolerance=_SAVED_TOLERANCE,
            shape_tolerance=_SAVED_SHAPE_TOLERANCE,
        ),
        Comparison(
            what="packets paced before its first ACK",
            unit="",
            published=_PACED,
            ours=Mean(results.value(label, "paced")),
            tolerance=1,
            shape_tolerance=2,
            absolute=True,
        ),
        compared(
            "maximum over minimum gap between them",
            1.0,
            results.value(label, "largest gap") / results.value(label, "least gap"),
        ),
        compared(
            "over Reno, without sharing, it ends earlier by (s)",
            0.0,
            _saved(results, coarse(stack(_RENO)), PACING_COUNT),
        ),
    ]
    return judged(comparisons, remarks=_pacing_remarks(results))


def _pacing_remarks(results: Results) -> str:
    """Describe the results of other packet counts and of an exact clock."""
    by_clock = [
        ", ".join(
            f"{count}: {_saved(results, made, count):.2f} s ({results.value(_label(made, count), 'paced'):.0f})"
            for count in _COUNTS
        )
        for made in (coarse(stack(_ETCP)), stack(_ETCP))
    ]
    return (
        "The figure prints neither the number of packets nor its link (here that of section 4). It shows four"
        " paced packets before the ACKs clock the transfer. Their rate is below the previous transfer's last"
        " window per round trip, which would pace all packets of the next transfer. Our choice is a clock of"
        f" 0.1 s, by which the round trip of 0.105 s is two ticks, and {PACING_COUNT} packets, the fewest that"
        " take four round trips. Saved time, and packets before the first ACK, by the number of packets:"
        f" {by_clock[0]}; with a clock that measures one tick, as ns-2's does for most phases: {by_clock[1]}."
    )


def _measure_shares(simulation: Simulation) -> Mapping[str, float]:
    """Return packet shares while one, two and three connections are open."""
    import polars as pl

    packets = data_packets(simulation)
    ends = packets.group_by("connection").agg(pl.col("sent").min().alias("from"), pl.col("sent").max().alias("to"))
    (_, from2, from3), (to1, to2, to3) = (ends.sort("connection")[name].to_list() for name in ("from", "to"))
    without3 = packets.filter(pl.col("sent") > to3)["sent"][0]
    stretches = {"1": (0.0, from2), "1:1": (from2, from3), "1:1:1": (from3, to3), "1:1 again": (without3, to2)}
    measured = {"second ends before first": to1 - to2, "third ends before second": to2 - to3, **_sent(packets)}
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
    # One open connection shares nothing; with two, the other connection has the rest.
    published = {"1:1": (1 / 2,), "1:1:1": (1 / 3,) * 3, "1:1 again": (1 / 2,)}
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
        remarks="The sizes, which the figure does not print, make the connections end in its order.",
    )


def _draw_pacing(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    """Return both transfers, relative to their starts."""
    (figures,) = results.measured[_label(coarse(stack(_ETCP)), PACING_COUNT)]
    names = ("first transfer", "second transfer")
    rows = [
        {**row, "s": row["s"] - figures[f"sent {row['connection']}, packet 1"], "of": names[row["connection"]]}
        for row in _packets(figures)
    ]
    return {"Figure 3: two identical transfers, the second one paced": _drawn(rows, names)}


def _draw_shares(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    """Return all three connections."""
    (figures,) = results.measured[_ETCP]
    names = tuple(f"connection {number}" for number in range(1, len(PACKET_COUNTS) + 1))
    rows = [{**row, "of": names[row["connection"]]} for row in _packets(figures)]
    return {"Figure 4: connections that start at 0, 0.5 and 0.8 s": _drawn(rows, names, size=_SMALL_POINT)}


def _packets(figures: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    for name, time in figures.items():
        if name.startswith("sent "):
            connection, _, packet = name.removeprefix("sent ").partition(", packet ")
            yield {"connection": int(connection), "packet": int(packet), "s": time}


def _drawn(rows: Sequence[Mapping[str, Any]], names: Sequence[str], *, size: int = _POINT) -> alt.Chart:
    import altair as alt

    made = alt.Chart(alt.InlineData(values=list(rows))).mark_point(filled=True, size=size)
    drawn: alt.Chart = made.encode(
        x=alt.X("s:Q", title="s after the first packet"),
        y=alt.Y("packet:Q", title="packet of the transfer"),
        color=alt.Color("of:N", sort=list(names), title=None),
        shape=alt.Shape("of:N", sort=list(names), legend=None),
    )
    return drawn


FIGURE_3: Final = Experiment(claim="E6", runs=_pacing_runs, judge=_judge_pacing, charts=_draw_pacing)
FIGURE_4: Final = Experiment(claim="E7", runs=_share_runs, judge=_judge_shares, charts=_draw_shares)

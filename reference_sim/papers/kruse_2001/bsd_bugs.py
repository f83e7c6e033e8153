"""Section 2.1: two bugs of BSD, one per end of a bare transfer."""

from __future__ import annotations

from math import inf
from statistics import median
from typing import TYPE_CHECKING, Final

from reference_sim.papers.kruse_2001.satellite import RTT_NS, SECOND, round_trips
from reference_sim.papers.kruse_2001.window_growth import flights, transferred
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.stacks import stack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.simulation import Simulation

__all__ = ["BSD_BUGS", "transfer"]

_FIXED: Final = "netbsd-1.2.1"
_SHIPPED: Final = "netbsd-1.2.1-bugs"
_SIZE: Final = 400_000
# With timestamps (RFC 7323: 12 bytes of each segment).
_SEGMENT_BYTES: Final = 1448
_EXACT: Final = 0.0
# The bug is a segment more or less.
_LESS_THAN_ONE: Final = 0.5


def transfer(simulation: Simulation) -> Mapping[str, float]:
    """Return the flights, the new segments per immediate ACK, and the seconds to the last data."""
    packets = simulation.truth.packets.sort("sent")
    data = packets.filter((packets["side"] == "server") & (packets["payload_bytes"] > 0))["sent"]
    acks = packets.filter((packets["side"] == "client") & (packets["payload_bytes"] == 0))
    acks = acks.with_columns(new=acks["ack"].diff())
    # Timer-driven ACKs excluded.
    at_once = acks.filter((acks["reason"] == "ack") & (acks["new"] > 0))["new"].to_list()
    return {
        **flights(simulation),
        "segments an ACK": median(at_once) / _SEGMENT_BYTES,
        "maximum number of segments per ACK": max(at_once) / _SEGMENT_BYTES,
        "seconds": (data[-1] - data[0]).total_seconds(),
    }


def _runs(effort: Effort) -> Iterator[Run]:
    del effort
    for name in (_FIXED, _SHIPPED):
        yield Run(label=name, scenario=transferred(stack(name), _SIZE), measure=transfer)


def _exactly(what: str, published: float, ours: float) -> Comparison:
    return Comparison(
        what=what,
        unit="segments",
        published=published,
        ours=Mean(ours),
        tolerance=_EXACT,
        shape_tolerance=_LESS_THAN_ONE,
        absolute=True,
    )


def _comparisons(results: Results) -> Iterator[Comparison]:
    for name, first, every in ((_FIXED, 1, 2), (_SHIPPED, 2, 3)):
        yield _exactly(f"{name}: initial window of a passive opener", first, results.value(name, "flight 0"))
        yield _exactly(f"{name}: segments per ACK", every, results.value(name, "segments an ACK"))
        yield _exactly(f"{name}: at most", every, results.value(name, "maximum number of segments per ACK"))
    later = results.value(_SHIPPED, "seconds") - results.value(_FIXED, "seconds")
    yield Comparison(
        what="fewer ACKs slow the window's growth: 400 kB take longer, although they start with two segments",
        unit="RTT",
        published=(0.0, inf),
        ours=Mean(round_trips(later)),
        tolerance=_EXACT,
        shape_tolerance=_LESS_THAN_ONE,
        absolute=True,
    )


def _judge(results: Results) -> Judgement:
    return judged(
        list(_comparisons(results)),
        remarks=f"Over a round trip of {RTT_NS / SECOND:.2f} s without serialization time, with timestamps.",
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    import altair as alt
    import polars as pl

    rows = [
        {"stack": name, "flight": int(quantity.removeprefix("flight ")), "segments": value}
        for name in (_FIXED, _SHIPPED)
        for quantity, value in results.measured[name][0].items()
        if quantity.startswith("flight ")
    ]
    chart = (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("flight:Q", title="Flight", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("segments:Q", title="Segments"),
            color=alt.Color("stack:N", title=None),
        )
    )
    return {"Section 2.1: flights with and without two bugs": chart}


BSD_BUGS: Final = Experiment(
    claim="K9", studies=frozenset({"acks", "handshake_ack_opens_window"}), runs=_runs, judge=_judge, charts=_charts
)

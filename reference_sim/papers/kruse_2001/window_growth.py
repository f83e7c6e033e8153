"""Equations 1 to 8: growth of one and of several windows, beside simulated flights.

The model neglects the ACK delay of an odd segment: the simulated receiver delays ACKs by only 1 ms. The model
also has no serialization time: the path has no rate limit.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from reference_sim.models import (
    GROWTH_WITH_DELAYED_ACKS,
    effective_initial_window,
    initial_window,
    round_trips_to_window,
    windows,
)
from reference_sim.networks import path
from reference_sim.papers.kruse_2001.satellite import HOST, RTT_NS, round_trips
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record, Scenario, Transfer
from reference_sim.stack import DelayTimer, Segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.simulation import Simulation
    from reference_sim.stack import Stack

__all__ = ["CONNECTIONS", "ENDLESS", "GROWTH", "flights", "transferred"]

_MS: Final = 10**6
_MSS: Final = 1460
#: The satellite's RTT, without serialization time.
ENDLESS: Final = path("endless", rate=None, delay=RTT_NS // 2)
_NEGLIGIBLE_WAIT: Final = 1 * _MS
# Larger than any window in the experiment.
_BUFFER: Final = 1 << 22
_WINDOW_SCALE: Final = 7
# At least eight flights with delayed ACKs: "almost exactly exponential after the first 2-3 RTTs".
_SIZE: Final = 600_000
_SETTLED: Final = 2
# A is printed with three digits; ceil(x/2) of small windows exceeds x/2.
_GROWTH: Final = 0.04
_GROWTH_SHAPE: Final = 0.1
# Equation 6 is a power law for growth in whole segments: less than a flight off.
_FLIGHT: Final = 0.7
_EXACT: Final = 0.0
_SEGMENT: Final = 1.0


def sender(*, delayed_acks: bool, segments: int) -> Stack:
    """Return Kruse's NetBSD in whole segments, without window limits, options and chunked writes."""
    return replace(
        HOST,
        acks=replace(HOST.acks, every=2 if delayed_acks else 1, delay=DelayTimer(delay=_NEGLIGIBLE_WAIT)),
        initial_window=Segments(segments=segments),
        receive_buffer=_BUFFER,
        send_buffer=_BUFFER,
        window_scale=_WINDOW_SCALE,
        timestamps=False,
        write_step_bytes=None,
    )


def transferred(stack: Stack, *sizes: int) -> Scenario:
    """Return concurrent bare transfers of these sizes, each over its own connection."""
    made = (
        Transfer(
            node=ENDLESS.clients[0],
            stack=stack,
            server_node=ENDLESS.servers[0],
            server_stack=stack,
            files=(size,),
        )
        for size in sizes
    )
    return Scenario(network=ENDLESS, transfers=tuple(made), record=Record(packets=True))


def flights(simulation: Simulation) -> Mapping[str, float]:
    """Return the servers' data segments by the RTT of their transmission: ``"flight 0"`` …"""
    packets = simulation.truth.packets
    sent = packets.filter((packets["side"] == "server") & (packets["payload_bytes"] > 0)).sort("sent")["sent"]
    counts: dict[str, float] = {}
    for time in sent:
        number = round(round_trips((time - sent[0]).total_seconds()))
        counts[f"flight {number}"] = counts.get(f"flight {number}", 0.0) + 1
    return counts


def _label(initial: int, *, delayed_acks: bool) -> str:
    return f"window from {initial}, {'delayed ACKs' if delayed_acks else 'an ACK a segment'}"


_GROWTHS: Final = tuple((initial, delayed) for delayed in (False, True) for initial in (1, 3))


def _growth_runs(effort: Effort) -> Iterator[Run]:
    del effort
    for initial, delayed in _GROWTHS:
        scenario = transferred(sender(delayed_acks=delayed, segments=initial), _SIZE)
        yield Run(label=_label(initial, delayed_acks=delayed), scenario=scenario, measure=flights)


def _flown(results: Results, label: str) -> list[float]:
    (counted,) = results.measured[label]
    return [counted[f"flight {number}"] for number in range(len(counted))]


def _exactly(what: str, unit: str, published: float, ours: float) -> Comparison:
    return Comparison(
        what=what,
        unit=unit,
        published=published,
        ours=Mean(ours),
        tolerance=_EXACT,
        shape_tolerance=_SEGMENT,
        absolute=True,
    )


def _of_equations_2_to_4(results: Results) -> Iterator[Comparison]:
    for initial, delayed in _GROWTHS:
        label = _label(initial, delayed_acks=delayed)
        # The last flight carries the remainder.
        flown = _flown(results, label)[:-1]
        predicted = islice(windows(initial, delayed_acks=delayed), len(flown))
        for number, (window, ours) in enumerate(zip(predicted, flown, strict=True)):
            yield _exactly(f"{label}: flight {number}", "segments", window, ours)


def _of_equation_5(results: Results) -> Comparison:
    flown = _flown(results, _label(1, delayed_acks=True))[_SETTLED:-1]
    return Comparison(
        what="growth per round trip with delayed ACKs, from the third flight on",
        unit="times",
        published=GROWTH_WITH_DELAYED_ACKS,
        ours=Mean((flown[-1] / flown[0]) ** (1 / (len(flown) - 1))),
        tolerance=_GROWTH,
        shape_tolerance=_GROWTH_SHAPE,
    )


def _of_equation_6(results: Results) -> Iterator[Comparison]:
    for delayed in (False, True):
        label = _label(1, delayed_acks=delayed)
        flown = _flown(results, label)[:-1]
        last = len(flown) - 1
        yield Comparison(
            what=f"{label}: round trips to {flown[-1]:.0f} segments",
            unit="RTT",
            published=round_trips_to_window(int(flown[-1]), 1, delayed_acks=delayed),
            ours=Mean(float(last)),
            tolerance=_FLIGHT,
            shape_tolerance=_SEGMENT,
            absolute=True,
        )


def _judge_growth(results: Results) -> Judgement:
    first = _exactly(
        "initial window at an MSS of 1460 (equation 1)", "segments", 3, -(-initial_window(_MSS) // _MSS)
    )
    return judged(
        [first, *_of_equations_2_to_4(results), _of_equation_5(results), *_of_equation_6(results)],
        remarks="The flights of a simulated sender are compared with those of equations 2 to 4. Its receiver"
        " waits 1 ms for a second segment, and its path has no serialization time: the equations neglect both.",
    )


_TOGETHER: Final = 4
_PART: Final = 63 * _MSS
_ONE_LARGE: Final = "1 connection from 4 segments"
_FOUR_SMALL: Final = "4 connections from 1 segment"


def _connection_runs(effort: Effort) -> Iterator[Run]:
    del effort
    one = transferred(sender(delayed_acks=False, segments=_TOGETHER), _TOGETHER * _PART)
    four = transferred(sender(delayed_acks=False, segments=1), *[_PART] * _TOGETHER)
    yield Run(label=_ONE_LARGE, scenario=one, measure=flights)
    yield Run(label=_FOUR_SMALL, scenario=four, measure=flights)


def _judge_connections(results: Results) -> Judgement:
    one, four = _flown(results, _ONE_LARGE), _flown(results, _FOUR_SMALL)
    comparisons = [
        _exactly("first segments together, 4 connections (equation 8)", "segments", 4, four[0]),
        _exactly("flights", "flights", len(one), len(four)),
        *(
            _exactly(f"flight {number}: {_FOUR_SMALL} beside {_ONE_LARGE}", "segments", large, small)
            for number, (large, small) in enumerate(zip(one, four, strict=False))
        ),
    ]
    target = one[-1]
    equation_7 = round_trips_to_window(int(target), 1, delayed_acks=False, connections=_TOGETHER)
    comparisons.append(
        Comparison(
            what=f"round trips of 4 connections to {target:.0f} segments together (equation 7)",
            unit="RTT",
            published=equation_7,
            ours=Mean(float(len(four) - 1)),
            tolerance=_FLIGHT,
            shape_tolerance=_SEGMENT,
            absolute=True,
        )
    )
    together = effective_initial_window(_TOGETHER, 1)
    return judged(comparisons, remarks=f"S_a = {together} segments; every segment is acknowledged (equation 3).")


def _growth_charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    labels = [_label(initial, delayed_acks=delayed) for initial, delayed in _GROWTHS]
    return {"Equations 2 to 5: windows by flight": _windows_chart(results, labels)}


def _connection_charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    return {
        "Equation 8: four connections, or a window of four": _windows_chart(results, [_ONE_LARGE, _FOUR_SMALL])
    }


def _windows_chart(results: Results, labels: list[str]) -> alt.TopLevelMixin:
    import altair as alt
    import polars as pl

    rows = [
        {"run": label, "flight": number, "segments": segments}
        for label in labels
        for number, segments in enumerate(_flown(results, label)[:-1])
    ]
    chart: alt.Chart = alt.Chart(pl.DataFrame(rows)).mark_line(point=True)
    return chart.encode(
        x=alt.X("flight:Q", title="Flight", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("segments:Q", title="Segments", scale=alt.Scale(type="log")),
        color=alt.Color("run:N", title=None),
        # Points may coincide.
        strokeDash=alt.StrokeDash("run:N", title=None),
    )


GROWTH: Final = Experiment(
    claim="K1",
    studies=frozenset({"acks", "initial_window"}),
    runs=_growth_runs,
    judge=_judge_growth,
    charts=_growth_charts,
)
CONNECTIONS: Final = Experiment(
    claim="K2",
    studies=frozenset({"initial_window"}),
    runs=_connection_runs,
    judge=_judge_connections,
    charts=_connection_charts,
)

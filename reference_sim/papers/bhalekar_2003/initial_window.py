"""B8: a lone first segment waits for the delayed ACK; savings by a larger initial window (3.4.1)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.networks import path
from reference_sim.pages import sized
from reference_sim.papers.bhalekar_2003.scenarios import RENO, SEGMENT, seconds
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record
from reference_sim.stack import Segments
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import altair as alt

    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["INITIAL_WINDOW"]

_S: Final = 10**9
_WAY: Final = 2 * SEGMENT
_RTT_S: Final = 2 * _WAY / _S
#: Only propagation takes time.
_NETWORK: Final = path("satellite-alone", rate=None, delay=_WAY)
#: "A regular cwnd is 1 segment i.e. 1 KB and a larger initial cwnd implies 4 segments" (3.4). Window scaling
#: is on, so that the receive window is never the limit.
_STACK: Final = replace(
    RENO, name="reno-1kb", mss=1024, receive_buffer=1 << 20, send_buffer=1 << 20, window_scale=7
)
_WINDOWS: Final = (1, 2, 3, 4)
#: Bytes; the first size is "less than 4KB" with its head of about 200 bytes.
_SHORT: Final = 3_500
_SIZES: Final = (_SHORT, 8_000, 16_000, 32_000, 48_000, 64_000, 96_000, 128_000, 192_000)
_QUICK_SIZES: Final = (_SHORT, 8_000, 32_000, 64_000, 128_000)
_DELAYED_ACK_S: Final = 0.2
#: "Up to three RTTs and a delayed ACK timeout" (3.4.1).
_SAVED_S: Final = 3 * _RTT_S + _DELAYED_ACK_S
# Milliseconds of timers that the simulation has to the nanosecond.
_TIMER: Final = 0.001
# A flight with an odd number of segments also ends with a delayed ACK: 0.2 of 1.7 s more or less.
_ROUND_TRIPS: Final = 0.15
_ROUND_TRIPS_SHAPE: Final = 0.35


def _transferred(window: int, size: int) -> Scenario:
    server = replace(_STACK, name=f"{_STACK.name}-{window}", initial_window=Segments(segments=window))
    return retrieval(
        strategy="http10-serial",
        page=sized(f"object-of-{size}", size),
        network=_NETWORK,
        client_stack=_STACK,
        server_stack=server,
        record=Record(packets=True),
    )


def _first_flights(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds from the first data to its ACK, and from the request to the last byte."""
    truth = simulation.truth
    packets = truth.packets
    data = packets.filter((packets["side"] == "server") & (packets["payload_bytes"] > 0)).sort("received")
    acks = packets.filter((packets["side"] == "client") & (packets["ack"] > data["seq"][0])).sort("sent")
    rows = truth.transactions
    (wait,) = seconds(acks["sent"].head(1) - data["received"].head(1))
    (transfer,) = seconds(rows["response_last_received"] - rows["request_first_sent"])
    return {"wait_s": wait, "transfer_s": transfer}


def _label(window: int, size: int) -> str:
    return f"{window} segments, {size} B"


def _runs(effort: Effort) -> Iterable[Run]:
    for size in _QUICK_SIZES if effort.quick else _SIZES:
        for window in _WINDOWS:
            yield Run(label=_label(window, size), scenario=_transferred(window, size), measure=_first_flights)


def _saved(results: Results) -> Mapping[int, float]:
    """Return seconds that four initial segments save against one segment, by size."""
    return {
        size: results.value(_label(1, size), "transfer_s") - results.value(_label(4, size), "transfer_s")
        for size in _SIZES
        if _label(1, size) in results.measured
    }


def _judge(results: Results) -> Judgement:
    waits = [
        Comparison(
            what=f"the first data's wait for its ACK, initial window of {window}",
            unit="s",
            published=_DELAYED_ACK_S if window == 1 else 0.0,
            ours=results.mean(_label(window, _SHORT), "wait_s"),
            tolerance=_TIMER,
            shape_tolerance=_DELAYED_ACK_S / 2,
            absolute=True,
        )
        for window in _WINDOWS
    ]
    short = {window: results.value(_label(window, _SHORT), "transfer_s") / _RTT_S for window in (1, 4)}
    times = [
        Comparison(
            what=what,
            unit=unit,
            published=published,
            ours=Mean(ours),
            tolerance=_ROUND_TRIPS,
            shape_tolerance=_ROUND_TRIPS_SHAPE,
        )
        for what, unit, published, ours in (
            ("maximum saving of four segments against one", "s", _SAVED_S, max(_saved(results).values())),
            ("less than 4 KB from the request on, initial window of 4", "round trips", 1.0, short[4]),
            ("less than 4 KB from the request on, initial window of 1", "round trips", (2.0, inf), short[1]),
        )
    ]
    return judged([*waits, *times], remarks=_REMARKS)


_REMARKS: Final = (
    "Segments of 1 KB, as in section 3.4. The delayed-ACK timer starts with the segment here; with a host's"
    " heartbeat the delay is between 0 and 200 ms."
)


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    import altair as alt
    import polars as pl

    rows = [
        {"bytes": size, "transfer, s": results.value(_label(window, size), "transfer_s"), "first window": window}
        for size in _saved(results)
        for window in _WINDOWS
    ]
    drawn = alt.Chart(pl.DataFrame(rows)).mark_line(point=True)
    return {
        "Section 3.4.1: transfers by the initial window": drawn.encode(
            x="bytes:Q", y="transfer, s:Q", color="first window:O"
        )
    }


#: Section 3.4.1.
INITIAL_WINDOW: Final = Experiment(
    claim="B8", studies=frozenset({"initial_window"}), runs=_runs, judge=_judge, charts=_charts
)

"""B7: T/TCP and shared control blocks (section 3.1.1)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.networks import path
from reference_sim.papers.bhalekar_2003.scenarios import RENO, SEGMENT, seconds
from reference_sim.reproduction.drawing import bars
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record, Scenario, Transfer
from reference_sim.stack import Sharing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import altair as alt

    from reference_sim.simulation import Simulation
    from reference_sim.stack import Stack

__all__ = ["SHARED_STATE", "two_connections"]

_S: Final = 10**9
#: One-way delay of the satellite. The paper prints no rates here; 10 Mb/s avoids queueing.
_WAY: Final = 2 * SEGMENT
_RTT_S: Final = 2 * _WAY / _S
_NETWORK: Final = path("satellite-alone", rate=10**7, delay=_WAY)
#: OPNET's large object (4.2.2), repeated until a connection shows its slow start.
_SIZE: Final = 50_000
#: Ten times that, for a connection that is still busy when the second connection opens.
_BUSY: Final = 10 * _SIZE
#: Opening of the second connection: after the end of the first, or during it.
_STARTS: Final = {"serial": (_SIZE, 20 * _S), "concurrent": (_BUSY, 3 * _S)}
#: T/TCP "caches the state information of the connection, such as the RTT and control block parameters" in
#: addition to skipping the handshake (RFC 1644, RFC 2140, section 3). S-TCB is RFC 2140's section 4, which
#: also shares among open connections.
_TRANSPORTS: Final[Mapping[str, Stack]] = {
    "TCP": RENO,
    "T/TCP": replace(RENO, name="ttcp", accelerated_open=True, sharing=Sharing.TEMPORAL),
    "S-TCB": replace(RENO, name="s-tcb", sharing=Sharing.ENSEMBLE),
}
# One segment is ordinary slow start; at least two show sharing.
_MORE_THAN_ONE: Final = (2.0, inf)
_WHOLE: Final = 0.1
_SHAPE: Final = 0.5


def two_connections(stack: Stack, kind: str) -> Scenario:
    """Return two transfers between two hosts: the second after the first (serial), or during it (concurrent)."""
    first, start = _STARTS[kind]
    transfers = (
        Transfer(node="client", stack=stack, server_node="server", server_stack=stack, start=at, files=(size,))
        for at, size in ((0, first), (start, _SIZE))
    )
    return Scenario(network=_NETWORK, transfers=tuple(transfers), record=Record(packets=True))


def _second_connection(simulation: Simulation) -> Mapping[str, float]:
    """Return the second connection's time, round trips before its first data, and segments of its first flight."""
    truth = simulation.truth
    rows = truth.retrievals.filter(truth.retrievals["client"] == 1)
    packets = truth.packets.filter((truth.packets["connection"] == 1) & (truth.packets["payload_bytes"] > 0))
    data = packets.sort("sent")
    (elapsed,) = seconds(rows["end"] - rows["start"])
    (before,) = seconds(data["sent"].head(1) - rows["start"])
    after = seconds(data["sent"] - data["sent"][0])
    flight = sum(time < _RTT_S / 2 for time in after)
    return {"elapsed_s": elapsed, "handshake_rtt": before / _RTT_S, "first_flight": float(flight)}


def _label(transport: str, kind: str) -> str:
    return f"{transport}, {kind}"


def _runs(_effort: Effort) -> Iterable[Run]:
    for transport, stack in _TRANSPORTS.items():
        for kind in _STARTS:
            yield Run(
                label=_label(transport, kind), scenario=two_connections(stack, kind), measure=_second_connection
            )


def _judge(results: Results) -> Judgement:
    def compared(what: str, unit: str, published: float | tuple[float, float], ours: float) -> Comparison:
        return Comparison(
            what=what, unit=unit, published=published, ours=Mean(ours), tolerance=_WHOLE, shape_tolerance=_SHAPE
        )

    def of(transport: str, kind: str, quantity: str) -> float:
        return results.value(_label(transport, kind), quantity)

    handshake = of("TCP", "serial", "handshake_rtt") - of("T/TCP", "serial", "handshake_rtt")
    flights = {
        (transport, kind): of(transport, kind, "first_flight") for transport in _TRANSPORTS for kind in _STARTS
    }
    faster = {
        (transport, kind): of("TCP", kind, "elapsed_s") / of(transport, kind, "elapsed_s")
        for transport in ("T/TCP", "S-TCB")
        for kind in _STARTS
    }
    return judged(
        [
            compared("T/TCP: round trips saved by a cached connection", "round trips", 1.0, handshake),
            compared("TCP: first flight of any connection", "segments", 1.0, flights["TCP", "serial"]),
            compared(
                "T/TCP: first flight after another one", "segments", _MORE_THAN_ONE, flights["T/TCP", "serial"]
            ),
            compared("T/TCP: first flight beside another one", "segments", 1.0, flights["T/TCP", "concurrent"]),
            compared(
                "S-TCB: first flight after another one", "segments", _MORE_THAN_ONE, flights["S-TCB", "serial"]
            ),
            compared(
                "S-TCB: first flight beside another one",
                "segments",
                _MORE_THAN_ONE,
                flights["S-TCB", "concurrent"],
            ),
            *(
                compared(f"{transport}: TCP's time over its own, {kind}", "ratio", (1.0, inf), ratio)
                for (transport, kind), ratio in faster.items()
            ),
        ],
        remarks="T/TCP caches the state of closed connections (RFC 2140); S-TCB also shares the state of open"
        " connections. Beside an open connection T/TCP still saves the handshake, and is faster by it.",
    )


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    rows = [
        {"transport": name, "kind": kind, "time, s": results.value(_label(name, kind), "elapsed_s")}
        for name in _TRANSPORTS
        for kind in _STARTS
    ]
    drawn = bars(rows, category="transport", value="time, s", group="kind")
    return {"Section 3.1.1: 50 kB on a second connection": drawn}


#: Section 3.1.1.
SHARED_STATE: Final = Experiment(claim="B7", runs=_runs, judge=_judge, charts=_charts)

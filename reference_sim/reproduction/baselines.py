"""Analytic models against the simulator: one response over a new connection, by size, RTT, loss and ACKs.

The path has 10 Mb/s and an unlimited queue. The receive window is never the limit. Losses are random and
affect only data. The models assume the same. Two effects stay that the models lack: headers, and the 200 ms
delay of the ACK of a lone segment. Each model is evaluated only in its stated range of validity. The residual
is the model's excess over the simulator's mean, relative to that mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from reference_sim.models.bounds import bottleneck_bound, propagation_bound
from reference_sim.models.cardwell import handshake_time, transfer_latency
from reference_sim.models.heidemann import http_time
from reference_sim.models.kruse import transfer_time
from reference_sim.models.kurose_ross import object_latency
from reference_sim.models.mathis import mathis_rate
from reference_sim.models.path import Path
from reference_sim.models.pftk import Connection, throughput
from reference_sim.networks import path as network_path
from reference_sim.pages import sized
from reference_sim.reproduction.experiment import Effort, Results, Run
from reference_sim.reproduction.readings import durations
from reference_sim.stacks import stack
from reference_sim.topology import PacketLoss
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reference_sim.reproduction.verdict import Mean
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["CELLS", "MODELS", "Cell", "Row", "retrieval_time", "rows", "runs"]

_MS: Final = 10**6
_NANOSECONDS: Final = 10**9
_MSS: Final = 1460
_RATE_BPS: Final = 10_000_000
_SEGMENTS: Final = (10, 100, 1000)
_RTTS_MS: Final = (20, 100, 500)
_LOSSES: Final = (0.0, 0.01, 0.04)
_ACKED: Final = (1, 2)
#: Larger than the largest response.
_WINDOW_BYTES: Final = 1 << 22
_WINDOW_SCALE: Final = 7
#: ACK delay of a lone segment in the stack.
_DELAYED_ACK_NS: Final = 200 * _MS
_LEAST_TIMEOUT_NS: Final = _NANOSECONDS
#: In slow start, the RTO is an RTT plus the same amount of variation.
_TIMEOUT_ROUND_TRIPS: Final = 2
#: Lossy retrievals vary much more than the claims' runs.
_REPETITIONS_PER_SEED: Final = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """One scenario."""

    segments: int
    rtt_ms: int
    loss: float
    #: Segments per ACK: 2 with delayed ACKs.
    acked: int

    @property
    def label(self) -> str:
        """Label for :class:`Results`."""
        return f"{self.segments} segments, {self.rtt_ms} ms, {self.loss:g} lost, ACK of {self.acked}"

    @property
    def size(self) -> int:
        """Response bytes, including the head."""
        return self.segments * _MSS

    @property
    def path(self) -> Path:
        """Path of the models."""
        return Path(rtt_ns=self.rtt_ms * _MS, rate_bps=_RATE_BPS, mss=_MSS)

    @property
    def connection(self) -> Connection:
        """Parameters of the loss models."""
        rtt = self.rtt_ms * _MS
        timeout = max(_LEAST_TIMEOUT_NS, _TIMEOUT_ROUND_TRIPS * rtt)
        return Connection(rtt_ns=rtt, timeout_ns=timeout, acked=self.acked)


CELLS: Final = tuple(Cell(*values) for values in product(_SEGMENTS, _RTTS_MS, _LOSSES, _ACKED))


@dataclass(frozen=True, slots=True)
class Model:
    """Model, and its prediction for a scenario: nanoseconds, or None outside its range of validity."""

    name: str
    source: str
    time_ns: Callable[[Cell], float | None]


def _lossless(time: Callable[[Cell], int]) -> Callable[[Cell], float | None]:
    return lambda cell: None if cell.loss else time(cell)


def _steady(rate: Callable[[Cell], float]) -> Callable[[Cell], float | None]:
    """Convert a rate in bytes per second to a time: two RTTs, then the transfer.

    The conversion holds for the longest transfers with loss alone.
    """
    return lambda cell: (
        2 * cell.rtt_ms * _MS + cell.size / rate(cell) * _NANOSECONDS
        if cell.loss and cell.segments == max(_SEGMENTS)
        else None
    )


def _cardwell(cell: Cell) -> float:
    delayed = _DELAYED_ACK_NS if cell.acked > 1 else 0
    transfer = transfer_latency(cell.segments, cell.loss, cell.connection, delayed_ack_ns=delayed)
    return handshake_time(cell.loss, 0.0, rtt_ns=cell.rtt_ms * _MS) + transfer


MODELS: Final = (
    Model("propagation bound", "two round trips", lambda cell: propagation_bound(cell.path)),
    Model("bottleneck bound", "size over rate", lambda cell: bottleneck_bound(cell.size, path=cell.path)),
    Model(
        "Heidemann, Obraczka, Touch",
        "Modeling the Performance of HTTP Over Several Transport Protocols, 1997; without loss",
        _lossless(lambda cell: http_time([cell.size], path=cell.path, initial=1, delayed_acks=cell.acked > 1)),
    ),
    Model(
        "Kruse, Allman",
        "Experimentation and Modeling of HTTP Over Satellite Channels, 2001; without loss",
        _lossless(
            lambda cell: (
                cell.rtt_ms * _MS
                + transfer_time(cell.size, path=cell.path, initial=1, delayed_acks=cell.acked > 1)
            )
        ),
    ),
    Model(
        "Kurose, Ross",
        "Computer Networking, 2000, section 3.7; without loss, an ACK a segment",
        lambda cell: None if cell.loss or cell.acked > 1 else object_latency(cell.size, path=cell.path),
    ),
    Model("Cardwell", "Modeling TCP Latency, 2000", _cardwell),
    Model(
        "PFTK",
        "Padhye et al., 1998, the complete formula; 1000 segments with loss",
        _steady(lambda cell: _MSS * throughput(cell.loss, cell.connection)),
    ),
    Model(
        "Mathis",
        "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, 1997; 1000 segments with loss",
        _steady(
            lambda cell: mathis_rate(cell.loss, rtt_ns=cell.rtt_ms * _MS, mss=_MSS, delayed_acks=cell.acked > 1)
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Results of the simulator and the models for a scenario."""

    cell: Cell
    #: Seconds.
    simulated: Mean
    #: Seconds by model name; models outside their validity are absent.
    modelled: Mapping[str, float]

    def residual(self, model: str) -> float:
        """Return the model's excess over the simulator's mean, relative to that mean."""
        return self.modelled[model] / self.simulated.value - 1


def retrieval_time(simulation: Simulation) -> Mapping[str, float]:
    """Return the seconds of the retrieval."""
    (seconds,) = durations(simulation.truth)
    return {"seconds": seconds}


def runs(effort: Effort) -> Iterator[Run]:
    """Yield every scenario: once without loss, repeatedly with loss."""
    for cell in CELLS:
        for seed in range(1, 2 if cell.loss == 0 else 1 + _REPETITIONS_PER_SEED * effort.seeds):
            yield Run(label=cell.label, scenario=_scenario(cell, seed), measure=retrieval_time)


def rows(results: Results) -> list[Row]:
    """Return every scenario with the models' predictions."""
    return [
        Row(
            cell,
            results.mean(cell.label, "seconds"),
            {
                model.name: time_ns / _NANOSECONDS
                for model in MODELS
                if (time_ns := model.time_ns(cell)) is not None
            },
        )
        for cell in CELLS
    ]


def _scenario(cell: Cell, seed: int) -> Scenario:
    reno = stack("reno")
    endless = replace(
        reno,
        receive_buffer=_WINDOW_BYTES,
        send_buffer=_WINDOW_BYTES,
        window_scale=_WINDOW_SCALE,
        acks=replace(reno.acks, every=cell.acked),
    )
    made = retrieval(
        strategy="http10-serial",
        page=sized("response", cell.size),
        network=network_path(
            "baseline",
            rate=_RATE_BPS,
            delay=cell.rtt_ms * _MS // 2,
            loss=(PacketLoss(rate=cell.loss),) if cell.loss else (),
        ),
        client_stack=endless,
        seed=seed,
    )
    (server,) = made.servers
    return replace(made, servers=(replace(server, sizes_include_heads=True),))

"""Random retrievals by HTTP/2, as inputs of the inference."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.http2 import FIRST_WINDOW, Http2, WriteOrder
from reference_sim.networks import path
from reference_sim.page import Constant, Page, objects_of
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.strategies import STRATEGIES
from reference_sim.topology import PacketLoss
from reference_sim.workloads import retrieval, tap_at
from tests.inference.scenarios import STACKS, Case
from tests.inference.validation import inference_of, page_time

if TYPE_CHECKING:
    from reference_sim.page import Object
    from tcptrace_http.inference import Inference

__all__ = ["Told", "random_streams", "told_of"]

_MS: Final = 10**6
_RTT_MS: Final = (5, 300)
_RATE_MBPS: Final = (1, 100)
_BASE_BYTES: Final = (1_500, 80_000)
_IMAGE_BYTES: Final = (200, 120_000)
_IMAGES: Final = 20
_WINDOWS: Final = (FIRST_WINDOW, 1 << 18, 1 << 20)
_CONNECTIONS: Final = (FIRST_WINDOW, 1 << 20, 1 << 24)
#: Share of scenarios with random losses, and with request priorities.
_CHANCE: Final = 0.25
_URGENT: Final = 0.3
_LOSS: Final = (0.001, 0.02)


@dataclass(frozen=True)
class Told:
    """Inference of one scenario, beside the truth."""

    seed: int
    at: str
    strategy: str
    inference: Inference
    #: Relative error of the inferred scenario's duration.
    off: float

    @property
    def is_right(self) -> bool:
        """Whether the strategy is true, or among the stated alternatives."""
        figure = self.inference.figure("browser.strategy")
        return self.strategy in {figure.value, *figure.alternatives}


def random_streams(seed: int) -> Case:
    """Return one retrieval by HTTP/2, captured at both ends."""
    draw = random.Random(f"streams {seed}")
    where = path(
        "random",
        rate=round(_log_uniform(draw, _RATE_MBPS) * 1_000_000),
        delay=round(_log_uniform(draw, _RTT_MS) * _MS / 2),
    )
    if draw.random() < _CHANCE:
        where = where.with_link(where.links[1].title, loss=(PacketLoss(rate=_log_uniform(draw, _LOSS)),))
    strategy = draw.choice(("http2", "http2", "http2-tls"))
    order = draw.choice(tuple(WriteOrder))
    terms = Http2(
        stream_window=draw.choice(_WINDOWS),
        connection_window=draw.choice(_CONNECTIONS),
        frame_bytes=draw.choice((1 << 13, 1 << 14)),
        order=order,
        waits_for_settings=draw.random() < _CHANCE and strategy == "http2",
    )
    row = STRATEGIES[strategy].but(strategy, "as drawn", http2=terms)
    made = retrieval(
        strategy=row,
        page=Page(name="random", objects=tuple(_objects(draw, order))),
        network=where,
        client_stack=draw.choice(STACKS),
        processing=Constant(value=draw.choice((0, draw.randint(1, 50) * _MS))),
        parse=draw.choice((0, draw.randint(1, 8) * _MS // 2)),
        record=Record(packets=True),
        seed=seed,
    )
    return Case(scenario=replace(made, taps=(tap_at(where, "client"), tap_at(where, "server"))), strategy=strategy)


def _objects(draw: random.Random, order: WriteOrder) -> list[Object]:
    sizes = [round(_log_uniform(draw, _IMAGE_BYTES)) for _ in range(draw.randint(1, _IMAGES))]
    objects = list(objects_of(round(_log_uniform(draw, _BASE_BYTES)), *sizes))
    if order is WriteOrder.PRIORITY or draw.random() < _URGENT:
        objects = [replace(each, request_fields=(f"Priority: u={draw.randint(0, 7)}",)) for each in objects]
    return objects


def told_of(seed: int, at: str) -> Told:
    """Return the inference from the scenario's capture at this end."""
    case = random_streams(seed)
    run = simulate(case.scenario)
    found = inference_of(run, at)
    again = simulate(found.scenario)
    return Told(
        seed=seed, at=at, strategy=case.strategy, inference=found, off=abs(page_time(again) / page_time(run) - 1)
    )


def _log_uniform(draw: random.Random, ends: tuple[float, float]) -> float:
    low, high = ends
    return math.exp(draw.uniform(math.log(low), math.log(high)))

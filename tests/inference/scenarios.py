"""Random retrievals of ordinary stacks: what the inference is asked to find again."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Final

from reference_sim.networks import path
from reference_sim.page import Constant, Page, objects_of
from reference_sim.scenario import Record, Scenario
from reference_sim.workloads import retrieval, tap_at

STRATEGIES: Final = (
    "http10-serial",
    "http10-parallel",
    "http10-parallel-4",
    "http10-parallel-all",
    "http10-keep-alive",
    "http10-keep-alive-x4",
    "http11",
    "http11-pipelined",
)
STACKS: Final = ("reno", "newreno", "sunos-4.1.3", "bsd-4.4", "netbsd-1.2.1", "linux-2.0", "linux-6")
_MS: Final = 10**6
_RTT_MS: Final = (1, 600)
_RATE_MBPS: Final = (0.2, 100)
_BASE_BYTES: Final = (1_500, 60_000)
_IMAGE_BYTES: Final = (200, 40_000)
_IMAGES: Final = 16
_CLOCK: Final = 10**9


def random_scenario(seed: int) -> Scenario:
    """One retrieval, captured at both ends."""
    draw = random.Random(seed)
    where = path(
        "random",
        rate=round(_log_uniform(draw, _RATE_MBPS) * 1_000_000),
        delay=round(_log_uniform(draw, _RTT_MS) * _MS / 2),
    )
    base = round(_log_uniform(draw, _BASE_BYTES))
    images = [round(_log_uniform(draw, _IMAGE_BYTES)) for _ in range(draw.randint(1, _IMAGES))]
    made = retrieval(
        strategy=draw.choice(STRATEGIES),
        page=Page(name="random", objects=objects_of(base, *images)),
        network=where,
        client_stack=draw.choice(STACKS),
        processing=Constant(value=draw.choice((0, draw.randint(1, 50) * _MS))),
        parse=draw.choice((0, draw.randint(1, 8) * _MS // 2)),
        record=Record(),
        seed=seed,
    )
    # The hosts' clocks were running before.
    browsers = tuple(replace(browser, start=draw.randint(0, _CLOCK)) for browser in made.browsers)
    return replace(made, browsers=browsers, taps=(tap_at(where, "client"), tap_at(where, "server")))


def strategy_of(seed: int) -> str:
    """The strategy that :func:`random_scenario` draws for this seed: a scenario does not keep the name."""
    draw = random.Random(seed)
    _log_uniform(draw, _RATE_MBPS)
    _log_uniform(draw, _RTT_MS)
    _log_uniform(draw, _BASE_BYTES)
    for _ in range(draw.randint(1, _IMAGES)):
        _log_uniform(draw, _IMAGE_BYTES)
    return draw.choice(STRATEGIES)


def _log_uniform(draw: random.Random, ends: tuple[float, float]) -> float:
    low, high = ends
    return math.exp(draw.uniform(math.log(low), math.log(high)))

"""Random retrievals of ordinary stacks, as inputs of the inference."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.networks import path
from reference_sim.page import Constant, Exponential, Law, Page, Uniform, objects_of
from reference_sim.scenario import KeepAlive, Record, Scenario, Server, Writes
from reference_sim.stack import Nagle
from reference_sim.topology import (
    ByteQueue,
    DataSegments,
    Loss,
    Network,
    PacketLoss,
    PacketQueue,
    Queue,
    Unlimited,
)
from reference_sim.workloads import retrieval, tap_at

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_S: Final = 10**9
_RTT_MS: Final = (1, 600)
_RATE_MBPS: Final = (0.2, 100)
_BASE_BYTES: Final = (1_500, 60_000)
_IMAGE_BYTES: Final = (200, 40_000)
_IMAGES: Final = 16
_CLOCK: Final = 10**9
_BITS_A_BYTE: Final = 8
_FULL: Final = 1500
#: Share of scenarios with random packet losses, with lost segments, and with a bounded queue.
_CHANCE: Final = 0.25
_SEGMENTS: Final = 0.1
_BOUNDED: Final = 0.25
_LOSS: Final = (0.001, 0.03)
#: Queue limits as a share of the bandwidth-delay product, and a minimum in packets.
_OF_PRODUCT: Final = (0.2, 2.0)
_LEAST_PACKETS: Final = 3
#: Share of servers with split writes, with another Nagle variant, and with a limit on requests.
_WRITES: Final = 0.4
_NAGLE: Final = 0.4
_CLOSES: Final = 0.15
_SOME_REQUESTS: Final = (2, 6)
_WAYS: Final = (
    Writes(head_alone=True),
    Writes(chunk_bytes=4096),
    Writes(chunk_bytes=8192),
    Writes(head_alone=True, chunk_bytes=4096),
)


@dataclass(frozen=True)
class Case:
    """Scenario, and the name of its strategy, which a scenario does not keep."""

    scenario: Scenario
    strategy: str


def random_case(seed: int) -> Case:
    """Return one retrieval, captured at both ends."""
    draw = random.Random(seed)
    where = path(
        "random",
        rate=round(_log_uniform(draw, _RATE_MBPS) * 1_000_000),
        delay=round(_log_uniform(draw, _RTT_MS) * _MS / 2),
    )
    base = round(_log_uniform(draw, _BASE_BYTES))
    images = [round(_log_uniform(draw, _IMAGE_BYTES)) for _ in range(draw.randint(1, _IMAGES))]
    strategy = draw.choice(STRATEGIES)
    made = retrieval(
        strategy=strategy,
        page=Page(name="random", objects=objects_of(base, *images)),
        network=where,
        client_stack=draw.choice(STACKS),
        processing=Constant(value=draw.choice((0, draw.randint(1, 50) * _MS))),
        parse=draw.choice((0, draw.randint(1, 8) * _MS // 2)),
        record=Record(packets=True),
        seed=seed,
    )
    # The hosts' clocks already run at the start.
    browsers = tuple(replace(browser, start=draw.randint(0, _CLOCK)) for browser in made.browsers)
    made = replace(made, browsers=browsers, taps=(tap_at(where, "client"), tap_at(where, "server")))
    (server,) = made.servers
    made = replace(made, servers=(_varied(draw, server),), network=_troubled(draw, where))
    return Case(scenario=made, strategy=strategy)


def random_scenario(seed: int) -> Scenario:
    """Return the scenario of :func:`random_case`."""
    return random_case(seed).scenario


def _varied(draw: random.Random, server: Server) -> Server:
    """Return a server with random writes, Nagle variant, processing time and close."""
    if draw.random() < _WRITES:
        server = replace(server, writes=draw.choice(_WAYS))
    if draw.random() < _NAGLE:
        nagle = draw.choice(tuple(Nagle))
        server = replace(server, stack=replace(server.stack, nagle=nagle))
    if server.keep_alive is not None and draw.random() < _CLOSES:
        server = replace(server, keep_alive=KeepAlive(max_requests=draw.randint(*_SOME_REQUESTS)))
    return replace(server, processing=_processing(draw, server.processing))


def _processing(draw: random.Random, constant: Law) -> Law:
    """Return the constant, or a distribution of server times."""
    low, mean = draw.randint(0, 5) * _MS, draw.randint(1, 40) * _MS
    laws: Sequence[Law] = (constant, constant, Uniform(low=low, high=low + mean), Exponential(mean=float(mean)))
    return draw.choice(laws)


def _troubled(draw: random.Random, network: Network) -> Network:
    """Return the network with losses towards the client, or a bounded queue at both ends, or both."""
    loss: tuple[Loss, ...] = ()
    if draw.random() < _CHANCE:
        loss = (PacketLoss(rate=_log_uniform(draw, _LOSS)),)
    if draw.random() < _SEGMENTS:
        loss = (*loss, DataSegments(segments=tuple(sorted(draw.sample(range(8), draw.randint(1, 2))))))
    queue = _queue(draw, network) if draw.random() < _BOUNDED else Unlimited()
    there, back = (link.title for link in network.links)
    return network.with_link(there, queue=queue).with_link(back, queue=queue, loss=loss)


def _queue(draw: random.Random, network: Network) -> Queue:
    link = network.links[0]
    product = (link.rate or 0) * 2 * int(link.delay) / _S / _BITS_A_BYTE
    packets = max(round(_log_uniform(draw, _OF_PRODUCT) * product / _FULL), _LEAST_PACKETS)
    return draw.choice((PacketQueue(limit=packets), ByteQueue(limit=packets * _FULL)))


def _log_uniform(draw: random.Random, ends: tuple[float, float]) -> float:
    low, high = ends
    return math.exp(draw.uniform(math.log(low), math.log(high)))

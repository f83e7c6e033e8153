"""Random scenarios: every strategy and stack, many networks, pages and servers, by seed and number.

Sizes are small to moderate: thousands of scenarios run in minutes. Effects that no capture at one end can
show are excluded. A server's pause between writes is either absent, or longer than the path and a delayed
ACK: a shorter pause could end inside a Nagle hold without a trace.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.networks import NETWORKS, path, with_users
from reference_sim.page import Constant, Exponential, Page, Uniform, objects_of
from reference_sim.scenario import (
    Browser,
    KeepAlive,
    NodeTap,
    Record,
    Scenario,
    Server,
    SlowReading,
    Writes,
)
from reference_sim.stack import Heartbeat
from reference_sim.stacks import PRESETS
from reference_sim.strategies import STRATEGIES
from reference_sim.strategy import Place, Protocol
from reference_sim.topology import DataSegments, GilbertElliott, PacketLoss, PacketQueue, Unlimited
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from reference_sim.page import Law
    from reference_sim.stack import Stack
    from reference_sim.strategy import Strategy
    from reference_sim.topology import Loss, Network, Queue

__all__ = ["STRATA", "RandomScenario", "held_out_scenario", "random_scenario", "stratum_of"]

_MS: Final = 10**6
_S: Final = 10**9
_BITS: Final = 8
#: Bits per second: a modem to a fast LAN.
_RATES: Final = (56_000, 256_000, 800_000, 1_500_000, 1_536_000, 6_000_000, 10_000_000, 100_000_000)
#: Below 1.5 Mb/s, only one connection at a time. Otherwise another connection's packets on the slow link
#: would look like a server without data.
_PARALLEL_RATES: Final = 3
#: Strategies with true waits.
_HTTP: Final = sorted(
    name for name, known in STRATEGIES.items() if known.protocol is not Protocol.FTP and known.http2 is None
)
#: One-way delay in milliseconds, from a LAN to a geostationary satellite.
_DELAYS_MS: Final = (0.1, 0.5, 2, 5, 10, 25, 50, 75, 140, 280)
_LOSSY_SHARE: Final = 0.3
#: Maximum serialization time of a page, and its maximum size in bytes.
_WIRE_SECONDS: Final = 15
_PAGE_BYTES_MAX: Final = 150_000
#: Longer than any delayed ACK and any RTT here.
_GAPS_NS: Final = (1100 * _MS, 1500 * _MS)
#: Stacks that only work with their own kind: no MSS option, or state shared between both ends.
_ALIKE: Final = ("tahoe-ns", "fulltcp-ns", "reno-ns", "ttcp", "rwbp")
#: Stacks to choose from: additional rows would change the choices of a seed.
_LATER: Final = ("linux-6-", "reno-decay-capped", "etcp-fair-aged", "etcp-fair-delayed-acks")
_ROWS: Final = {name: preset for name, preset in PRESETS.items() if not name.startswith(_LATER)}
_KB: Final = 1024
#: Strata of server stacks: today's kernel, other stacks with a window per connection, stacks with a shared
#: window.
STRATA: Final = ("linux", "other", "shared")
_TODAYS: Final = "linux-6"
#: Scenarios of each stratum among this many consecutive held-out scenarios.
_HELD_OUT: Final = {"linux": 5, "other": 4, "shared": 1}


@dataclass(frozen=True, slots=True)
class RandomScenario:
    scenario: Scenario
    #: Description for a reader.
    words: str


def random_scenario(seed: int, number: int) -> RandomScenario:
    """Return the scenario of this number: all stacks have the same probability."""
    return _drawn(random.Random(f"{seed}/{number}"), _HTTP, sorted(_ROWS))


def held_out_scenario(seed: int, number: int) -> RandomScenario:
    """Return the held-out scenario of this number: half have today's server stack, a tenth a shared window.

    Clients use that server directly, without a hub or cache with another stack.
    """
    in_turn = [stratum for stratum, many in _HELD_OUT.items() for _ in range(many)]
    stratum = in_turn[number % len(in_turn)]
    servers = sorted(name for name, preset in _ROWS.items() if stratum_of(preset.stack) == stratum)
    strategies = [
        name
        for name in _HTTP
        if STRATEGIES[name].place is Place.ORIGIN
        and (stratum == "shared" or "sharing" not in STRATEGIES[name].server_stack)
    ]
    return _drawn(random.Random(f"held out/{seed}/{number}"), strategies, servers)


def stratum_of(server: Stack) -> str:
    """Return the stratum of :data:`STRATA` of a server's stack."""
    if server.sharing.value != "none":
        return "shared"
    # A strategy that changes a knob appends its name to the stack's name.
    return "linux" if server.name.split()[0] == _TODAYS else "other"


def _drawn(draw: random.Random, strategies: list[str], servers: list[str]) -> RandomScenario:
    strategy = STRATEGIES[draw.choice(strategies)]
    client, server = _stacks(draw, servers)
    network, about = _network(draw, strategy)
    rate = min(link.rate for link in network.links if isinstance(link.rate, int))
    page = _page(draw, rate)
    made = retrieval(
        strategy=strategy,
        page=page,
        network=network,
        client_stack=client,
        server_stack=server,
        think=Uniform(low=200 * _MS, high=6 * _S),
        parse=draw.choice((0, 0, 3 * _MS, 20 * _MS)),
        processing=_processing(draw),
        seed=draw.randrange(1 << 32),
    )
    first, *others = made.servers
    scenario = replace(
        made,
        servers=(_writing(draw, first), *others),
        browsers=tuple(_asking(draw, browser) for browser in made.browsers),
        taps=tuple(NodeTap(name=name) for name in (network.clients[0], network.servers[0])),
        record=Record.everything(),
    )
    words = f"{client.name}/{server.name}, {strategy.name}, {about}, {len(page.objects)} objects"
    return RandomScenario(scenario, words)


def _stacks(draw: random.Random, servers: list[str]) -> tuple[Stack, Stack]:
    """Return the stacks of the client and of the server, the latter from ``servers``."""
    name = draw.choice(servers)
    server = PRESETS[name].stack
    is_shared = server.sharing.value != "none"
    others = [other for other, preset in _ROWS.items() if preset.stack.sharing.value == "none"]
    if is_shared or name in _ALIKE or draw.random() < 0.6:
        client = server
    else:
        client = PRESETS[draw.choice(sorted(other for other in others if other not in _ALIKE))].stack
    if draw.random() < 0.1:
        server = replace(server, send_buffer=draw.choice((4, 6, 8, 16)) * _KB)
    if draw.random() < 0.1:
        client = replace(client, receive_buffer=draw.choice((4, 8, 12)) * _KB)
    return _with_phase(draw, client), _with_phase(draw, server)


def _with_phase(draw: random.Random, stack: Stack) -> Stack:
    """Return a heartbeat with a random phase."""
    delay = stack.acks.delay
    if not isinstance(delay, Heartbeat):
        return stack
    period = delay.period if isinstance(delay.period, int) else 200 * _MS
    return replace(stack, acks=replace(stack.acks, delay=replace(delay, phase=draw.randrange(period))))


def _network(draw: random.Random, strategy: Strategy) -> tuple[Network, str]:
    if strategy.place is Place.HUB:
        return NETWORKS["satellite-hub"], "satellite-hub"
    is_parallel = strategy.connections is None or strategy.connections > 1
    rate = draw.choice(_RATES[_PARALLEL_RATES:] if is_parallel else _RATES)
    delay_ms = draw.choice(_DELAYS_MS)
    queue: Queue = draw.choice((Unlimited(), Unlimited(), PacketQueue(limit=50), PacketQueue(limit=15)))
    loss = _loss(draw) if draw.random() < _LOSSY_SHARE else ()
    made = path(
        "random",
        rate=rate,
        delay=round(delay_ms * _MS),
        queue=queue,
        loss=loss,
        framing_bytes=draw.choice((0, 14)),
    )
    made = with_users(made) if strategy.place is Place.CACHE else made
    words = f"{rate / 1e6:g} Mb/s {delay_ms} ms"
    return made, words + (f" {loss[0].kind} lost" if loss else "")


def _loss(draw: random.Random) -> tuple[Loss, ...]:
    return (
        draw.choice(
            (
                DataSegments(segments=(draw.randrange(12),)),
                DataSegments(segments=(draw.randrange(6), draw.randrange(6, 20))),
                PacketLoss(rate=draw.choice((0.005, 0.02))),
                GilbertElliott(good_to_bad=0.01, bad_to_good=0.5),
            )
        ),
    )


def _page(draw: random.Random, rate: int) -> Page:
    most = min(_PAGE_BYTES_MAX, rate // _BITS * _WIRE_SECONDS)
    count = draw.choice((1, 1, 2, 3, 4, 6, 10))
    sizes = [min(most // count, int(draw.lognormvariate(8.6, 1.2)) + 40) for _ in range(count)]
    return Page(name="random", objects=objects_of(sizes[0], *sizes[1:]))


def _processing(draw: random.Random) -> Law:
    return draw.choice(
        (Constant(value=0), Constant(value=0), Uniform(low=0, high=60 * _MS), Exponential(mean=40.0 * _MS))
    )


def _writing(draw: random.Random, server: Server) -> Server:
    chunk = draw.choice((None, None, None, 512, 1024, 2048, 4096, 8192))
    gap = draw.choice(_GAPS_NS) if chunk and chunk > 2 * _KB and draw.random() < 0.3 else 0
    most = draw.choice((None, None, 5))
    return replace(
        server,
        writes=Writes(head_alone=draw.random() < 0.4, chunk_bytes=chunk, gap=gap),
        keep_alive=KeepAlive(max_requests=most) if server.keep_alive else None,
    )


def _asking(draw: random.Random, browser: Browser) -> Browser:
    reading = None
    if draw.random() < 0.05:
        reading = SlowReading(
            after_bytes=draw.choice((0, 4 * _KB, 16 * _KB)), pause=draw.choice((300, 1500)) * _MS
        )
    return replace(
        browser,
        visits=browser.visits * draw.choice((1, 1, 2, 3)),
        min_request_bytes=draw.choice((0, 0, 300, 600)),
        reading=reading,
    )

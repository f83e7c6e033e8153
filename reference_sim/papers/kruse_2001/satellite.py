"""Measurement setup of the paper (section 4), and our choices where the paper is silent.

The choices: the network ``satellite`` sets the RTT of 0.56 s and the routers' queues. Server and HTTP/1.1
client do not use Nagle's algorithm. Netscape's first GET is split. Each repetition has another phase of the
hosts' 200 ms heartbeat.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.models import Path
from reference_sim.networks import network as network_named
from reference_sim.page import Constant
from reference_sim.papers.kruse_2001.splits import page_of, sizes_of
from reference_sim.scenario import Record
from reference_sim.stack import Nagle
from reference_sim.stacks import stack
from reference_sim.strategies import named_strategy
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation
    from reference_sim.stack import Stack
    from reference_sim.strategy import Strategy
    from reference_sim.topology import Network

__all__ = ["ALONE", "ALONE_4K", "FOUR", "HOST", "PIPELINED", "PIPELINED_4K", "RTT_NS", "SECOND", "SERVER"]
__all__ += ["STRATEGIES", "T1", "Way", "page_seconds", "retrieved", "round_trips"]

SECOND: Final = 10**9
#: RTT: the unit of "the data points overlap" and "1 RTT".
RTT_NS: Final = 560 * 10**6
_T1_BPS: Final = 1_536_000
#: Path of the models.
T1: Final = Path(rtt_ns=RTT_NS, rate_bps=_T1_BPS)

#: Both hosts ran NetBSD 1.2.1 with two bugs fixed.
HOST: Final = stack("netbsd-1.2.1")
#: Server: Apache 1.2b11. Apache disables Nagle's algorithm from 1.2 on (Heidemann 1996, section 3: his fix
#: "will be in the next release"; Apache's list of changes, 1.2b7: not "if system doesn't have TCP_NODELAY").
SERVER: Final = replace(HOST, nagle=Nagle.OFF)
#: HTTP/1.1 client: WebBot, the robot of Nielsen et al. 1997 (SIGCOMM), who disable Nagle's algorithm for
#: pipelined requests. With Nagle, all GETs but the first would wait for an RTT.
WEBBOT: Final = replace(HOST, nagle=Nagle.OFF)

# Section 5.3.2: Netscape sends its first GET in two packets. We assume the same with one connection as with
# four.
_SPLIT_AFTER: Final = named_strategy("http10-keep-alive-x4-split").split_request
# Five phases of the 200 ms heartbeat.
_PHASES: Final = 5
_PHASE_STEP_NS: Final = 40 * 10**6


@dataclass(frozen=True, slots=True)
class Way:
    """Retrieval method of the figures."""

    title: str
    strategy: str
    connections: int
    #: Initial window in segments: equation 1 gives 3.
    initial: int
    is_pipelined: bool = False
    splits_request: bool = False


ALONE: Final = Way("HTTP/1.0, 1 connection", "http10-keep-alive", 1, 1, splits_request=True)
ALONE_4K: Final = Way("HTTP/1.0, 1 connection, 4K window", "http10-keep-alive-4k", 1, 3, splits_request=True)
FOUR: Final = Way("HTTP/1.0, 4 connections", "http10-keep-alive-x4", 4, 1, splits_request=True)
PIPELINED: Final = Way("HTTP/1.1, pipelined", "http11-pipelined", 1, 1, is_pipelined=True)
PIPELINED_4K: Final = Way("HTTP/1.1, pipelined, 4K window", "http11-pipelined-4k", 1, 3, is_pipelined=True)
#: All compared methods; only the text describes the first.
STRATEGIES: Final = (ALONE, ALONE_4K, FOUR, PIPELINED, PIPELINED_4K)


def strategy_of(way: Way) -> Strategy:
    """Return the strategy, with Netscape's split request if the method uses Netscape."""
    chosen = named_strategy(way.strategy)
    return replace(chosen, split_request=_SPLIT_AFTER) if way.splits_request else chosen


def retrieved(  # noqa: PLR0913 -- one parameter a choice
    name: str,
    way: Way,
    *,
    split: str,
    number: int,
    over: Network | None = None,
    server: Stack = SERVER,
    processing_ns: int = 0,
    seed: int = 1,
    record: Record | None = None,
) -> Scenario:
    """Return one retrieval of a page; ``number`` selects the heartbeat phase, and a random split.

    ``processing_ns`` is the server's time per request.
    """
    made = retrieval(
        strategy=strategy_of(way),
        page=page_of(name, sizes_of(name, split, number)),
        network=over or network_named("satellite"),
        client_stack=WEBBOT if way.is_pipelined else HOST,
        server_stack=server,
        processing=Constant(value=processing_ns),
        record=record or Record(),
        seed=seed,
    )
    (browser,) = made.browsers
    started = replace(browser, start=number % _PHASES * _PHASE_STEP_NS)
    # The experiment reads no frames.
    return replace(made, browsers=(started,), taps=())


def page_seconds(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds from the first SYN to the last byte of the page."""
    return {"seconds": simulation.totals.retrieval_ns / SECOND}


def round_trips(seconds: float) -> float:
    """Convert seconds to RTTs."""
    return seconds * SECOND / RTT_NS

"""Simulations of Figures 5 and 6: five pages, four situations, Reno and four schedulers.

The paper's simulator (a beta of ns-2.1) had one-way TCP only: no SYN, no FIN, no request. The server's agent
began to send each wanted object at once. The authors then added two round trips to the measured time, one for
a repeated access. In this engine's terms:

- The client's SYN carries the request and arrives at the server at once (:attr:`Link.opens_at_once`), for
  Reno as for E-TCP: both use T/TCP. Only the first connection has a handshake.
- :data:`ADDED_S` is added to each time: the paper's addition less the engine's own share.
- Object sizes are sizes of whole responses in whole packets. A segment holds 512 bytes of payload in addition
  to T/TCP's option: ns-2's agents send no shorter packet and count their window in packets.
- Control packets occupy none of the ten queue places: the queue counts bytes (:data:`QUEUE_BYTES`).

In ns-2.35 (Debian) without SYNs, the same bundles of Reno connections end within 0.1 s of ours, with and
without losses: ``tests/simulator/ns2/bundle.tcl``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, Final

from reference_sim.networks import network
from reference_sim.page import Constant, Object, Page, expected
from reference_sim.page_versions import once, twice
from reference_sim.pages import page
from reference_sim.plan import HttpVersion
from reference_sim.reproduction.experiment import Run
from reference_sim.scenario import Record, Scenario
from reference_sim.stack import IdleRestart, Sharing, Stack
from reference_sim.stacks import stack
from reference_sim.strategy import Discovery, Strategy
from reference_sim.topology import ByteQueue, Network, PacketQueue, Unlimited
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from reference_sim.reproduction.experiment import Results
    from reference_sim.simulation import Simulation

__all__ = [
    "LEAST_TIMEOUT_NS",
    "LINKS_STAND_IN",
    "LOSS",
    "PAGES",
    "SCHEDULERS",
    "Bars",
    "Cell",
    "Situation",
    "Transport",
    "accesses",
    "gain",
    "measure",
    "network_of",
    "page_of",
    "page_run",
    "quantity",
    "stack_of",
]

PAGES: Final = ("text", "map", "graphics", "frames", "java")


class Situation(StrEnum):
    """Network and client of section 4."""

    MODEL = "model"
    CLIENT = "realistic client"
    NETWORK = "realistic network"
    REALISTIC = "realistic"

    @property
    def connections(self) -> int | None:
        """Maximum number of connections."""
        return 4 if self in {Situation.CLIENT, Situation.REALISTIC} else None

    @property
    def network(self) -> str:
        """Networks without and with the queue limit."""
        return "eggert-10" if self in {Situation.NETWORK, Situation.REALISTIC} else "eggert"


class Transport(StrEnum):
    """Transport of a page's connections."""

    RENO = "Reno"
    CONTENT_DEPENDENT = "content-dependent"
    TICKET_DECAY = "ticket decay"
    FAIR = "fair"
    HTML_PRE = "HTML-pre"

    @property
    def sharing(self) -> Sharing:
        """Name in the engine."""
        return _SHARINGS[self]


_SHARINGS: Final = {
    Transport.RENO: Sharing.NONE,
    Transport.CONTENT_DEPENDENT: Sharing.ETCP_CONTENT_DEPENDENT,
    Transport.TICKET_DECAY: Sharing.ETCP_TICKET_DECAY,
    Transport.FAIR: Sharing.ETCP_FAIR,
    Transport.HTML_PRE: Sharing.ETCP_HTML_PRE,
}
SCHEDULERS: Final = tuple(one for one in Transport if one is not Transport.RENO)

#: Share of the document that holds its links, evenly; 0: all links in the first packet. The paper prints
#: neither positions nor sizes. Tens of connections are open while the 16 packets of the Java page's HTML are
#: sent (section 4.2). The text page's HTML has multiple losses beside three images (section 4.4). Both need
#: links near the start: with links over the whole document, the text page loses no packet. E1's remarks give
#: the results of other positions.
LINKS_STAND_IN: Final = 0.0
#: Two ticks of 0.1 s: ns-2's tcp.cc from 1997 to 1999 ("timeout < 2 * tcp_tick_") had no other minimum. E4's
#: remarks give the results with the 1 s of later versions.
LEAST_TIMEOUT_NS: Final = 200_000_000
# Section 4: 512 bytes; T/TCP's connection count is an option of 6 bytes, padded to 8.
_SEGMENT_BYTES: Final = 512
_COUNT_BYTES: Final = 8
_HEADER_BYTES: Final = 40
#: Ten places of ns-2's DropTail, which drops the tenth waiting packet: nine whole packets wait, and the
#: remaining bytes admit a control packet.
QUEUE_BYTES: Final = 10 * (_SEGMENT_BYTES + _COUNT_BYTES + _HEADER_BYTES) - 1
# Above any window: 20 packets (ns-2's window_).
_RECEIVE_BYTES: Final = 65_535
#: "1.5 RTT are added to the measured times", "another 0.5 RTT" for the request (section 4), one RTT less for
#: a repeated access (section 5). A first access here takes one of these RTTs itself.
ADDED_S: Final = 0.1
# Pause before the second access: the first access's connections are then closed.
_PAUSE_NS: Final = 5 * 10**9
#: Share of packets dropped by the bottleneck's queue.
LOSS: Final = "loss"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """Bar of Figure 5, and of Figure 6 with its repetition."""

    page: str
    situation: Situation
    transport: Transport
    links_stand_in: float = LINKS_STAND_IN
    least_timeout_ns: int = LEAST_TIMEOUT_NS
    is_paced_by_ticks: bool = True

    @property
    def label(self) -> str:
        """Label among the results."""
        choices = f"links {self.links_stand_in:g}, timeout {self.least_timeout_ns / 10**9:g} s"
        if not self.is_paced_by_ticks:
            choices += ", an exact pace"
        return f"{self.situation}, {self.page}, {self.transport}, {choices}"

    def run(self) -> Run:
        """Simulation of the bar."""
        return Run(label=self.label, scenario=self.scenario(), measure=measure)

    def scenario(self) -> Scenario:
        """Return the access, followed by a second access for E-TCP."""
        is_shared = self.transport is not Transport.RENO
        strategy = Strategy(
            name=f"eggert-{self.transport}",
            about="HTTP/1.0 as Eggert 1999 simulates it",
            source="Eggert 1999, section 4",
            version=HttpVersion.HTTP10,
            connections=self.situation.connections,
            discovery=Discovery.STREAMING,
            revisit=twice if is_shared else once,
        )
        return accesses(
            strategy=strategy,
            page=page_of(self.page, links_stand_in=self.links_stand_in),
            network=network_of(self.situation),
            stack=stack_of(
                self.transport.sharing,
                least_timeout_ns=self.least_timeout_ns,
                is_paced_by_ticks=self.is_paced_by_ticks,
            ),
        )


def accesses(*, strategy: Strategy, page: Page, network: Network, stack: Stack) -> Scenario:
    """Return the visits of a strategy in ns-2's terms: sizes with heads; only results are recorded."""
    made = retrieval(
        strategy=strategy,
        page=page,
        network=network,
        client_stack=stack,
        think=Constant(value=_PAUSE_NS),
        record=Record(),
    )
    servers = tuple(replace(server, sizes_include_heads=True) for server in made.servers)
    return replace(made, servers=servers, taps=())


def page_run(
    label: str,
    strategy: Strategy,
    page: str,
    *,
    situation: Situation = Situation.MODEL,
    stack: Stack | None = None,
) -> Run:
    """Return a page fetched by a strategy; by default over the paper's Reno connections without sharing."""
    made = accesses(
        strategy=strategy,
        page=page_of(page),
        network=network_of(situation),
        stack=stack_of(Sharing.NONE) if stack is None else stack,
    )
    return Run(label=label, scenario=made, measure=measure)


def stack_of(
    sharing: Sharing, *, least_timeout_ns: int = LEAST_TIMEOUT_NS, is_paced_by_ticks: bool = True
) -> Stack:
    """Return ns-2's one-way Reno as T/TCP, or E-TCP.

    Reno's RTTs are integers of ns-2's ticks. The RTTs for E-TCP's pacing are rounded as in Figure 3
    (:func:`~reference_sim.papers.eggert_1999.transfers.coarse`), unless ``is_paced_by_ticks`` is false.
    """
    reno = stack("reno-ns")
    is_shared = sharing is not Sharing.NONE
    by_ticks = is_shared and is_paced_by_ticks
    return replace(
        reno,
        name=f"{sharing} of Eggert 1999",
        mss=_SEGMENT_BYTES + _COUNT_BYTES,
        receive_buffer=_RECEIVE_BYTES,
        window_scale=None,
        retransmission=replace(
            reno.retransmission, fixed_point=not by_ticks, on_ticks=by_ticks, min=least_timeout_ns
        ),
        accelerated_open=True,
        sharing=sharing,
        idle_restart=IdleRestart.PACE if is_shared else reno.idle_restart,
    )


def network_of(situation: Situation) -> Network:
    """Return the network in which requests take no time and only data occupies the queue."""
    made = network(situation.network)
    there, back = made.links
    limited = isinstance(back.queue, PacketQueue)
    return replace(
        made,
        links=(
            replace(there, queue=Unlimited(), opens_at_once=True),
            replace(back, queue=ByteQueue(limit=QUEUE_BYTES) if limited else Unlimited()),
        ),
    )


def page_of(name: str, *, links_stand_in: float = LINKS_STAND_IN) -> Page:
    """Return the page in whole packets, its links in the first part of each document."""
    made = page(f"eggert-{name}")
    sizes = [_whole_packets(part) for part in made.objects]
    finders = [part.found_in for part in made.objects[1:]]
    parts = [replace(made.objects[0], size=Constant(value=sizes[0]))]
    for number, part in enumerate(made.objects[1:], start=1):
        place = finders[:number].count(part.found_in) / (finders.count(part.found_in) + 1)
        at = max(1, round(sizes[part.found_in] * links_stand_in * place))
        parts.append(replace(part, size=Constant(value=sizes[number]), found_at=at))
    return made.with_objects(tuple(parts))


def _whole_packets(part: Object) -> int:
    """Return the bytes rounded up to whole packets."""
    return ceil(expected(part.size) / _SEGMENT_BYTES) * _SEGMENT_BYTES


def measure(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds to the end of the HTML and of the page, per access; and the share of lost packets."""
    transactions = simulation.truth.transactions.to_dicts()
    measured = {}
    for row in simulation.truth.retrievals.to_dicts():
        html = [
            one["response_last_received"]
            for one in transactions
            if one["visit"] == row["visit"] and (one["target"] == "/" or one["target"].endswith(".html"))
        ]
        for what, end in (("html", max(html)), ("total", row["end"])):
            measured[quantity(what, again=row["visit"] > 0)] = (end - row["start"]).total_seconds() + ADDED_S
    data = simulation.truth.links.to_dicts()[-1]
    measured[LOSS] = data["drops"] / data["packets"]
    return measured


def quantity(what: str, *, again: bool = False) -> str:
    """Return the result name of a time: ``html`` or ``total``, of the first or repeated access."""
    return f"{what}, repeated" if again else what


@dataclass(frozen=True, slots=True)
class Bars:
    """Times of cells among the results, in seconds."""

    results: Results
    links_stand_in: float = LINKS_STAND_IN
    least_timeout_ns: int = LEAST_TIMEOUT_NS
    is_paced_by_ticks: bool = True

    def time(
        self, what: str, situation: Situation, of: str, transport: Transport, *, again: bool = False
    ) -> float:
        """Return the time of one bar."""
        cell = Cell(
            page=of,
            situation=situation,
            transport=transport,
            links_stand_in=self.links_stand_in,
            least_timeout_ns=self.least_timeout_ns,
            is_paced_by_ticks=self.is_paced_by_ticks,
        )
        return self.results.value(cell.label, quantity(what, again=again))

    def gain(
        self, what: str, situation: Situation, of: str, transport: Transport, *, again: bool = False
    ) -> float:
        """Return the gain over Reno as a share of Reno's time."""
        reno = self.time(what, situation, of, Transport.RENO)
        return gain(self.time(what, situation, of, transport, again=again), reno)


def gain(time: float, reference: float) -> float:
    """Return the reduction of a time as a share of the reference."""
    return 1 - time / reference

"""The simulations behind Figures 5 and 6: five pages, four situations, Reno and four schedulers.

The paper's simulator (a beta of ns-2.1) had one-way TCP only: no SYN, no FIN, no request. Whatever the
client wanted, the server's agent began to send at once, and two round trips were added to what was
measured, one for a repeated access. In this engine's terms:

- The client's SYN carries the request and is at the server at once (:attr:`Link.opens_at_once`), for
  Reno's connections as for E-TCP's: T/TCP for both. Only the first connection has a handshake.
- What the paper adds and the engine does not spend is added to each time: :data:`ADDED_S`.
- The sizes of objects are those of whole responses in whole packets, and a segment holds 512 bytes of
  them beside T/TCP's option: ns-2's agents send no shorter packet, and count their window in packets.
- Control packets take none of the ten places of the queue: they are counted in bytes
  (:data:`QUEUE_BYTES`).

The same bundles of Reno connections in ns-2.35 (Debian), its SYNs off, end within 0.1 s of ours,
with and without losses: ``tests/simulator/ns2/bundle.tcl``.
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
    "quantity",
    "stack_of",
]

PAGES: Final = ("text", "map", "graphics", "frames", "java")


class Situation(StrEnum):
    """A network and a client of section 4."""

    MODEL = "model"
    CLIENT = "realistic client"
    NETWORK = "realistic network"
    REALISTIC = "realistic"

    @property
    def connections(self) -> int | None:
        """How many the client opens at once."""
        return 4 if self in {Situation.CLIENT, Situation.REALISTIC} else None

    @property
    def network(self) -> str:
        """Without and with the queue's limit."""
        return "eggert-10" if self in {Situation.NETWORK, Situation.REALISTIC} else "eggert"


class Transport(StrEnum):
    """What a page's connections are."""

    RENO = "Reno"
    CONTENT_DEPENDENT = "content-dependent"
    TICKET_DECAY = "ticket decay"
    FAIR = "fair"
    HTML_PRE = "HTML-pre"

    @property
    def sharing(self) -> Sharing:
        """As the engine calls it."""
        return _SHARINGS[self]


_SHARINGS: Final = {
    Transport.RENO: Sharing.NONE,
    Transport.CONTENT_DEPENDENT: Sharing.ETCP_CONTENT_DEPENDENT,
    Transport.TICKET_DECAY: Sharing.ETCP_TICKET_DECAY,
    Transport.FAIR: Sharing.ETCP_FAIR,
    Transport.HTML_PRE: Sharing.ETCP_HTML_PRE,
}
SCHEDULERS: Final = tuple(one for one in Transport if one is not Transport.RENO)

#: Links stand in this part of their document, evenly; 0: all in its first packet. The paper prints
#: neither positions nor sizes. That tens of connections are open while the 16 packets of the Java
#: page's HTML are sent (section 4.2), and that the text page's HTML suffers multiple losses beside
#: three images (section 4.4), needs links near the start: spread over the whole document, not one
#: packet of the text page is lost. E1's remarks say what other positions give.
LINKS_STAND_IN: Final = 0.0
#: Two ticks of 0.1 s: ns-2's tcp.cc from 1997 to 1999 ("timeout < 2 * tcp_tick_"), which had no other
#: floor. E4's remarks say what a second gives, as later versions had it.
LEAST_TIMEOUT_NS: Final = 200_000_000
# Section 4: 512 bytes; T/TCP's count is an option of 6 bytes, padded to 8.
_SEGMENT_BYTES: Final = 512
_COUNT_BYTES: Final = 8
_HEADER_BYTES: Final = 40
#: Ten places of ns-2's DropTail, which drops the packet that would be the tenth to wait: nine whole
#: packets wait, and what is left lets a control packet pass.
QUEUE_BYTES: Final = 10 * (_SEGMENT_BYTES + _COUNT_BYTES + _HEADER_BYTES) - 1
# Above any window: 20 packets (ns-2's window_).
_RECEIVE_BYTES: Final = 65_535
#: "1.5 RTT are added to the measured times", "another 0.5 RTT" for the request (section 4), one round
#: trip less for a repeated access (section 5). A first access spends one round trip of that here.
ADDED_S: Final = 0.1
# Before the second access: its connections find those of the first closed.
_PAUSE_NS: Final = 5 * 10**9
#: Packets of which the bottleneck's queue dropped one, as a share.
LOSS: Final = "loss"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One bar of Figure 5, and of Figure 6 with its repetition."""

    page: str
    situation: Situation
    transport: Transport
    links_stand_in: float = LINKS_STAND_IN
    least_timeout_ns: int = LEAST_TIMEOUT_NS
    is_paced_by_ticks: bool = True

    @property
    def label(self) -> str:
        """Its name among the results."""
        choices = f"links {self.links_stand_in:g}, timeout {self.least_timeout_ns / 10**9:g} s"
        if not self.is_paced_by_ticks:
            choices += ", an exact pace"
        return f"{self.situation}, {self.page}, {self.transport}, {choices}"

    def run(self) -> Run:
        """Its simulation."""
        return Run(label=self.label, scenario=self.scenario(), measure=measure)

    def scenario(self) -> Scenario:
        """Return the access, and with E-TCP another one behind it."""
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
    """Return the visits of a strategy with what is ns-2's here: sizes with heads; nothing but results is kept."""
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


def stack_of(
    sharing: Sharing, *, least_timeout_ns: int = LEAST_TIMEOUT_NS, is_paced_by_ticks: bool = True
) -> Stack:
    """ns-2's one-way Reno, told as T/TCP, or E-TCP.

    Reno's round trips are integers of ns-2's ticks. Those by which E-TCP paces are counted as Figure 3
    shows (:func:`~reference_sim.papers.eggert_1999.transfers.coarse`), unless ``is_paced_by_ticks`` is not.
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
    """No request takes time or is lost, and only data takes places of the queue."""
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
    """Its bytes, rounded up to whole packets."""
    return ceil(expected(part.size) / _SEGMENT_BYTES) * _SEGMENT_BYTES


def measure(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds to the end of the HTML and of all, of each access; the share of packets lost."""
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
    """Return the name of a time among the results: ``html`` or ``total``, of the first or repeated access."""
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
        """One bar."""
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
        """How much faster than Reno: a share of Reno's time."""
        reno = self.time(what, situation, of, Transport.RENO)
        return gain(self.time(what, situation, of, transport, again=again), reno)


def gain(time: float, reference: float) -> float:
    """By what share of the reference a time is shorter."""
    return 1 - time / reference

"""Capture with its sidecar as the rules see it, and the answers of a rule.

A rule answers with places. A place that *must* be found has the pathology, by the sidecar or by the packets
alone. A place that *may* be found has the structure, or an undecidable cost: a finding there is neither
required nor wrong. A finding anywhere else is wrong. A place is as specific as the truth: a place without a
client port is the whole capture.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .exchanges import Exchange, exchanges_of
from .wire import SYN, Flow, read_flows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .kernel_truth import Capture

__all__ = ["ANYWHERE", "NOWHERE", "Place", "Rule", "Scene", "Truth", "first_of", "of_exchanges"]


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a pathology: the capture, a flow, a transaction or frames."""

    client_port: int | None = None
    transaction: int | None = None
    first_frame: int | None = None
    last_frame: int | None = None

    def __str__(self) -> str:
        if self.client_port is None:
            return "the capture"
        words = f"port {self.client_port}"
        if self.transaction is not None:
            words += f" transaction {self.transaction}"
        if self.first_frame is not None:
            words += f" frames {self.first_frame}-{self.last_frame}"
        return words


@dataclass(frozen=True, slots=True)
class Truth:
    """Answer of a rule for one detector in one capture.

    Each ``must`` is a tuple of alternative places: a pathology of several transactions is found if a finding
    names one of them.
    """

    must: tuple[tuple[Place, ...], ...] = ()
    may: tuple[Place, ...] = ()

    @classmethod
    def at(cls, must: Iterable[Place], may: Iterable[Place] = ()) -> Truth:
        """Return an answer in which every ``must`` place is required separately."""
        return cls(tuple((place,) for place in must), tuple(may))


ANYWHERE = Truth(may=(Place(),))
NOWHERE = Truth()


@dataclass(frozen=True, slots=True)
class Rule:
    """Judgement of a detector; with ``costs``, structure without cost (``info``) makes no claim."""

    judge: Callable[[Scene], Truth]
    costs: bool = True
    #: Parts of the rule on which experts may disagree; empty if none.
    opinion: str = ""


@dataclass(slots=True)
class Scene:
    """Capture file with its sidecar; packet data is read once, on first use."""

    capture: Capture
    _read: dict[str, Any] = field(default_factory=dict)

    @property
    def sidecar(self) -> dict[str, Any]:
        return self.capture.sidecar

    @property
    def at_server(self) -> bool:
        return self.capture.at_server

    @property
    def flows(self) -> list[Flow]:
        if "flows" not in self._read:
            self._read["flows"] = read_flows(self.capture.path)
        return self._read["flows"]

    @property
    def exchanges(self) -> list[Exchange]:
        """Exchanges of all flows, flow by flow."""
        if "exchanges" not in self._read:
            self._read["exchanges"] = [exchange for flow in self.flows for exchange in exchanges_of(flow)]
        return self._read["exchanges"]

    def of_flow(self, flow: Flow) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.client_port == flow.client_port]

    def flow_of(self, exchange: Exchange) -> Flow:
        return next(flow for flow in self.flows if flow.client_port == exchange.client_port)

    @property
    def client(self) -> dict[str, Any]:
        return self.sidecar.get("client") or {}

    @property
    def server_args(self) -> list[str]:
        return [str(word) for word in (self.sidecar.get("server") or {}).get("args") or []]

    @property
    def is_lwip(self) -> bool:
        """Whether one end is the BSD-like userspace stack, on which the sidecar has less data."""
        words = [str(self.sidecar.get("server", {}).get("software", "")), str(self.client.get("stack", ""))]
        return any("lwip" in word.lower() for word in words) or self.client.get("mode") is None

    @property
    def rtt_ms(self) -> float:
        """RTT of the path: of the link, else of the fastest handshake."""
        configured = self.sidecar.get("link", {}).get("rtt_ms")
        if configured is not None:
            return float(configured)
        return min((seen for flow in self.flows if (seen := flow.handshake_ms()) is not None), default=0.0)

    @property
    def link(self) -> dict[str, Any]:
        return self.sidecar.get("link") or {}

    @property
    def disturbances(self) -> list[dict[str, Any]]:
        """Log of the emulator: dropped packets, and delayed packets (``event``)."""
        return (self.sidecar.get("emulator") or {}).get("drops") or []

    @property
    def drops(self) -> list[dict[str, Any]]:
        return [logged for logged in self.disturbances if logged.get("event", "drop") == "drop"]

    def server_option(self, name: str) -> float | None:
        """Return the number after an option of the server's command line."""
        args = self.server_args
        return float(args[args.index(name) + 1]) if name in args else None

    def counter(self, end: str, name: str) -> int:
        return int(((self.sidecar.get("mib_counters") or {}).get(end) or {}).get(name, 0))

    def max_concurrent(self) -> int:
        """Maximum number of simultaneous connections, from SYN to the last data packet."""
        spans = [
            (flow.packets[0].time_ns, max((p.time_ns for p in flow.packets if p.payload_bytes), default=0))
            for flow in self.flows
            if flow.has_syn
        ]
        events = sorted(itertools.chain(((a, 1) for a, _ in spans), ((b, -1) for _, b in spans)))
        return max(itertools.accumulate(change for _, change in events), default=0)


def first_of(flow: Flow) -> float:
    return next((p.time_ns for p in flow.packets if p.has(SYN)), flow.packets[0].time_ns)


def of_exchanges(exchanges: Iterable[Exchange]) -> tuple[Place, ...]:
    return tuple(Place(exchange.client_port, exchange.index) for exchange in exchanges)

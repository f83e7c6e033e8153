"""Inference input: retrievals, their flows, exchanges and packets.

A session is the sequence of one client's visits to one server. A single retrieval is a session of one visit.

Theory of operation. All estimators concern one client, one server and the path between them, seen at one
point. ``server_path`` is the minimum time from that point to the server and back, ``client_path`` the same to
the client. Data released by an ACK at t cannot pass before ``t + server_path``. Every rule thus holds for any
capture point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tcptrace_http.inference.packets import FlowPackets, Packet

__all__ = ["Exchange", "Observed", "Part", "Visited"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """Request with its response; times in nanoseconds since the session's first packet."""

    #: Visit number.
    visit: int
    flow: int
    index: int
    target: str
    host: str
    version: str
    status: int
    content_type: str
    #: Time of the connection's SYN if the connection was opened for this request, else of the request.
    start: int
    request_time: int
    request_end: int
    response_start: int
    response_end: int
    request_bytes: int
    head_bytes: int
    body_bytes: int
    request_frame: int
    request_last_frame: int
    response_frame: int
    response_last_frame: int
    is_pipelined: bool
    #: HTTP/2 stream number; None if unknown or not HTTP/2.
    stream: int | None
    #: Urgency of the request (RFC 9218, section 4.1).
    urgency: int | None
    #: Bytes of the response including its framing.
    wire_bytes: int
    asks_to_close: bool
    asks_to_keep: bool
    server_closes: bool
    #: True for an exchange under TLS with unknown content.
    is_opaque: bool
    #: Number, within the visit, of the transaction that named this URL, if known.
    initiator: int | None


@dataclass(frozen=True, slots=True)
class Visited:
    """Page as it was retrieved; times in nanoseconds since the session's first packet."""

    #: Time from the first SYN or request to the last byte.
    start: int
    end: int
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Modelled extent of a session."""

    packets: int
    of_packets: int
    transactions: int
    of_transactions: int
    #: Number of transactions whose response is modelled only in part.
    cut_transactions: int

    @property
    def words(self) -> str:
        """Return the extent in words."""
        cut = f", {self.cut_transactions} of them in part" if self.cut_transactions else ""
        return (
            f"the first {self.packets:,} of {self.of_packets:,} packets,"
            f" with {self.transactions:,} of {self.of_transactions:,} transactions{cut}"
        )


@dataclass(frozen=True)
class Observed:
    """Captured session."""

    packets: tuple[Packet, ...]
    #: At least one visit, in order.
    visits: tuple[Visited, ...]
    #: Rows of the flows table, by flow.
    flows: dict[int, dict[str, Any]]
    #: Rows of the profiles table of the server's data, by flow.
    profiles: dict[int, dict[str, Any]]
    server_software: str
    #: Rows of the table of TLS handshakes, by flow.
    handshakes: dict[int, dict[str, Any]]
    #: Rows of the HTTP/2 connections table, by flow, and of the response windows.
    h2_connections: dict[int, dict[str, Any]]
    h2_windows: tuple[dict[str, Any], ...] = ()
    #: Modelled part of the session; None for all of it.
    part: Part | None = None

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Return the exchanges of all visits."""
        return tuple(exchange for visit in self.visits for exchange in visit.exchanges)

    @cached_property
    def elapsed(self) -> int:
        """Return the nanoseconds of all visits without the pauses."""
        return sum(visit.end - visit.start for visit in self.visits)

    @cached_property
    def server_path(self) -> int:
        """Return the minimum nanoseconds from the observation point to the server and back."""
        return _least(self.flows, "server_path_rtt")

    @cached_property
    def client_path(self) -> int:
        """Return the minimum nanoseconds from the observation point to the client and back."""
        return _least(self.flows, "client_path_rtt")

    @property
    def is_near_client(self) -> bool:
        """Return whether server data is seen at its arrival pace rather than at its sending pace."""
        return self.client_path <= self.server_path

    @cached_property
    def by_flow(self) -> dict[int, list[Packet]]:
        """Return the packets of each flow."""
        grouped: dict[int, list[Packet]] = {number: [] for number in self.flows}
        for packet in self.packets:
            grouped[packet.flow].append(packet)
        return grouped

    @cached_property
    def lookups(self) -> dict[int, FlowPackets]:
        """Return the packets of each flow, for lookups."""
        return {number: FlowPackets(packets) for number, packets in self.by_flow.items()}

    @cached_property
    def by_frame(self) -> dict[int, Packet]:
        """Return the packet of each frame."""
        return {packet.frame: packet for packet in self.packets}

    def segment_bytes(self, flow: int) -> int:
        """Return the payload of a full server segment on this flow."""
        declared = self.flows[flow]["segment_bytes"]
        return int(declared or self.lookups[flow].largest_of_server or 1)


def _least(flows: dict[int, dict[str, Any]], name: str) -> int:
    return min((int(row[name]) for row in flows.values() if row[name] is not None), default=0)

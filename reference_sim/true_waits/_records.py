"""The engine's records of one connection, as objects."""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from reference_sim.tls import stream_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

__all__ = [
    "CLIENT",
    "SERVER",
    "Connection",
    "Frame",
    "Limits",
    "Packet",
    "Path",
    "Transaction",
    "Window",
    "connections_of",
]

CLIENT: Final = "client"
SERVER: Final = "server"
#: IPv4 and TCP header bytes without options.
_HEADERS_BYTES: Final = 40
_NANOSECONDS: Final = 10**9
_BITS: Final = 8
_FIN: Final = 0x01
_SYN: Final = 0x02
_TABLES: Final = ("connections", "transactions", "packets", "hops", "windows", "limits")


@dataclass(frozen=True, slots=True)
class Packet:
    """Life of a packet; ``received`` is None if it was lost. Times are nanoseconds of the simulation."""

    packet: int
    side: str
    seq: int
    ack: int
    payload: int
    flags: int
    bytes: int
    reason: str
    is_retransmission: bool
    sent: int
    received: int | None
    #: Receive window that the packet advertises.
    window: int

    @property
    def start(self) -> int:
        """Offset of the first payload byte; the SYN has offset 0."""
        return self.seq + (1 if self.flags & _SYN else 0)

    @property
    def end(self) -> int:
        """Offset after the last payload byte."""
        return self.start + self.payload

    @property
    def is_syn(self) -> bool:
        return bool(self.flags & _SYN)

    @property
    def has_fin(self) -> bool:
        return bool(self.flags & _FIN)


@dataclass(frozen=True, slots=True)
class Frame:
    """HTTP/2 frame of a response, and the flow-control window that blocked it, if any."""

    start: int
    end: int
    #: Time at which the server had the response, and time at which it wrote this frame.
    ready: int
    written: int
    is_held_by_stream: bool
    held_since: int | None
    held_until: int | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """Request and response of one connection, at least their beginning."""

    connection: int
    index: int
    request_offset: int
    request_bytes: int
    response_offset: int
    response_head_bytes: int
    response_body_bytes: int
    request_received: int | None
    response_written: int | None
    #: Frames in order; empty for HTTP/1.
    frames: tuple[Frame, ...] = ()

    @property
    def request_end(self) -> int:
        return self.request_offset + self.request_bytes

    @property
    def response_end(self) -> int:
        if self.frames:
            return self.frames[-1].end
        return self.response_offset + self.response_head_bytes + self.response_body_bytes


@dataclass(frozen=True, slots=True)
class Window:
    """Sender's windows after a change."""

    time: int
    cwnd: int
    ssthresh: int
    flight: int
    #: RTO.
    timeout: int


@dataclass(slots=True)
class Limits:
    """Limit on one sender, and its start time."""

    times: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def between(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield the sender's limits from ``start`` to ``end``, piece by piece."""
        at = bisect.bisect_right(self.times, start) - 1
        while start < end:
            until = self.times[at + 1] if at + 1 < len(self.times) else end
            name = self.names[at] if at >= 0 else "handshake"
            if until > start:
                yield start, min(until, end), name
                start = until
            at += 1


@dataclass(frozen=True, slots=True)
class Path:
    """One direction of a connection: its links' rates, and the minimum transit time of a packet."""

    rates_bps: tuple[int, ...]
    delay: int
    framing_bytes: int
    least_bytes: int

    def service(self, packet_bytes: int) -> int:
        """Return the serialization time of a packet at the bottleneck: the spacing of back-to-back packets."""
        return max((self._on(rate, packet_bytes) for rate in self.rates_bps), default=0)

    def transmission(self, packet_bytes: int) -> int:
        """Return the sum of a packet's serialization times on all links."""
        return sum(self._on(rate, packet_bytes) for rate in self.rates_bps)

    def crossing(self, packet_bytes: int) -> int:
        """Return the transit time of a packet without queueing."""
        return self.delay + self.transmission(packet_bytes)

    @property
    def least(self) -> int:
        return self.crossing(self.least_bytes)

    def _on(self, rate: int, packet_bytes: int) -> int:
        return (packet_bytes + self.framing_bytes) * _BITS * _NANOSECONDS // rate


@dataclass(slots=True)
class Connection:
    """All records of a connection, each list in time order."""

    number: int
    mss: int
    #: Payload of a segment that leaves room for the SYN's options, until the SYN is acknowledged (RFC 1644).
    behind_syn: int
    #: The server's variant of Nagle's algorithm: "off", "bsd", "strict" or "minshall".
    nagle: str
    #: The server makes its next write once the previous write is accepted: only a full buffer blocks it.
    writes_at_once: bool
    #: The response head is a separate write. The body is written in chunks of this many bytes, or in one
    #: write.
    head_alone: bool
    chunk_bytes: int | None
    #: The server's connections to one host share one cwnd: an ACK on one connection releases data of another.
    shares_window: bool
    #: Arrival times at the server, on this connection or on connections with the same cwnd.
    heard: set[int]
    paths: dict[str, Path]
    packets: dict[str, list[Packet]]
    limits: dict[str, Limits]
    windows: dict[str, list[Window]]
    transactions: list[Transaction]
    #: The connection begins with a TLS handshake.
    is_secured: bool = False
    #: The client's requests wait for the server's SETTINGS.
    waits_for_settings: bool = False

    def is_short(self, packet: Packet) -> bool:
        """Return whether the server's segment had room for more payload."""
        acks = (it.received for it in self.packets[CLIENT] if it.ack and it.received is not None)
        most = self.behind_syn if packet.sent < next(acks, packet.sent + 1) else self.mss
        return packet.payload < most

    def write_start(self, offset: int) -> int:
        """Return the offset at which the server's write with the byte at ``offset`` begins."""
        response = next(it for it in self.transactions if it.response_offset <= offset < it.response_end)
        body = response.response_offset + response.response_head_bytes
        if self.head_alone and offset < body:
            return response.response_offset
        first = body if self.head_alone else response.response_offset
        return first if self.chunk_bytes is None else offset - (offset - first) % self.chunk_bytes

    @property
    def round_trip(self) -> int:
        return self.paths[CLIENT].least + self.paths[SERVER].least

    def round_trip_of(self, packet: Packet | None) -> int:
        """Return a packet's transit time including queues, plus the return path; if lost, the path alone."""
        if packet is None or packet.received is None:
            return self.round_trip
        back = self.paths[SERVER if packet.side == CLIENT else CLIENT].least
        return max(self.round_trip, packet.received - packet.sent + back)


def connections_of(tables: Mapping[str, pl.DataFrame], scenario: Mapping[str, Any]) -> Iterator[Connection]:
    """Yield the connections of a simulation, from its truth tables and the scenario document.

    Raises KeyError if the tables lack a column: the scenario must have recorded packets, windows and limits.
    """
    has_streams = any(server.get("http2") for server in scenario["servers"])
    frames = _frames(_in_nanoseconds(tables["frames"], scenario["epoch_ns"])) if has_streams else {}
    tables = {name: _in_nanoseconds(tables[name], scenario["epoch_ns"]) for name in _TABLES}
    packets = _by_connection(tables["packets"], _packet)
    limits = _by_connection(tables["limits"], lambda row: (row["time"], row["limit"]))
    windows = _by_connection(tables["windows"], _window)
    transactions: dict[int, list[Transaction]] = defaultdict(list)
    for row in tables["transactions"].drop_nulls("response_offset").iter_rows(named=True):
        own = tuple(frames.get((row["connection"], row["index"]), ()))
        transactions[row["connection"]].append(replace(_transaction(row), frames=own))
    links_of_packet: dict[int, list[int]] = defaultdict(list)
    for packet, link in tables["hops"].select("packet", "link").iter_rows():
        links_of_packet[packet].append(link)
    heard = _heard_by_pair(tables["connections"], packets)
    for row in tables["connections"].iter_rows(named=True):
        number = row["connection"]
        sent = {side: packets.get((number, side), []) for side in (CLIENT, SERVER)}
        shares = any(_shares_window(scenario["stacks"][server["stack"]]) for server in _servers(row, scenario))
        yield Connection(
            number=number,
            mss=_mss(row, scenario, sent),
            behind_syn=_mss(row, scenario, sent, is_behind_syn=True),
            nagle=next((scenario["stacks"][it["stack"]]["nagle"] for it in _servers(row, scenario)), "off"),
            writes_at_once=all(not server["writes"]["gap_ns"] for server in _servers(row, scenario)),
            head_alone=any(server["writes"]["head_alone"] for server in _servers(row, scenario)),
            chunk_bytes=next((_chunk_bytes(server) for server in _servers(row, scenario)), None),
            is_secured=any(server.get("tls") for server in _servers(row, scenario)),
            waits_for_settings=any(
                (server.get("http2") or {}).get("waits_for_settings", False) for server in _servers(row, scenario)
            ),
            shares_window=shares,
            heard=heard[_pair(row)] if shares else set(_arrived(sent[CLIENT])),
            paths={side: _path(sent[side], links_of_packet, scenario) for side in sent},
            packets=sent,
            limits={side: _limits(limits.get((number, side), [])) for side in sent},
            windows={side: windows.get((number, side), []) for side in sent},
            transactions=sorted(transactions[number], key=lambda it: it.index),
        )


def _chunk_bytes(server: Mapping[str, Any]) -> int | None:
    """Return the stream bytes of a server's write."""
    chunk = server["writes"]["chunk_bytes"]
    return None if chunk is None else stream_bytes(server.get("tls"), chunk)


def _in_nanoseconds(table: pl.DataFrame, epoch_ns: int) -> pl.DataFrame:
    """Return the table with times as integers from the start of the simulation, and words as strings."""
    import polars as pl

    times, lengths, words = pl.selectors.datetime(), pl.selectors.duration(), pl.selectors.enum()
    return table.with_columns(times.cast(pl.Int64) - epoch_ns, lengths.cast(pl.Int64), words.cast(pl.String))


def _by_connection(table: pl.DataFrame, make: Any) -> dict[tuple[int, str], list[Any]]:
    found: dict[tuple[int, str], list[Any]] = defaultdict(list)
    for row in table.iter_rows(named=True):
        found[row["connection"], row["side"]].append(make(row))
    return found


def _heard_by_pair(
    connections: pl.DataFrame, packets: Mapping[tuple[int, str], list[Packet]]
) -> dict[tuple[int, int], set[int]]:
    """Return the arrival times from a client to a server, on all connections."""
    heard: dict[tuple[int, int], set[int]] = defaultdict(set)
    for row in connections.iter_rows(named=True):
        heard[_pair(row)].update(_arrived(packets.get((row["connection"], CLIENT), [])))
    return heard


def _pair(row: Mapping[str, Any]) -> tuple[int, int]:
    return row["client_node"], row["server_node"]


def _arrived(packets: list[Packet]) -> Iterator[int]:
    return (packet.received for packet in packets if packet.received is not None)


def _packet(row: Mapping[str, Any]) -> Packet:
    return Packet(
        packet=row["packet"],
        side=row["side"],
        seq=row["seq"],
        ack=row["ack"],
        payload=row["payload_bytes"],
        flags=row["flags"],
        bytes=row["packet_bytes"],
        reason=row["reason"],
        is_retransmission=row["is_retransmission"],
        sent=row["sent"],
        received=row["received"],
        window=row["window_bytes"],
    )


def _window(row: Mapping[str, Any]) -> Window:
    return Window(row["time"], row["cwnd"], row["ssthresh"], row["flight_bytes"], row["retransmission_timeout"])


def _frames(table: pl.DataFrame) -> dict[tuple[int, int], list[Frame]]:
    """Return the frames of each transaction, in order."""
    found: dict[tuple[int, int], list[Frame]] = defaultdict(list)
    for connection, index, *frame in table.iter_rows():
        found[connection, index].append(Frame(*frame))
    return found


def _transaction(row: Mapping[str, Any]) -> Transaction:
    return Transaction(
        connection=row["connection"],
        index=row["index"],
        request_offset=row["request_offset"],
        request_bytes=row["request_bytes"],
        response_offset=row["response_offset"],
        response_head_bytes=row["response_head_bytes"],
        response_body_bytes=row["response_body_bytes"],
        request_received=row["request_received"],
        response_written=row["response_written"],
    )


def _limits(rows: list[tuple[int, str]]) -> Limits:
    limits = Limits()
    for time, name in rows:
        if limits.times and limits.times[-1] == time:
            limits.names[-1] = name
        else:
            limits.times.append(time)
            limits.names.append(name)
    return limits


def _path(packets: list[Packet], links_of_packet: Mapping[int, list[int]], scenario: Mapping[str, Any]) -> Path:
    crossed = max((links_of_packet.get(packet.packet, []) for packet in packets[:8]), key=len, default=[])
    links = [scenario["links"][number] for number in crossed]
    return Path(
        rates_bps=tuple(link["rate_bps"] for link in links if link["rate_bps"]),
        delay=sum(link["delay_ns"] for link in links),
        framing_bytes=scenario["framing_bytes"],
        least_bytes=min((packet.bytes for packet in packets), default=0),
    )


def _shares_window(stack: Mapping[str, Any]) -> bool:
    """Return whether the connections share cwnd: ensemble sharing (RFC 2140, section 4) or E-TCP.

    Temporal sharing only initializes cwnd from earlier connections. A fixed window is not cwnd and is not
    shared.
    """
    return stack["congestion"] != "fixed-window" and stack["sharing"] not in ("none", "temporal")


def _servers(row: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the server of a connection; None if its peer is a proxy."""
    return [
        server
        for server in scenario["servers"]
        if server["node"] == row["server_node"] and server["port"] == row["server_port"]
    ]


def _mss(
    row: Mapping[str, Any],
    scenario: Mapping[str, Any],
    packets: Mapping[str, list[Packet]],
    *,
    is_behind_syn: bool = False,
) -> int:
    """Return the largest payload of the server's segments, as both stacks negotiated it.

    Options on every segment (timestamps, connection counts) reduce it, as do the SYN's options on data sent
    before its ACK.
    """
    servers = [scenario["stacks"][server["stack"]] for server in _servers(row, scenario)]
    clients = [
        scenario["stacks"][browser["stack"]]
        for browser in scenario["browsers"]
        if browser["node"] == row["client_node"]
    ]
    if not servers or not clients:
        return max((packet.payload for packet in packets[SERVER]), default=0)
    server, client = servers[0], clients[0]
    mss = int(min(server["mss"], client["mss"]) if client["mss_option"] else server["mss"])
    of_kind = (it for it in packets[SERVER] if it.is_syn == is_behind_syn and (it.payload or is_behind_syn))
    return mss - min((it.bytes - it.payload - _HEADERS_BYTES for it in of_kind), default=0)

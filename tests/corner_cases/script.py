"""Notation of corner cases: packets, and the rows that follow from the RFCs.

A case is a function with ``@case("RFC …")`` that returns its expected rows. A :class:`Talk` writes its
packets, one call per frame, in capture order. Every talk has its own client port: all cases fit into one
capture, which tshark reads in one run.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import captures
from captures import ACK, CLIENT_ISN, FIN, MILLISECOND, PSH, RST, SERVER_ISN, START, SYN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FLAGS", "Captured", "Case", "Row", "Talk", "all_cases", "case", "get", "pcapng", "response"]

#: As in tcpdump; a lone "." is an ACK.
FLAGS: Final = {"S": SYN, "F": FIN, "P": PSH, "R": RST, ".": ACK, "U": 0x20}
INTERFACES: Final = 2
_ports = itertools.count(20_000)


@dataclass(frozen=True, slots=True)
class Captured:
    """Record of the capture: ``data`` is shorter than ``wire_bytes`` if a snap length truncated it."""

    time: int
    data: bytes
    wire_bytes: int | None = None
    interface: int = 0


@dataclass
class Talk:
    """Connection in the order of its captured packets.

    Sequence numbers are relative (the SYN is 0, the first byte 1) and default to the sender's next number.
    Acknowledgments default to all data that the peer has sent. ``after`` is in nanoseconds. A ``lost`` packet
    was sent but not captured.
    """

    client: tuple[str, int] = field(default_factory=lambda: ("10.0.0.1", next(_ports)))
    server: tuple[str, int] = ("10.0.0.2", 80)
    time: int = START
    initial: dict[str, int] = field(default_factory=lambda: {"C": CLIENT_ISN, "S": SERVER_ISN})
    sent: dict[str, int] = field(default_factory=lambda: {"C": 0, "S": 0})
    records: list[Captured] = field(default_factory=list)

    def C(  # noqa: N802 -- as in packet scripts
        self, payload: bytes | str = b"", flags: str = ".", **how: object
    ) -> None:
        """Send a segment from the client."""
        self._send("C", payload, flags, **how)  # type: ignore[arg-type]

    def S(  # noqa: N802 -- as in packet scripts
        self, payload: bytes | str = b"", flags: str = ".", **how: object
    ) -> None:
        """Send a segment from the server."""
        self._send("S", payload, flags, **how)  # type: ignore[arg-type]

    def _send(
        self,
        sender: str,
        payload: bytes | str,
        flags: str,
        *,
        seq: int | None = None,
        ack: int | None = None,
        after: int = MILLISECOND,
        lost: bool = False,
        window: int = 65535,
        options: bytes | None = None,
        urgent: int = 0,
        snap: int | None = None,
    ) -> None:
        payload = payload.encode() if isinstance(payload, str) else payload
        receiver = "S" if sender == "C" else "C"
        ends = {"C": self.client, "S": self.server}
        start = self.sent[sender] if seq is None else seq
        acknowledged = self.sent[receiver] if ack is None else ack
        bits = sum(FLAGS[flag] for flag in flags)
        self.time += after
        frame = captures.tcp(
            ends[sender],
            ends[receiver],
            self.initial[sender] + start,
            self.initial[receiver] + acknowledged if bits & ACK else 0,
            bits,
            payload,
            window=window,
            options=options,
            urgent=urgent,
        )
        self.sent[sender] = max(self.sent[sender], start + len(payload) + bool(bits & (SYN | FIN)))
        if not lost:
            self.records.append(Captured(self.time, frame[:snap], None if snap is None else len(frame)))

    def open(self) -> None:
        """Send the three packets of the handshake (RFC 9293, section 3.5)."""
        self.C(flags="S")
        self.S(flags="S.")
        self.C()

    def close(self) -> None:
        """Close with three packets, client first."""
        self.C(flags="F.")
        self.S(flags="F.")
        self.C()

    def again(self, *, initial: int | None = None) -> None:
        """Open another connection on the same ports."""
        self.sent = {"C": 0, "S": 0}
        if initial is not None:
            self.initial = {"C": initial, "S": initial + 5000}


@dataclass(frozen=True)
class Row:
    """Expected transaction. ``frames``: of the request, and of the response's first and last byte."""

    request: str | None
    status: int | None
    frames: tuple[int | None, int | None, int | None]
    body: int | None = None
    framing: str | None = None
    complete: bool = True
    flow: int = 0
    request_body: int | None = 0
    interim: int = 0
    pipelined: bool = False
    missing: int = 0
    host: str | None = "h"


def get(target: str = "/", method: str = "GET", *fields: str) -> bytes:
    """Return a request to host h, without a body."""
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: h", *fields, "", ""]).encode()


def response(body: str | bytes = b"", head: str = "HTTP/1.1 200 OK", *fields: str) -> bytes:
    """Return a response with the correct Content-Length."""
    content = body.encode() if isinstance(body, str) else body
    lines = [head, f"Content-Length: {len(content)}", *fields, "", ""]
    return "\r\n".join(lines).encode() + content


@dataclass(frozen=True)
class Case:
    """Expected result of a capture: all transactions, all anomalies, and facts of flows and segments."""

    records: list[Captured]
    rows: list[Row] = field(default_factory=list)
    #: (kind, frame)
    anomalies: list[tuple[str, int | None]] = field(default_factory=list)
    #: Columns of each flow; flows without facts also count.
    flows: list[dict[str, object]] = field(default_factory=lambda: [{}])
    #: Frames for which a column of the segments table is true, or above 0.
    segments: Mapping[str, list[int]] = field(default_factory=dict)
    #: Differences of tshark, by compared quantity (see tshark.py), and the reason.
    tshark_differs: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    reference: str = ""


_CASES: Final[dict[str, Case]] = {}


def case(reference: str) -> Callable[[Callable[[], Case]], Callable[[], Case]]:
    """Register a case; ``reference`` is the clause that implies its rows."""

    def register(make: Callable[[], Case]) -> Callable[[], Case]:
        name = f"{make.__module__.rpartition('.')[2]}.{make.__name__}"
        _CASES[name] = replace(make(), name=name, reference=reference)
        return make

    return register


def all_cases() -> dict[str, Case]:
    """Return every registered case by name."""
    return dict(_CASES)


def pcapng(records: list[Captured]) -> bytes:
    """Return a pcapng file of two interfaces."""
    blocks = [
        captures.enhanced_packet(it.time, it.data, wire_bytes=it.wire_bytes, interface=it.interface)
        for it in records
    ]
    interfaces = [captures.interface()] * INTERFACES
    return b"".join([captures.section_header(), *interfaces, *blocks])

"""Byte streams of a capture's flows, reassembled in plain Python.

``tshark -z follow,tcp,raw`` is no alternative: it reads the whole file once per stream, and hides missing
bytes. Our own tables supply two facts that other tests check: the offset of a frame's payload (dpkt and
scapy, ``peers.py``) and the flow of a frame (tshark, ``oracle.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .peers import records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import tcptrace_http

__all__ = ["TABLES", "Stream", "streams"]

TABLES: Final = ("packets", "segments")
_FIN, _SYN, _RST, _ACK = 1, 2, 4, 16
_HALF: Final = 2**31


@dataclass(slots=True)
class Stream:
    """One direction of a flow: its bytes from the first byte to the first hole."""

    data: bytearray = field(default_factory=bytearray)
    has_syn: bool = False
    #: A FIN ended the direction, and all bytes before the FIN are there.
    is_closed: bool = False
    #: More data follows a hole, or follows bytes lost to a snap length or fragmentation.
    has_hole: bool = False
    #: Part of the data was captured after a segment that acknowledges it.
    is_late: bool = False
    #: Part of the data follows an RST of either end.
    is_after_reset: bool = False


@dataclass(slots=True)
class _Direction:
    initial: int | None = None
    has_syn: bool = False
    fin: int | None = None
    next: int = 0
    acked: int = 0
    is_late: bool = False
    is_after_reset: bool = False
    pieces: list[tuple[int, int, bytes]] = field(default_factory=list)

    def offset(self, seq: int) -> int:
        """Return the stream offset of a sequence number; sequence numbers wrap."""
        if self.initial is None:
            self.initial = seq
        relative = (seq - self.initial - self.next) % 2**32
        return self.next + (relative - 2**32 if relative >= _HALF else relative)

    def acknowledge(self, row: dict[str, Any]) -> None:
        """Record that the peer has received all data before this number."""
        if self.initial is not None and row["flags"] & _ACK:
            self.acked = max(self.acked, self.offset(row["ack_raw"]))

    def take(self, row: dict[str, Any], payload: bytes, *, was_reset: bool) -> None:
        flags, length = row["flags"], row["payload_bytes"]
        if flags & _RST:
            return
        first = (row["seq_raw"] + 1) % 2**32 if flags & _SYN else row["seq_raw"]
        if flags & _SYN and not self.has_syn:
            self.initial, self.has_syn = first, True
        start = self.offset(first)
        self.next = max(self.next, start + length)
        if length:
            self.is_after_reset |= was_reset
            self.is_late |= start < self.acked and not self._has(start)
            self.pieces.append((start, length, payload))
        if flags & _FIN and self.fin is None:
            self.fin = start + length

    def _has(self, offset: int) -> bool:
        return any(start <= offset < start + length for start, length, _ in reversed(self.pieces))

    def stream(self) -> Stream:
        """Return the reassembled stream; the first copy of every byte wins, in capture order."""
        made = Stream(has_syn=self.has_syn, is_late=self.is_late, is_after_reset=self.is_after_reset)
        waiting: list[tuple[int, int, bytes]] = []
        for start, length, payload in self.pieces:
            if start > len(made.data):
                waiting.append((start, length, payload))
                continue
            made.has_hole = not _append(made, start, length, payload, waiting)
            if made.has_hole:
                break
            waiting = _drained(made, waiting)
        made.has_hole |= bool(waiting)
        if self.fin is not None and self.fin < len(made.data):
            # No data follows a FIN (RFC 9293, section 3.10.7.4).
            del made.data[max(self.fin, 0) :]
            made.has_hole = False
        made.is_closed = not made.has_hole and self.fin is not None and self.fin <= len(made.data)
        return made


def _append(made: Stream, start: int, length: int, payload: bytes, waiting: list[tuple[int, int, bytes]]) -> bool:
    """Add new bytes; waiting bytes came earlier and win. Return False if captured bytes end too soon."""
    here = len(made.data)
    if start + length <= here:
        return True
    if len(payload) < length:
        made.data += payload[here - start :]
        return False
    made.data += payload[here - start :]
    for first, size, earlier in reversed(waiting):
        low, high = max(first, here), min(first + min(size, len(earlier)), len(made.data))
        if low < high:
            made.data[low:high] = earlier[low - first : high - first]
    return True


def _drained(made: Stream, waiting: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    progress = bool(waiting)
    while progress:
        progress = False
        left = []
        for at, (start, length, payload) in enumerate(waiting):
            if start > len(made.data):
                left.append((start, length, payload))
                continue
            progress = True
            if not _append(made, start, length, payload, waiting[:at]):
                made.has_hole = True
                return [*left, *waiting[at + 1 :]]
        waiting = left
    return waiting


def streams(path: Path, analysis: tcptrace_http.Analysis) -> dict[int, tuple[Stream, Stream]]:
    """Return the client's stream and the server's, by flow."""
    flows: dict[int, tuple[_Direction, _Direction]] = {}
    reset = set()
    for row, payload in _segments(path, analysis):
        client, server = flows.setdefault(row["flow"], (_Direction(), _Direction()))
        is_client = row["direction"] == "client_to_server"
        sender, peer = (client, server) if is_client else (server, client)
        peer.acknowledge(row)
        sender.take(row, payload, was_reset=row["flow"] in reset)
        if row["flags"] & _RST:
            reset.add(row["flow"])
    return {number: (client.stream(), server.stream()) for number, (client, server) in flows.items()}


def _segments(path: Path, analysis: tcptrace_http.Analysis) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the rows of TCP segments with their payload bytes from the file."""
    placed = analysis.packets.select(
        "frame", "seq_raw", "ack_raw", "flags", "payload_offset", "payload_bytes", "payload_captured_bytes"
    )
    kept = analysis.segments.select("frame", "flow", "direction")
    rows = {row["frame"]: row for row in kept.join(placed, on="frame").iter_rows(named=True)}
    for frame, record in enumerate(records(path), start=1):
        row = rows.get(frame)
        if row is None:
            continue
        start = row["payload_offset"]
        # Reassembled from fragments: the payload is in several frames.
        captured = row["payload_captured_bytes"] if start else 0
        yield row, record.data[start : start + captured]

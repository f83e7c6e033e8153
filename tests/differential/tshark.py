"""Output of tshark on a capture: every TCP segment, and every HTTP message with its frames."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["COLUMNS", "Message", "Pair", "Reading", "SegmentRow", "TsharkFailed", "http_times", "marks", "read"]

Cell = int | bool | None
SegmentRow = dict[str, Cell]
#: Frame of a request, and nanoseconds since then.
Pair = tuple[int, int]

#: Columns of our segments table that are presence flags in tshark, with the field of each.
_FLAGS: Final = {
    "is_retransmission": "tcp.analysis.retransmission",
    "is_fast_retransmission": "tcp.analysis.fast_retransmission",
    "is_spurious_retransmission": "tcp.analysis.spurious_retransmission",
    "is_out_of_order": "tcp.analysis.out_of_order",
    "is_lost_segment": "tcp.analysis.lost_segment",
    "is_ack_of_lost_segment": "tcp.analysis.ack_lost_segment",
    "is_keep_alive": "tcp.analysis.keep_alive",
    "is_keep_alive_ack": "tcp.analysis.keep_alive_ack",
    "is_zero_window": "tcp.analysis.zero_window",
    "is_zero_window_probe": "tcp.analysis.zero_window_probe",
    "is_zero_window_probe_ack": "tcp.analysis.zero_window_probe_ack",
    "is_window_update": "tcp.analysis.window_update",
    "is_window_full": "tcp.analysis.window_full",
    "is_reused_ports": "tcp.analysis.reused_ports",
}
_NUMBERS: Final = {
    "flow": "tcp.stream",
    "seq": "tcp.seq",
    "ack": "tcp.ack",
    "payload_bytes": "tcp.len",
    "flags": "tcp.flags",
    "window_bytes": "tcp.window_size",
    "duplicate_ack_count": "tcp.analysis.duplicate_ack_num",
    "duplicate_ack_frame": "tcp.analysis.duplicate_ack_frame",
    "rto_frame": "tcp.analysis.rto_frame",
    "flight_bytes": "tcp.analysis.bytes_in_flight",
    "push_bytes": "tcp.analysis.push_bytes_sent",
    "acks_frame": "tcp.analysis.acks_frame",
}
_DURATIONS: Final = {"rto": "tcp.analysis.rto", "ack_rtt": "tcp.analysis.ack_rtt"}
#: Compared columns of the segments table, without the flow number.
COLUMNS: Final = tuple(name for name in (*_NUMBERS, *_FLAGS, *_DURATIONS) if name != "flow")

_MESSAGE_FIELDS: Final = (
    "http.request.method",
    "http.request.uri",
    "http.response.code",
    "http.request_in",
    "http.time",
    "tcp.segment",
    "_ws.malformed",
)
_FIELDS: Final = ("frame.number", *_NUMBERS.values(), *_FLAGS.values(), *_DURATIONS.values(), *_MESSAGE_FIELDS)
#: Separator of a field's values: no protocol uses it in text.
_BETWEEN: Final = "\x1e"
#: HTTP on any port; all other settings are tshark's defaults.
_PREFERENCES: Final = ("tcp.try_heuristic_first:TRUE",)
#: First interim status, and the 1xx status that is final: 101 Switching Protocols (RFC 9110, section 15.2.2).
_INTERIM, _SWITCHING, _FINAL = 100, 101, 200
#: Congestion experienced; and a flag that is set, in old and new versions.
_CE: Final = "3"
_TRUE: Final = ("1", "True")
_NANOSECONDS: Final = 1_000_000_000
_NANOSECOND_DIGITS: Final = 9


class TsharkFailed(Exception):
    """Failed run of tshark, or output that this reader does not know."""


@dataclass(frozen=True, slots=True)
class Message:
    """HTTP message as tshark shows it; ``frame`` is the frame that completes it."""

    flow: int
    frame: int
    #: None if tshark does not show the message's segments.
    first_frame: int | None
    #: Method and target; None for a response.
    request: tuple[str, str] | None
    status: int | None
    #: Frame of the response's paired request, and the time since then.
    request_in: int | None = None
    time: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """Complete output of tshark on a capture."""

    frames: int
    segments: dict[int, SegmentRow]
    messages: list[Message]
    #: By frame: request_in and time of responses whose order tshark does not show.
    loose_pairs: dict[int, list[Pair]]


def read(path: Path) -> Reading:
    """Run tshark over a capture; raise TsharkFailed."""
    segments: dict[int, SegmentRow] = {}
    messages: list[Message] = []
    loose_pairs: dict[int, list[Pair]] = {}
    frames = 0
    for cells in _run(path, _FIELDS, _PREFERENCES):
        frames += 1
        row = _segment(cells)
        if row is None:
            continue
        segments[frames] = row
        found = _messages(frames, int(row["flow"] or 0), cells)
        messages += [message for message in found if not _is_interim(message)]
        pairs = _pairs(cells)
        if pairs and len(pairs) < len(_list(cells["http.response.code"])):
            loose_pairs[frames] = pairs
    return Reading(frames, segments, messages, loose_pairs)


def http_times(path: Path) -> dict[int, list[int]]:
    """Return http.time by frame without TCP reassembly: to the response's first byte."""
    fields = ("frame.number", "http.time")
    options = (*_PREFERENCES, "tcp.desegment_tcp_streams:FALSE")
    rows = _run(path, fields, options)
    return {int(row["frame.number"]): _nanoseconds_of(row["http.time"]) for row in rows if row["http.time"]}


def marks(path: Path) -> Counter[tuple[int, str, str]]:
    """Return the packets with CE, and the segments without SYN with ECE and with CWR, by flow and source port."""
    flags = {"ece_acks": "tcp.flags.ece", "cwr_segments": "tcp.flags.cwr"}
    fields = ("tcp.stream", "tcp.srcport", "ip.dsfield.ecn", "tcp.flags.syn", *flags.values())
    found: Counter[tuple[int, str, str]] = Counter()
    for row in _run(path, fields, _PREFERENCES):
        sender = (int(row["tcp.stream"]), row["tcp.srcport"])
        found[*sender, "ce_packets"] += row["ip.dsfield.ecn"] == _CE
        if row["tcp.flags.syn"] not in _TRUE:
            for name, flag in flags.items():
                found[*sender, name] += row[flag] in _TRUE
    return +found


def _run(path: Path, fields: tuple[str, ...], preferences: tuple[str, ...]) -> list[dict[str, str]]:
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", f"aggregator={_BETWEEN}"]
    for preference in preferences:
        command += ["-o", preference]
    for name in fields:
        command += ["-e", name]
    # A user's profile must not change tshark's output, and root without a profile must cause no warning.
    environment = {**os.environ, "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    # The exit code reports a truncated file, of which tshark has shown all that it can.
    rows = []
    for line in done.stdout.decode(errors="surrogateescape").split("\n")[:-1]:
        cells = line.split("\t")
        if len(cells) != len(fields):
            raise TsharkFailed(f"{path}: {len(cells)} fields for {len(fields)}: {line[:200]}")
        rows.append(dict(zip(fields, cells, strict=True)))
    if not rows and done.returncode:
        raise TsharkFailed(f"{path}: {done.stderr.decode(errors='replace')[-300:]}")
    return rows


def _segment(cells: dict[str, str]) -> SegmentRow | None:
    """Return the innermost TCP header of a frame; None without TCP."""
    if not cells["tcp.stream"]:
        return None
    last = {name: values.rpartition(_BETWEEN)[2] for name, values in cells.items()}
    row: SegmentRow = {name: int(last[shown], 0) if last[shown] else None for name, shown in _NUMBERS.items()}
    row |= {name: bool(last[shown]) for name, shown in _FLAGS.items()}
    row |= {name: _nanoseconds(last[shown]) if last[shown] else None for name, shown in _DURATIONS.items()}
    row["duplicate_ack_count"] = row["duplicate_ack_count"] or 0
    return row


def _messages(frame: int, flow: int, cells: dict[str, str]) -> list[Message]:
    """Return the messages that a frame completes. Only the first can begin in an earlier frame."""
    methods, uris = _list(cells["http.request.method"]), _list(cells["http.request.uri"])
    codes = _list(cells["http.response.code"])
    # A failing body dissector leaves no list of segments.
    first = None if cells["_ws.malformed"] else min(map(int, _list(cells["tcp.segment"])), default=frame)
    firsts = [first, *[frame] * (len(methods) + len(codes))]
    made = [
        Message(flow, frame, firsts[at], start, None) for at, start in enumerate(zip(methods, uris, strict=False))
    ]
    pairs = _pairs(cells)
    for status in map(int, codes):
        request_in, time = pairs[len(made)] if len(pairs) == len(codes) else (None, None)
        made.append(Message(flow, frame, firsts[len(made)], None, status, request_in, time))
    return made


def _is_interim(message: Message) -> bool:
    status = message.status
    return status is not None and _INTERIM <= status < _FINAL and status != _SWITCHING


def _pairs(cells: dict[str, str]) -> list[Pair]:
    """Return tshark's request pairs of a frame; their order is unknown if they are fewer than the responses."""
    request_in = map(int, _list(cells["http.request_in"]))
    return list(zip(request_in, _nanoseconds_of(cells["http.time"]), strict=False))


def _list(cell: str) -> list[str]:
    return cell.split(_BETWEEN) if cell else []


def _nanoseconds_of(cell: str) -> list[int]:
    return [_nanoseconds(value) for value in _list(cell)]


def _nanoseconds(text: str) -> int:
    """Convert a decimal number of seconds to nanoseconds."""
    seconds, _, fraction = text.partition(".")
    magnitude = abs(int(seconds)) * _NANOSECONDS + int(fraction.ljust(_NANOSECOND_DIGITS, "0"))
    return -magnitude if seconds.startswith("-") else magnitude

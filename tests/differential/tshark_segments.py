"""Segments of a capture against tshark's TCP analysis, cell by cell, with the rules of differences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .tshark import COLUMNS

if TYPE_CHECKING:
    import tcptrace_http

    from .comparison import Tally
    from .tshark import Cell, Reading, SegmentRow

__all__ = ["compare_segments", "flow_numbers"]

_ACK: Final = 0x10
_SEQUENCE_SPACE: Final = 2**32
#: Numbers ahead by more than the largest window belong to another connection (RFC 7323, section 2.3).
_AHEAD_MAX: Final = 2**30
_FAST_DUPLICATE_ACKS: Final = 2
#: Columns that follow from the kind of a retransmission.
_KINDS: Final = frozenset(("is_retransmission", "is_fast_retransmission", "is_out_of_order", "rto", "rto_frame"))
_FLIGHT: Final = frozenset(("flight_bytes", "push_bytes"))
_ZERO_DURATIONS: Final = {"rto": "rto", "rto_frame": "rto", "ack_rtt": "ack_rtt"}
#: tshark's flags are twelve bits wide, including three reserved bits; ours are the nine named flags.
_FLAG_BITS: Final = 0x1FF


@dataclass
class _Flow:
    """Earlier segments' facts that the rules need."""

    length_differs: bool = False
    #: A second SYN-ACK began with another number.
    rebased: bool = False
    #: A number below the first observed number.
    goes_before_first: bool = False
    #: Packets of the flow were captured more than once.
    has_copies: bool = False
    #: tshark's stream numbers of the flow.
    streams: set[Cell] = field(default_factory=set)
    #: By direction: the duplicate-ACK number of its last segment.
    duplicates: Counter[str] = field(default_factory=Counter)


def flow_numbers(analysis: tcptrace_http.Analysis, reading: Reading) -> dict[int, int]:
    """Return our flow of each tshark stream."""
    frames = analysis.segments.select("frame", "flow").iter_rows()
    pairs = {(reading.segments[frame]["flow"], flow) for frame, flow in frames if frame in reading.segments}
    return {int(theirs): ours for theirs, ours in pairs if theirs is not None}


def compare_segments(analysis: tcptrace_http.Analysis, reading: Reading, tally: Tally) -> None:
    """Compare flow numbers and segments."""
    import polars as pl

    _compare_flows(analysis, reading, tally)
    table = analysis.segments.with_columns(pl.col("rto", "ack_rtt").to_physical())
    copied = analysis.anomalies.filter(pl.col("kind") == "duplicate_packets")["flow"]
    flows = {flow: _Flow(has_copies=True) for flow in copied}
    for row in table.iter_rows(named=True):
        theirs = reading.segments.get(row["frame"])
        if theirs is None:
            tally.note("segment", f"frame {row['frame']}", "TCP", None)
            continue
        tally.compared["segments"] += 1
        flow = flows.setdefault(row["flow"], _Flow())
        _remember(flow, row, theirs)
        _compare_row(flow, row, theirs, tally)
        flow.duplicates[row["direction"]] = row["duplicate_ack_count"]


def _compare_flows(analysis: tcptrace_http.Analysis, reading: Reading, tally: Tally) -> None:
    """Match streams and flows as sets of segments; their numbers differ by streams without segments."""
    numbers = flow_numbers(analysis, reading)
    tally.compared["flows"] += analysis.flows.height
    seen: set[int] = set()
    for stream, flow in sorted(numbers.items()):
        tally.compared["cells"] += 1
        if flow in seen:
            tally.note("flow", f"stream {stream}", flow, stream, "stream-split-by-a-dissector")
        elif flow != stream:
            # ICMP errors quote segments, and proxy dissectors reserve streams that never come.
            reason = "stream-of-no-segment" if flow == len(seen) else None
            tally.note("flow", f"stream {stream}", flow, stream, reason)
        seen.add(flow)


def _remember(flow: _Flow, row: dict[str, Any], theirs: SegmentRow) -> None:
    if row["payload_bytes"] != theirs["payload_bytes"]:
        flow.length_differs = True
    if row["is_reused_ports"] and theirs["is_reused_ports"] and row["flags"] & _ACK:
        flow.rebased = True
    flow.goes_before_first |= int(theirs["seq"] or 0) >= _SEQUENCE_SPACE // 2
    flow.streams.add(theirs["flow"])


def _compare_row(flow: _Flow, row: dict[str, Any], theirs: SegmentRow, tally: Tally) -> None:
    for column in COLUMNS:
        ours, other = _cells(column, row, theirs)
        tally.compared["cells"] += 1
        if ours != other:
            reason = _reason(flow, column, row, theirs)
            tally.note(column, f"frame {row['frame']}", ours, other, reason)


def _cells(column: str, row: dict[str, Any], theirs: SegmentRow) -> tuple[Any, Any]:
    ours, other = row[column], theirs[column]
    if column in {"seq", "ack"} and ours is not None:
        ours %= _SEQUENCE_SPACE
    if column == "ack" and not row["flags"] & _ACK:
        return None, None
    if column == "flags" and other is not None:
        other &= _FLAG_BITS
    return ours, other


def _reason(flow: _Flow, column: str, row: dict[str, Any], theirs: SegmentRow) -> str | None:
    """Return the first rule that explains a cell's difference."""
    rules = {
        "length-in-the-ip-header": flow.length_differs,
        "stream-split-by-a-dissector": len(flow.streams) > 1,
        "packet-captured-twice": flow.has_copies,
        "zero-duration": theirs[column] is None and row[_ZERO_DURATIONS.get(column, column)] == 0,
        "ack-beyond-any-window": column == "ack" and row["ack"] is None and int(theirs["ack"] or 0) > _AHEAD_MAX,
        "second-initial-number": flow.rebased and column in {"seq", "ack", *_FLIGHT},
        "flight-before-the-first-number": flow.goes_before_first and column in _FLIGHT,
        "unseen-counted-as-duplicates": column in _KINDS and _is_miscounted(flow, row, theirs),
    }
    return next((reason for reason, holds in rules.items() if holds), None)


def _is_miscounted(flow: _Flow, row: dict[str, Any], theirs: SegmentRow) -> bool:
    """Return whether tshark marks a fast retransmission without two duplicate ACKs."""
    peer = "server_to_client" if row["direction"] == "client_to_server" else "client_to_server"
    return (
        bool(theirs["is_fast_retransmission"])
        and not row["is_fast_retransmission"]
        and flow.duplicates[peer] < _FAST_DUPLICATE_ACKS
    )

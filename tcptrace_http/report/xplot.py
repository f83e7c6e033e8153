"""Time-sequence graphs for xplot (Shepard, MIT 1990), in the style of tcptrace's ``_tsg.xpl`` files.

Each flow and direction with payload has one file. White segments have an arrow at each end. Red with R are
retransmissions, magenta with O out-of-order segments. Green is the ACK line, with a tick at each duplicate
ACK. Purple with S are SACK blocks, and yellow is the offered window. Orange labels name findings at their
start. Sequence numbers are relative to the initial one, as in all tables.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.output_file import write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import polars as pl

    from tcptrace_http.analysis import Analysis

__all__ = ["write"]

_DIRECTIONS: Final = {
    "client_to_server": ("server_to_client", "c2s"),
    "server_to_client": ("client_to_server", "s2c"),
}
_SECOND: Final = 1_000_000_000
_MICROSECOND: Final = 1_000
_SEQUENCE_BITS: Final = 32
_SYN: Final = 2
#: Marks that follow the payload.
_LAST: Final = ((1, "FIN"), (4, "RST"))


def write(analysis: Analysis, folder: Path) -> list[Path]:
    """Write all graphs of a capture into a folder, and return the paths of the files."""
    import polars as pl

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    segments = analysis.segments.with_columns(pl.col("time").to_physical(), pl.col("direction").cast(pl.String))
    of_flows = segments.partition_by("flow", as_dict=True, maintain_order=True)
    for flow in analysis.flows.iter_rows(named=True):
        own = of_flows.get((flow["flow"],), segments.clear())
        found = analysis.findings.filter(flow=flow["flow"])
        for direction, (_, suffix) in _DIRECTIONS.items():
            if own.filter(pl.col("direction") == direction, pl.col("payload_bytes") > 0).is_empty():
                continue
            path = folder / f"flow{flow['flow']}_{suffix}_tsg.xpl"
            graph = "\n".join(_graph(flow, own, found, direction)) + "\n"
            write_bytes(path, graph.encode("ascii", "replace"))
            written.append(path)
    return written


def _graph(flow: dict[str, Any], segments: pl.DataFrame, findings: pl.DataFrame, direction: str) -> Iterator[str]:
    import polars as pl

    client = f"{flow['client']}:{flow['client_port']}"
    server = f"{flow['server']}:{flow['server_port']}"
    ends = (client, server) if direction == "client_to_server" else (server, client)
    yield "timeval unsigned"
    yield from ("title", f"{ends[0]}_==>_{ends[1]} (time sequence graph)", "xlabel", "time")
    yield from ("ylabel", "sequence number")
    acks = segments.filter(pl.col("direction") == _DIRECTIONS[direction][0])
    yield from _receiver(acks)
    yield from _selective_acks(acks)
    yield from _sender(segments.filter(pl.col("direction") == direction))
    if direction == "server_to_client":
        yield from _labels(findings, segments)
    yield "go"


def _sender(segments: pl.DataFrame) -> Iterator[str]:
    columns = ("time", "seq", "payload_bytes", "flags", "is_retransmission", "is_out_of_order")
    for time, seq, length, flags, again, out_of_order in segments.select(columns).iter_rows():
        at = _time(time)
        # A SYN takes one sequence number before the payload (RFC 7413).
        start = seq + bool(flags & _SYN)
        if flags & _SYN:
            yield from _marked(at, seq, "SYN")
        for bit, name in _LAST:
            if flags & bit:
                yield from _marked(at, start + length, name)
        if not length:
            continue
        colour, letter = ("red", "R") if again else ("magenta", "O") if out_of_order else ("white", "")
        low, high = _wrapped(start), _wrapped(start + length)
        yield colour
        yield from (f"darrow {at} {low}", f"uarrow {at} {high}", f"line {at} {low} {at} {high}")
        if letter:
            yield from (f"atext {at} {high}", letter)


def _marked(at: str, sequence: int, name: str) -> Iterator[str]:
    yield from ("orange", f"diamond {at} {_wrapped(sequence)}", f"atext {at} {_wrapped(sequence)}", name)


def _receiver(acks: pl.DataFrame) -> Iterator[str]:
    """Yield the ACK line and the window line as steps."""
    import polars as pl

    known = acks.filter(pl.col("ack").is_not_null()).select("time", "ack", "window_bytes", "duplicate_ack_count")
    rows = list(known.iter_rows())
    for earlier, later in pairwise(rows):
        yield from ("green", *_step(earlier[0], later[0], earlier[1], later[1]))
        if later[3]:
            yield f"dtick {_time(later[0])} {_wrapped(later[1])}"
        if earlier[2] is not None and later[2] is not None:
            yield from ("yellow", *_step(earlier[0], later[0], earlier[1] + earlier[2], later[1] + later[2]))


def _selective_acks(acks: pl.DataFrame) -> Iterator[str]:
    """Yield the SACK blocks at their report times, as tcptrace draws them."""
    for time, edges in acks.select("time", "sack_edges").iter_rows():
        for low, high in zip(edges[::2], edges[1::2], strict=True):
            at, left, right = _time(time), _wrapped(low), _wrapped(high)
            yield from ("purple", f"line {at} {left} {at} {right}", f"htick {at} {left}", f"htick {at} {right}")
            yield from (f"atext {at} {right}", "S")


def _step(start: int, end: int, before: int, after: int) -> Iterable[str]:
    yield f"line {_time(start)} {_wrapped(before)} {_time(end)} {_wrapped(before)}"
    if before != after:
        yield f"line {_time(end)} {_wrapped(before)} {_time(end)} {_wrapped(after)}"


def _labels(findings: pl.DataFrame, segments: pl.DataFrame) -> Iterator[str]:
    import polars as pl

    found = findings.filter(pl.col("start").is_not_null(), pl.col("first_frame").is_not_null())
    at = dict(segments.select("frame", "seq").iter_rows())
    for start, frame, name in found.select(
        pl.col("start").to_physical(), "first_frame", pl.col("detector").cast(pl.String)
    ).iter_rows():
        if frame in at:
            yield from ("orange", f"rtext {_time(start)} {_wrapped(at[frame])}", name)


def _time(nanoseconds: int) -> str:
    return f"{nanoseconds // _SECOND}.{nanoseconds % _SECOND // _MICROSECOND:06}"


def _wrapped(sequence: int) -> int:
    """Return a 32-bit sequence number: xplot's numbers are unsigned, ours are relative and do not wrap."""
    return sequence % (1 << _SEQUENCE_BITS)

"""Output of tcptrace on the flows of a capture against ours, cell by cell.

``python -m differential.tcptrace_oracle FILE…`` (in ``tests/``) lists the differences with their reasons.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.peers import peer

from .comparison import Comparison
from .tcptrace_faults import FAULTS, Cell
from .tcptrace_model import PACKET_COLUMNS, Connection, connections

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = ["PEER", "Verdict", "compare", "examine"]

_COMMAND: Final = ("tcptrace", "-n", "-l", "-r", "-W", "--csv")
_COLUMNS: Final = len(peer("tcptrace").fields)
_ENDS: Final = ("host_a", "port_a", "host_b", "port_b")
#: Not compared: these columns match a row to a flow, or name it.
_IDENTITY: Final = frozenset({*_ENDS, "conn_#"})
#: Columns whose equality shows that tcptrace and we read the same packets.
_FACTS: Final = (
    *("total_packets", "actual_data_bytes", "ack_pkts_sent", "resets_sent", "truncated_data"),
    *("req_1323_ws/ts", "req_sack", "mss_requested", "sack_pkts_sent"),
)


PEER: Final = "tcptrace"


@dataclass(slots=True)
class Verdict:
    """Comparison of one capture's figures."""

    path: str
    flows: int = 0
    #: Flows excluded from the comparison, by reason.
    flows_apart: Counter[str] = field(default_factory=Counter)
    cells: int = 0
    equal: int = 0
    #: Differing cells, by the fault of tcptrace that explains them.
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


def examine(path: Path, name: str) -> Verdict:
    """Compare all figures that tcptrace prints on a capture."""
    verdict = Verdict(name)
    rows = _printed(path)
    if rows is None:
        verdict.flows_apart["no-output"] += 1
        return verdict
    ours = _Ours(path)
    for row, connection in ours.matched(rows):
        verdict.flows += 1
        reason = ours.apart(row, connection)
        if reason or connection is None:
            verdict.flows_apart[reason] += 1
        else:
            _compare(verdict, row, connection, ours)
    return verdict


def compare(path: Path, name: str) -> Comparison:
    """Return the same in the report's form; an incomparable flow counts as one cell."""
    verdict = examine(path, name)
    return Comparison(
        PEER,
        {"files": 1, "flows": verdict.flows, "cells": verdict.cells},
        verdict.explained + verdict.flows_apart,
        len(verdict.unexplained),
        tuple(verdict.unexplained[:3]),
    )


def _printed(path: Path) -> list[dict[str, str]] | None:
    """Return tcptrace's rows, trimmed; None if it printed none, or crashed."""
    done = subprocess.run([*_COMMAND, str(path)], capture_output=True, check=False)
    text = done.stdout.decode("latin-1")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    starts = [at for at, line in enumerate(lines) if line.startswith("conn_#")]
    if done.returncode != 0 or not starts:
        return None
    header, *rows = csv.reader(lines[starts[0] :])
    return [
        {name: value.strip() for name, value in zip(header, row, strict=False) if name}
        for row in rows
        if len(row) > _COLUMNS
    ]


class _Ours:
    """Our tables of a capture, and tcptrace's model connections made of them."""

    def __init__(self, path: Path) -> None:
        import polars as pl

        import tcptrace_http

        analysis = tcptrace_http.analyze(path, tables=["packets", "segments"])
        packets = analysis.packets.with_columns(pl.col("time").cast(pl.Int64))
        self.end_of_capture = int(packets["time"][-1]) // 1000 if packets.height else 0
        segments = packets.filter(pl.col("source_port").is_not_null()).select(PACKET_COLUMNS)
        self.connections = list(connections(segments.iter_rows(named=True)))
        self.flows = {row["flow"]: row for row in _plain(analysis.flows).iter_rows(named=True)}
        probes = analysis.segments.filter("is_keep_alive")
        self.keep_alives = set(probes.select("flow", pl.col("direction").cast(pl.String())).iter_rows())
        self.flow_of = dict(analysis.segments.select("frame", "flow").iter_rows())
        self.frames = Counter(self.flow_of.values())

    def matched(self, rows: list[dict[str, str]]) -> list[tuple[dict[str, str], Connection | None]]:
        """Return each row of tcptrace with the connection between the same ends, in order."""
        waiting: dict[tuple[str, ...], list[Connection]] = defaultdict(list)
        for connection in reversed(self.connections):
            waiting[_ends(connection)].append(connection)
        matched = []
        for row in rows:
            ends = tuple(_address(row[name]) if name.startswith("host") else row[name] for name in _ENDS)
            known = waiting[ends]
            matched.append((row, known.pop() if known else None))
        return matched

    def apart(self, row: dict[str, str], connection: Connection | None) -> str:
        """Return why the row cannot be compared with a flow; empty if it can."""
        if connection is None:
            return "other-packets"
        printed = connection.columns(self.end_of_capture)
        if row["first_packet"] != _clock(connection.start) or row["last_packet"] != _clock(connection.end):
            return "other-packets"
        if any(row[f"{fact}_{way}"] != printed[f"{fact}_{way}"] for fact in _FACTS for way in ("a2b", "b2a")):
            return "other-packets"
        flows = {self.flow_of.get(frame) for frame in connection.frames}
        if len(flows) != 1 or self.frames[flows.copy().pop()] != len(connection.frames):
            return "other-connections"
        return ""

    def flow(self, connection: Connection) -> dict[str, Any]:
        """Return our row of the connection; a2b is the direction of the first packet's sender."""
        return self.flows[self.flow_of[connection.frames[0]]]


def _plain(flows: pl.DataFrame) -> pl.DataFrame:
    """Return times as integers."""
    import polars as pl

    times = [name for name, dtype in flows.schema.items() if dtype.is_temporal()]
    return flows.with_columns(pl.col(times).cast(pl.Int64))


def _clock(microseconds: int) -> str:
    """Format a time as tcptrace does: the digits after the point are an integer of their own."""
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{seconds}.{rest}"


def _ends(connection: Connection) -> tuple[str, ...]:
    (host_a, port_a), (host_b, port_b) = connection.ends
    return _address(host_a), str(port_a), _address(host_b), str(port_b)


def _address(text: str) -> str:
    """Return the canonical text of an address; IPv6 has many forms."""
    try:
        # tcptrace omits the first of two colons at the start.
        return str(ip_address(f":{text}" if text.startswith(":") and not text.startswith("::") else text))
    except ValueError:
        return text


def _compare(verdict: Verdict, row: dict[str, str], connection: Connection, ours: _Ours) -> None:
    flow = ours.flow(connection)
    model = connection.columns(ours.end_of_capture)
    is_swapped = (flow["client"], flow["client_port"]) != connection.ends[0]
    for each in peer("tcptrace").fields:
        if each.name in _IDENTITY:
            continue
        columns = [_swapped(column) if is_swapped else column for column in each.columns]
        values = [flow[column.removeprefix("flows.")] for column in columns]
        sender = "server" if each.name.endswith("_b2a") != is_swapped else "client"
        way = "server_to_client" if sender == "server" else "client_to_server"
        has_keep_alives = (flow["flow"], way) in ours.keep_alives
        has_copies = flow[f"{sender}_network_duplicates"] > 0
        cell = Cell(each, row[each.name], values, connection, has_keep_alives, has_copies)
        verdict.cells += 1
        if cell.is_equal():
            verdict.equal += 1
            continue
        known = model.get(each.name, row[each.name])
        reason = next((name for name, fault in FAULTS.items() if fault.explains(cell)), None)
        # The conversion of a negative average is undefined in C.
        is_defined = reason != "flight-below-zero" or each.name.startswith("max_owin")
        if reason is not None and (known == row[each.name] or not is_defined):
            verdict.explained[reason] += 1
        else:
            what = f"{each.name} of connection {row['conn_#']}: tcptrace {row[each.name]}, ours {values}"
            verdict.unexplained.append(f"{what}, modelled {known}")


def _swapped(column: str) -> str:
    other = {"client": "server", "server": "client"}
    return "_".join(f"{dot}{other.get(word, word)}" for word, dot in (_word(part) for part in column.split("_")))


def _word(part: str) -> tuple[str, str]:
    table, dot, word = part.rpartition(".")
    return word, table + dot


def main(paths: list[str]) -> int:
    from pathlib import Path

    for path in paths:
        verdict = examine(Path(path), path)
        print(f"{path}: {verdict.flows} flows, {verdict.cells} cells, {verdict.equal} equal")
        for reason, count in (verdict.flows_apart + verdict.explained).most_common():
            print(f"  {reason}: {count}")
        print("\n".join(f"  ! {line}" for line in verdict.unexplained))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Rows of an analysis in comparable form."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import polars as pl
from captures import Record, pcap

import tcptrace_http
from tcptrace_http.candidates import CANDIDATE_TABLES
from tcptrace_http.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["COMPARED", "analysed", "rows", "written"]

COMPARED: Final = (
    *("flows", "segments", "transactions", "links", "waits"),
    *CANDIDATE_TABLES,
    *("findings", "anomalies"),
)
#: Columns with sentences that contain frames and times.
_PROSE: Final = frozenset({"summary", "evidence"})
_TIME, _DURATION = "time", "duration"

Rows = list[dict[str, Any]]


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def analysed(path: Path, records: list[Record]) -> tcptrace_http.Analysis:
    """Return the analysis of a pcap file with these records."""
    return tcptrace_http.analyze(written(path, pcap(records)), tables=["packets", "segments"])


def rows(
    analysis: tcptrace_http.Analysis,
    table: str,
    *,
    frames: Mapping[int, int] | None = None,
    flows: Mapping[int, int] | None = None,
    shift: int = 0,
    keep: Callable[[dict[str, Any]], bool] = lambda row: True,
) -> Rows:
    """Return the rows of a table with shifted frames, flows and times, in canonical order."""
    frame = analysis.table(table)
    declared = {column.name: column.dtype for column in TABLES[table].columns}
    times = [name for name, dtype in declared.items() if dtype in {_TIME, _DURATION}]
    frame = frame.with_columns(pl.col(times).to_physical()) if times else frame
    kept = filter(keep, frame.drop(_PROSE & set(frame.columns)).iter_rows(named=True))
    made = [
        {name: _changed(name, declared[name], value, frames, flows, shift) for name, value in row.items()}
        for row in kept
    ]
    return sorted(made, key=lambda row: [str(value) for value in row.values()])


def _changed(
    name: str,
    dtype: str,
    value: Any,
    frames: Mapping[int, int] | None,
    flows: Mapping[int, int] | None,
    shift: int,
) -> Any:
    if value is None:
        return None
    if frames and ("frame" in name or name == "released_by"):
        return [frames[one] for one in value] if isinstance(value, list) else frames[value]
    if flows and name == "flow":
        return flows[value]
    return value + shift if dtype == _TIME else value


def scapy_reads(content: bytes) -> list[Record]:
    """Return the records as scapy's reader returns them."""
    from scapy.utils import RawPcapReader

    with RawPcapReader(BytesIO(content)) as reader:
        return [(about.sec * 10**9 + about.usec, data) for data, about in reader]

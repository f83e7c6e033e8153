"""Output of tshark on the corner cases, frame by frame, and our output in the same form."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from .script import pcapng

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import tcptrace_http

    from .script import Case

__all__ = ["Opinion", "opinion_of_us", "opinions_of_tshark"]

#: By compared quantity: (frame, value).
Opinion = dict[str, list[tuple[int, Any]]]

#: Our column of the segments table, and the alternative fields of tshark.
ANALYSIS: Final[Mapping[str, tuple[str, ...]]] = {
    "is_retransmission": ("retransmission", "fast_retransmission", "spurious_retransmission"),
    "is_out_of_order": ("out_of_order",),
    "is_keep_alive": ("keep_alive",),
    "is_zero_window": ("zero_window",),
    "is_window_update": ("window_update",),
    "duplicate_ack_count": ("duplicate_ack",),
    "gap_before_bytes": ("lost_segment",),
}
_FIELDS: Final = (
    "frame.number",
    "tcp.stream",
    "http.request.method",
    "http.request.uri",
    "http.response.code",
    *(f"tcp.analysis.{name}" for names in ANALYSIS.values() for name in names),
)
_PREFERENCES: Final = (
    "http.decompress_body:FALSE",
    "tcp.desegment_tcp_streams:TRUE",
    "tcp.reassemble_out_of_order:TRUE",
    "ip.defragment:TRUE",
)
#: The cases follow each other in one capture, far apart.
_APART_NS: Final = 10_000 * 1_000_000_000
_SEPARATOR: Final = "\x1f"


def opinions_of_tshark(cases: Iterable[Case], folder: Path) -> dict[str, Opinion]:
    """Return all cases in one capture, and tshark's output on each case's frames."""
    cases = list(cases)
    records, first_frames = [], {}
    for number, case in enumerate(cases):
        first_frames[case.name] = len(records)
        records += [replace(record, time=record.time + number * _APART_NS) for record in case.records]
    path = folder / "all.pcapng"
    path.write_bytes(pcapng(records))
    shown = {int(line["frame.number"]): line for line in _run(path)}
    return {case.name: _opinion(case, first_frames[case.name], shown) for case in cases}


def _run(path: Path) -> Iterable[dict[str, str]]:
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", f"separator={_SEPARATOR}"]
    for preference in _PREFERENCES:
        command += ["-o", preference]
    for name in _FIELDS:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, check=True)
    for line in done.stdout.decode("latin-1").removesuffix("\n").split("\n"):
        yield dict(zip(_FIELDS, line.split(_SEPARATOR), strict=True))


def _opinion(case: Case, first: int, shown: dict[int, dict[str, str]]) -> Opinion:
    opinion: Opinion = defaultdict(list)
    streams: dict[str, int] = {}
    for frame in range(1, len(case.records) + 1):
        line = shown[first + frame]
        if line["tcp.stream"]:
            opinion["streams"].append((frame, streams.setdefault(line["tcp.stream"], len(streams))))
        requests = zip(_values(line["http.request.method"]), _values(line["http.request.uri"]), strict=False)
        opinion["requests"] += [(frame, f"{method} {uri}") for method, uri in requests]
        opinion["responses"] += [(frame, int(code)) for code in _values(line["http.response.code"])]
        for column, names in ANALYSIS.items():
            if any(line[f"tcp.analysis.{name}"] for name in names):
                opinion[column].append((frame, True))
    return opinion


def _values(text: str) -> list[str]:
    return text.split(",") if text else []


def opinion_of_us(analysis: tcptrace_http.Analysis) -> Opinion:
    """Return our rows in the same form; interim responses have no frames of their own here."""
    opinion: Opinion = defaultdict(list)
    for row in analysis.segments.sort("frame").iter_rows(named=True):
        opinion["streams"].append((row["frame"], row["flow"]))
        for column in ANALYSIS:
            if row[column]:
                opinion[column].append((row["frame"], True))
    for row in analysis.transactions.iter_rows(named=True):
        if row["method"] is not None:
            opinion["requests"].append((row["request_last_frame"], f"{row['method']} {row['target']}"))
        if row["status"] is not None:
            opinion["responses"].append((row["response_last_frame"], row["status"]))
    return opinion

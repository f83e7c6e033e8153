"""Packets table of a file against dpkt's and scapy's reading of the same records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, Final

import tcptrace_http

from .comparison import Comparison
from .peers import DISSECTORS, Unreadable, records

if TYPE_CHECKING:
    from pathlib import Path

    from .peers import Fields, Record

__all__ = ["PEER", "Outcome", "compare", "comparison"]

PEER: Final = "dpkt and scapy"


#: Errors of the peers: file, columns, reason.
PEER_LIMITS = (
    (
        "pcap_v2.2.dmp",
        ("time", "wire_bytes", "captured_bytes"),
        "version 2.2 has the lengths in the other order",
    ),
    (
        "test???.pcapng",
        ("time", "captured_bytes"),
        "scapy gives no bytes of a simple packet block whose interface has no snapshot length",
    ),
    ("pcapng-example.pcapng", ("time",), "a time after 2262 is clamped, and an anomaly"),
    ("bigtcp-ipv?.pcap", ("captured_bytes",), "scapy cuts records at 65535 bytes"),
    ("window-scale-range.pcap", ("window_scale_option",), "a shift count over 14 means 14 (RFC 7323, 2.3)"),
)


@dataclass
class Outcome:
    """Result of one file; ``readable`` is whether scapy read it to the end."""

    path: str
    readable: bool = True
    records: int = 0
    compared: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DISSECTORS, 0))
    differences: list[str] = field(default_factory=list)
    #: Fields in which the peer is wrong, by reason.
    limits: Counter[str] = field(default_factory=Counter)
    fields: int = 0


def compare(path: Path) -> Outcome:
    """Compare the packets table of a file with the peers, record by record."""
    outcome = Outcome(str(path))
    try:
        packets = tcptrace_http.analyze(path, tables=["packets"]).packets
    except tcptrace_http.TcptraceError:
        outcome.readable = False
        return outcome
    # Python's datetime has no nanoseconds.
    rows = packets.with_columns(packets["time"].to_physical()).iter_rows(named=True)
    try:
        for record, row in zip(records(path), rows, strict=False):
            outcome.records += 1
            _compare_record(outcome, record, row)
    except Unreadable:
        outcome.readable = False
    return outcome


def _compare_record(outcome: Outcome, record: Record, row: dict[str, Any]) -> None:
    expected = {
        "time": record.time_ns,
        "wire_bytes": record.wire_bytes,
        "captured_bytes": len(record.data),
        "link_type": record.link_type,
    }
    _note(outcome, "scapy's reader", row, expected)
    for name, dissect in DISSECTORS.items():
        expected = dissect(record)
        if expected is not None:
            outcome.compared[name] += 1
            _note(outcome, name, row, expected)


def _note(outcome: Outcome, peer: str, row: dict[str, Any], expected: Fields) -> None:
    for column, value in expected.items():
        outcome.fields += 1
        found = row[column]
        if found == value:
            continue
        limit = _limit_of_the_peer(outcome.path, column)
        if limit is not None:
            outcome.limits[limit] += 1
            continue
        text = f"{outcome.path}: frame {row['frame']}: {column} {found!r}, {peer} {value!r}"
        outcome.differences.append(text)


def _limit_of_the_peer(path: str, column: str) -> str | None:
    limits = (why for name, columns, why in PEER_LIMITS if fnmatch(path, f"*/{name}") and column in columns)
    return next(limits, None)


def comparison(path: Path, name: str) -> Comparison:
    """Return the same in the report's form."""
    outcome = compare(path)
    compared = {"files": 1, "packets": outcome.records, "cells": outcome.fields}
    examples = tuple(f"{name}: {text}" for text in outcome.differences[:3])
    return Comparison(PEER, compared, outcome.limits, len(outcome.differences), examples)

"""Findings, detectors without a judgement, and anomalies."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_FINDINGS: Final = Table(
    "findings",
    "One row a named pathology with its evidence.",
    columns(
        ("detector", "str*", "Name of the detector"),
        ("severity", "enum:SEVERITIES*", "error: time observably lost; warning: less; info: structure"),
        ("flow", "u32?*", "Flow number; null where it is about the whole capture"),
        ("transaction", "u32?*", "Transaction number on the flow; null where it is about the flow or several"),
        ("first_frame", "u64?*", "First frame of the evidence"),
        ("last_frame", "u64?*", "Last frame of the evidence"),
        ("start", "time?*", "When the lost time began: the start of its first wait"),
        ("lost", "duration*", "By how much the transaction would have been shorter; 0 for structure alone"),
        (
            "elapsed_without",
            "duration?*",
            "What the transaction would have taken without it; null for several, and from several flows",
        ),
        (
            "shared",
            "duration*",
            "The part of it that other findings of the transaction claim too: without them all it is saved once",
        ),
        ("confidence", "f64*", "0 to 1"),
        ("cause", "enum:CAUSES?*", "What the lost time was spent on; null for structure alone"),
        ("summary", "str*", "What happened, in a sentence"),
        ("evidence", "str*", "Frames and figures"),
        ("remedy", "str*", "What to change"),
        ("server_software", "str?*", "Server field of the responses that it is about; null if none or several"),
        ("reference", "str*", "Where the pathology is described"),
    ),
    native=False,
)

_INCONCLUSIVE: Final = Table(
    "inconclusive",
    "One row a detector and a flaw of the capture that kept it from judging flows: each of these flows lacks"
    " what the detector needs, and it found nothing there, which therefore says nothing.",
    columns(
        ("detector", "str*", "Name of the detector that could not judge"),
        ("because", "str*", "Name of the detector of the flaw, which says what to do about it"),
        ("flows", "u32*", "How many HTTP flows it could not judge for that reason"),
        ("flow", "u32*", "The first of them"),
        ("reason", "str*", "What the detector would have needed"),
    ),
    native=False,
)

_ANOMALIES: Final = Table(
    "anomalies",
    "One row a piece of strange traffic, or of a strange file.",
    columns(
        ("kind", "enum:ANOMALY_KINDS*", "What was strange"),
        ("frame", "u64?*", "Frame at which it was noticed"),
        ("flow", "u32?*", "Flow it is about"),
        ("offset", "u64?*", "Offset in the file"),
        ("detail", "str*", "What exactly"),
    ),
)

TABLES: Final = (_FINDINGS, _INCONCLUSIVE, _ANOMALIES)

"""Findings, detectors without a judgement, and anomalies."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_FINDINGS: Final = Table(
    "findings",
    "One row per named pathology with its evidence.",
    columns(
        ("detector", "str*", "Name of the detector"),
        ("severity", "enum:SEVERITIES*", "error: a notable loss; warning: a smaller loss; info: structure"),
        ("flow", "u32?*", "Flow number; null for the whole capture"),
        ("transaction", "u32?*", "Transaction number on the flow; null for the flow or several"),
        ("first_frame", "u64?*", "First frame of the evidence"),
        ("last_frame", "u64?*", "Last frame of the evidence"),
        ("start", "time?*", "Start of the lost time: the start of its first wait"),
        ("lost", "duration*", "Saving of the transaction without the finding; 0 for structure alone"),
        (
            "elapsed_without",
            "duration?*",
            "Elapsed time of the transaction without the finding; null for several, and from several flows",
        ),
        (
            "shared",
            "duration*",
            "The part of lost that other findings of the transaction also claim: all of them save it once",
        ),
        ("confidence", "f64*", "0 to 1"),
        ("cause", "enum:CAUSES?*", "Cause of the lost time; null for structure alone"),
        ("summary", "str*", "The event, in a sentence"),
        ("evidence", "str*", "Frames and figures"),
        ("remedy", "str*", "The change that fixes it"),
        ("server_software", "str?*", "Server field of its responses; null for none or several"),
        ("reference", "str*", "Source that describes the pathology"),
    ),
    native=False,
)

_INCONCLUSIVE: Final = Table(
    "inconclusive",
    "One row per detector and capture flaw that prevented judgements: each of these flows lacks a property"
    " that the detector needs, so the absence of a finding proves nothing.",
    columns(
        ("detector", "str*", "Name of the detector that could not judge"),
        ("because", "str*", "Name of the detector of the flaw, which gives the remedy"),
        ("flows", "u32*", "Number of HTTP flows without a judgement for that reason"),
        ("flow", "u32*", "The first of these flows"),
        ("reason", "str*", "The missing property"),
    ),
    native=False,
)

_ANOMALIES: Final = Table(
    "anomalies",
    "One row per anomaly of the traffic or the file.",
    columns(
        ("kind", "enum:ANOMALY_KINDS*", "Kind of the anomaly"),
        ("frame", "u64?*", "Frame of its detection"),
        ("flow", "u32?*", "Flow of the anomaly"),
        ("offset", "u64?*", "Offset in the file"),
        ("detail", "str*", "What exactly"),
    ),
)

TABLES: Final = (_FINDINGS, _INCONCLUSIVE, _ANOMALIES)

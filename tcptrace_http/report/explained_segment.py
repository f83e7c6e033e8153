"""Explained segment as a text table and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.quantity import duration
from tcptrace_http.report.grid import Heading, grid, printable
from tcptrace_http.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.explained_segment import ExplainedSegment
    from tcptrace_http.trace import native

__all__ = ["as_json", "as_text"]

_INDENT: Final = "    "
#: Width of the table, which is never cut: its last column names a file.
_WIDTH: Final = 1000
_HEADINGS: Final = (
    Heading(""),
    Heading("constraint"),
    Heading("allowed at", is_number=True),
    Heading("before it left", is_number=True),
    Heading("released by"),
    Heading("decided in"),
)
#: Words in place of a time.
_STATES: Final = {
    "open": "before the recorded history",
    "not_shown": "not by the evidence so far",
    "exempt": "does not hold this segment",
    "unknown": "not seen in a capture",
}
#: Release reasons without a known frame.
_WITHOUT_A_FRAME: Final = {"loss": "a timer or duplicate ACKs", "cork": "the timer of a corked socket"}
_BITS_IN_A_MEGABIT: Final = 1_000_000


def as_json(explained: ExplainedSegment) -> str:
    """Return the JSON object of a segment; each release names the deciding file."""
    segment: dict[str, Any] = dict(explained.segment)
    binding = explained.segment["binding"]
    releases = [
        {**release, "is_binding": _is_binding(release, binding), "decided_in": _source(explained, release)}
        for release in explained.segment["releases"]
    ]
    document = {
        "schema_version": SCHEMA_VERSION,
        "capture": explained.capture,
        "frame": explained.frame,
        "flow": explained.flow.number,
        "client": explained.flow.client,
        "server": explained.flow.server,
        **segment,
        "releases": releases,
        "waits": [asdict(wait) for wait in explained.waits],
    }
    return json.dumps(document, indent=2)


def as_text(explained: ExplainedSegment) -> str:
    """Return the table of releases, the binding constraint, the waits that end with the segment, and the
    sender's profile.
    """
    parts = (_head(explained), _releases(explained), _binding(explained), _waits(explained), _profile(explained))
    return "\n\n".join("\n".join(part) for part in parts)


def _is_binding(release: native.ReleaseFields, binding: native.BindingFields | None) -> bool:
    return binding is not None and release["constraint"] == binding["constraint"]


def _source(explained: ExplainedSegment, release: native.ReleaseFields) -> str:
    return explained.decided_in(release["constraint"])


def _head(explained: ExplainedSegment) -> Iterator[str]:
    segment, flow = explained.segment, explained.flow
    is_request = segment["direction"] == "client_to_server"
    ends = (flow.client, flow.server) if is_request else (flow.server, flow.client)
    yield (
        f"Frame {explained.frame} of {printable(explained.capture)}: {segment['bytes']:,} bytes at offset"
        f" {segment['offset']:,} of the {'request' if is_request else 'response'}"
    )
    yield f"{_INDENT}flow {flow.number}, transaction {segment['transaction']}, {' > '.join(ends)}"
    yield f"{_INDENT}passed the capture {duration(segment['time_ns'] - explained.begun_ns)} after its first packet"


def _releases(explained: ExplainedSegment) -> Iterator[str]:
    segment = explained.segment
    yield "Releases in time order (the binding one is marked with *)"
    rows = []
    for release in segment["releases"]:
        time_ns = release["time_ns"]
        rows.append(
            (
                "*" if _is_binding(release, segment["binding"]) else "",
                release["constraint"],
                "-" if time_ns is None else duration(time_ns - explained.begun_ns),
                "-" if time_ns is None else duration(segment["time_ns"] - time_ns),
                _released_by(release),
                _source(explained, release),
            )
        )
    for line in grid(_HEADINGS, rows, _WIDTH):
        yield f"  {line}"


def _released_by(release: native.ReleaseFields) -> str:
    if release["state"] != "released":
        return _STATES[release["state"]]
    frame, delay_ns = release["released_by"], release["ack_delay_ns"]
    if frame is None:
        return _WITHOUT_A_FRAME.get(release["constraint"], "the previous packet on the link")
    if delay_ns is None:
        return f"frame {frame}, which passed before"
    return f"ACK in frame {frame}, {f'delayed by {duration(delay_ns)}' if delay_ns else 'prompt'}"


def _binding(explained: ExplainedSegment) -> Iterator[str]:
    binding = explained.segment["binding"]
    if binding is None:
        yield "No constraint bound it: it followed the previous segment at once, had no new data, or was lost"
        return
    yield (
        f"Bound by {binding['constraint']} for {duration(binding['end_ns'] - binding['start_ns'])}:"
        f" {binding['cause']}, confidence {binding['confidence']:.2f}"
    )
    yield f"{_INDENT}decided in {explained.decided_in(binding['constraint'])}, cause in attribution/src/causes.rs"
    if binding["released_by"] is not None:
        yield f"{_INDENT}kind of the ACK in frame {binding['released_by']} decided in path/src/receiver.rs"


def _waits(explained: ExplainedSegment) -> Iterator[str]:
    yield f"Waits of the transaction that end with frame {explained.frame}"
    for wait in explained.waits:
        yield f"{_INDENT}{wait.cause} {duration(wait.end_ns - wait.start_ns)}, confidence {wait.confidence:.2f}"
    if not explained.waits:
        yield f"{_INDENT}none"


def _profile(explained: ExplainedSegment) -> Iterator[str]:
    profile = explained.segment["profile"]
    rate = profile["link_rate"]
    yield "Known properties of the sender and its path (attribution/src/profile.rs)"
    yield (
        f"{_INDENT}round trip {duration(profile['round_trip_ns'])}:"
        f" {duration(profile['round_trip_to_sender_ns'])} from the capture to the sender,"
        f" {duration(profile['round_trip_to_receiver_ns'])} to the receiver"
    )
    yield f"{_INDENT}an answer counts as prompt within {duration(profile['tolerance_ns'])}"
    yield f"{_INDENT}link rate {'unknown' if rate is None else f'{rate / _BITS_IN_A_MEGABIT:.3g} Mbit/s'}"
    yield f"{_INDENT}MSS {profile['mss']:,} bytes"
    yield (
        f"{_INDENT}congestion window shown {profile['shown_window_bytes']:,} bytes,"
        f" {profile['flight_bytes']:,} in flight before it"
    )
    yield f"{_INDENT}Nagle's algorithm: {profile['nagle']}"

"""Explanation of one segment: the time at which each constraint allowed it, the binding constraint, and the
deciding code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tcptrace_http.capture import batches
from tcptrace_http.errors import UnknownSegment
from tcptrace_http.schema import TABLES
from tcptrace_http.trace import frame_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from tcptrace_http.capture import Decoded
    from tcptrace_http.capture_stream import CaptureStream, Source
    from tcptrace_http.trace import native

__all__ = ["DECIDED_IN", "ExplainedSegment", "Flow", "Wait", "explain_frame"]

#: File below ``tcptrace_http/native`` that decides each constraint. A wrong constraint is an error there or
#: in its input.
DECIDED_IN: Final = {
    "application": "attribution/src/spans.rs",
    "receive_window": "sender/src/receive_window.rs",
    "congestion_window": "sender/src/congestion.rs",
    "send_buffer": "sender/src/congestion.rs",
    "nagle": "sender/src/nagle.rs",
    "cork": "sender/src/cork.rs",
    "h2_stream_window": "attribution/src/multiplexed.rs",
    "h2_connection_window": "attribution/src/multiplexed.rs",
    "link": "path/src/bottleneck.rs",
    "loss": "attribution/src/recovery.rs",
    # The transaction gives the application's time of the first segment of a message.
    "opening": "attribution/src/transaction.rs",
}


@dataclass(frozen=True, slots=True)
class Flow:
    """Connection of a segment: address and port of both ends."""

    number: int
    client: str
    server: str
    #: Detected application protocol, if any.
    protocol: str | None


@dataclass(frozen=True, slots=True)
class Wait:
    """Interval of the transaction that ends with the segment: a row of ``waits``."""

    cause: str
    start_ns: int
    end_ns: int
    confidence: float


@dataclass(frozen=True, slots=True)
class ExplainedSegment:
    """Segment with its connection and the waits that end with it."""

    capture: str
    #: Time of the first packet.
    begun_ns: int
    frame: int
    flow: Flow
    segment: native.SegmentFields
    waits: tuple[Wait, ...]

    def decided_in(self, constraint: str) -> str:
        """Return the file that decides a constraint of this segment."""
        is_opening = constraint == "application" and self.segment["offset"] == 0
        return DECIDED_IN["opening" if is_opening else constraint]


def explain_frame(
    source: Source,
    frame: int,
    *,
    progress: Callable[[CaptureStream], None] | None = None,
    keylog: str | os.PathLike[str] | None = None,
) -> ExplainedSegment:
    """Explain the segment in a frame. ``keylog`` is a file with TLS secrets.

    :raises CaptureError: the capture or the key log cannot be read.
    :raises UnknownSegment: the capture lacks the frame, or the frame has no HTTP message data.
    """
    flows: list[Flow] = []
    waits: list[tuple[int, Wait]] = []
    for decoded in batches(source, progress=progress, asked_frame=frame, keylog=keylog):
        if decoded.requested is not None and decoded.requested["flow"] is not None:
            flows += _flows(decoded, decoded.requested["flow"])
            waits += _waits(decoded, decoded.requested["flow"], frame)
    requested = decoded.requested
    segment = requested["explained"] if requested is not None else None
    if requested is None or segment is None or not flows:
        raise UnknownSegment(f"{decoded.provenance.path}: frame {frame} {_missing(decoded, flows)}")
    return ExplainedSegment(
        capture=decoded.provenance.path,
        begun_ns=decoded.provenance.first_time_ns or 0,
        frame=frame,
        flow=flows[0],
        segment=segment,
        waits=tuple(wait for transaction, wait in waits if transaction == segment["transaction"]),
    )


def _flows(decoded: Decoded, number: int) -> list[Flow]:
    """Return the row of a flow, if the batch has it."""
    columns = {"flow", "client", "client_port", "server", "server_port", "protocol"}
    table = decoded.rows.table("flows", columns, {number})
    rows = frame_of(table, TABLES["flows"], statistics=False, only=columns)
    return [
        Flow(
            number=number,
            client=f"{row['client']}:{row['client_port']}",
            server=f"{row['server']}:{row['server_port']}",
            protocol=row["protocol"],
        )
        for row in rows.iter_rows(named=True)
    ]


def _waits(decoded: Decoded, flow: int, frame: int) -> list[tuple[int, Wait]]:
    """Return the waits of the batch that end with the frame, each with its transaction number."""
    import polars as pl

    columns = {"flow", "transaction", "cause", "start", "end", "last_frame", "confidence"}
    rows = frame_of(decoded.rows.table("waits", columns, {flow}), TABLES["waits"], only=columns)
    rows = rows.filter(last_frame=frame).with_columns(pl.col("start", "end").to_physical())
    return [
        (row["transaction"], Wait(row["cause"], row["start"], row["end"], row["confidence"]))
        for row in rows.iter_rows(named=True)
    ]


def _missing(decoded: Decoded, flows: list[Flow]) -> str:
    """Return the reason for the missing explanation, and what to do."""
    requested, capture = decoded.requested, decoded.provenance
    if requested is None or not requested["is_captured"]:
        return f"is not in the capture: give a number from 1 to {capture.packets}, as Wireshark counts"
    if requested["payload_bytes"] is None:
        return "has no TCP segment; give the frame of a segment with data (tshark -Y 'tcp.len > 0')"
    if requested["payload_bytes"] == 0:
        return (
            "has no data; give the frame of a segment with data (last_frame in:"
            f" tcptrace-http analyze --format csv --table waits {capture.path})"
        )
    if requested["flow"] is None or not flows:
        return "was captured before; give the frame in which its packet was seen first"
    flow = flows[0]
    ends = f"flow {flow.number}, {flow.client} to {flow.server}"
    if flow.protocol is None:
        return f"carries no HTTP ({ends}); give a frame of an HTTP flow"
    return (
        f"belongs to no message that the capture has whole ({ends}): it is a window probe, a keep-alive,"
        " or data of an exchange without a request or response; give a frame of another message"
    )

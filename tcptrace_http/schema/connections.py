"""Ends of connections, flaws of their capture, and segmentation of messages."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_ENDINGS: Final = Table(
    "endings",
    "One row per flow that failed its client: never set up, refused, closed before its last answer, or cut"
    " off inside a response.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Failed transaction, the first of several; 0 without one"),
        ("kind", "enum:ENDINGS", "How"),
        ("method", "str?", "Method of the request"),
        ("target", "str?", "Target of the request"),
        ("first_frame", "u64", "Frame of the request's first byte, else of the response's; of the first SYN"),
        ("start", "time", "Time of that frame"),
        ("response_first_frame", "u64?", "First byte of the response that broke off"),
        ("close_frame", "u64", "FIN or RST that ended it; the last SYN or SYN-ACK of one never set up"),
        ("close_time", "time", "Time of that frame"),
        ("reset_frame", "u64?", "First RST on the flow"),
        ("by_client", "bool", "True if the client caused the end"),
        ("request_acknowledged", "bool", "The server had acknowledged the request before its close"),
        ("pipelined", "bool", "The request preceded the end of the previous response"),
        ("answered", "u32", "Earlier answered requests on the flow"),
        ("unanswered", "u32", "Unanswered requests"),
        ("idle", "duration?", "Last byte of the previous response to the request"),
        ("body_bytes", "u64?", "Received body of the response"),
        ("announced_bytes", "u64?", "Body that Content-Length announced"),
    ),
)

_FLAWS: Final = Table(
    "flaws",
    "One row per flow and flaw of its capture: of HTTP and TLS flows, and truncated payload of all flows,"
    " because HTTP may then be unrecognized.",
    columns(
        ("flow", "u32", "Flow number"),
        ("flaw", "enum:FLAWS", "Flaw of the flow's capture"),
        ("has_messages", "bool", "HTTP/1.x or TLS was found on the flow"),
        ("server_port", "u16", "Port of the server"),
        (
            "direction",
            "enum:DIRECTIONS?",
            "The only captured direction, or the one whose ACKs are missing or come from a middlebox",
        ),
        ("frame", "u64?", "First frame that shows the flaw"),
        ("count", "u64", "Number of holes, truncated segments, or packets larger than a segment; else 0"),
        ("bytes", "u64", "Bytes missing, bytes cut off, or the largest payload of a packet; else 0"),
    ),
)

_SEGMENTATION: Final = Table(
    "segmentation",
    "One row per message with a notable segmentation: short segments before the last one (in a response two),"
    " a request with a pause inside, or a response whose short end came at least 190 ms after its full"
    " segments.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction of the message"),
        ("direction", "enum:DIRECTIONS", "Direction: the client's request or the server's response"),
        ("first_frame", "u64", "Segment of its start"),
        ("first_time", "time", "Its time"),
        ("message_bytes", "u64", "Bytes of the message as sent"),
        ("head_bytes", "u64", "Bytes of its start line and fields"),
        ("segments", "u32", "Segments of the message, with merged ones counted separately"),
        ("unfilled_segments", "u32", "Short segments before the last one"),
        ("segment_bytes", "u32", "Payload of a full segment on this flow"),
        ("full_segments_by_end", "u32", "Full segments of its sender on this flow up to its end"),
        ("opening_bytes", "u32", "Payload of the message in its first segment"),
        (
            "pause",
            "duration?",
            "Longest time between two of its segments, if at least 1 ms and without a retransmission",
        ),
        ("pause_start", "time?", "Start of that pause"),
        ("pause_previous_frame", "u64?", "Segment before the pause"),
        ("pause_released_frame", "u64?", "Segment after the pause"),
        ("pause_released_bytes", "u32?", "Payload of that segment"),
        ("pause_offset", "u64?", "Offset of that segment in the message"),
        ("pause_segments_before", "u32?", "Segments of the message before the pause"),
        (
            "pause_since_ack",
            "duration?",
            ("Time from the ACK of all sent data to that segment, less the path; null with bytes in flight"),
        ),
    ),
)

TABLES: Final = (_ENDINGS, _FLAWS, _SEGMENTATION)

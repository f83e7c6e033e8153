"""Ends of connections, flaws of their capture, and segmentation of messages."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_ENDINGS: Final = Table(
    "endings",
    "One row a flow that let its client down: never set up, refused, closed before all requests were answered, or"
    " cut off inside a response.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction that was let down, the first if several; 0 where there was none"),
        ("kind", "enum:ENDINGS", "How"),
        ("method", "str?", "Method of the request"),
        ("target", "str?", "Target of the request"),
        ("first_frame", "u64", "Frame of the request's first byte, else of the response's; of the first SYN"),
        ("start", "time", "Time of that frame"),
        ("response_first_frame", "u64?", "First byte of the response that broke off"),
        ("close_frame", "u64", "FIN or RST that ended it; the last SYN or SYN-ACK of one never set up"),
        ("close_time", "time", "Time of that"),
        ("reset_frame", "u64?", "First RST on the flow"),
        ("by_client", "bool", "It was the client that did it"),
        ("request_acknowledged", "bool", "The server had acknowledged the request when it closed"),
        ("pipelined", "bool", "The request was sent before the response before it was complete"),
        ("answered", "u32", "Requests answered on the flow before"),
        ("unanswered", "u32", "Requests not answered"),
        ("idle", "duration?", "Last byte of the response before it to the request"),
        ("body_bytes", "u64?", "Body of the response that came"),
        ("announced_bytes", "u64?", "Body that Content-Length announced"),
    ),
)

_FLAWS: Final = Table(
    "flaws",
    "One row a flow and a way in which its capture falls short of what was on the wire: of HTTP and TLS flows, and"
    " truncated payload of all flows, for then HTTP may not have been recognized.",
    columns(
        ("flow", "u32", "Flow number"),
        ("flaw", "enum:FLAWS", "What is wrong with the capture of the flow"),
        ("has_messages", "bool", "HTTP/1.x or TLS was found on the flow"),
        ("server_port", "u16", "Port of the server"),
        (
            "direction",
            "enum:DIRECTIONS?",
            "The only one captured, or the one whose ACKs are missing or a middlebox's",
        ),
        ("frame", "u64?", "Frame at which it shows first"),
        ("count", "u64", "How many holes, truncated segments, or packets larger than a segment; else 0"),
        ("bytes", "u64", "Bytes missing, bytes cut off, or the largest payload of a packet; else 0"),
    ),
)

_SEGMENTATION: Final = Table(
    "segmentation",
    "One row a message that was cut into segments in a notable way: with short ones before its last (a"
    " response with two), a request with a pause inside, a response whose short end came 190 ms or more after"
    " its full segments.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction of the message"),
        ("direction", "enum:DIRECTIONS", "Whether it is the client's request or the server's response"),
        ("first_frame", "u64", "Segment it starts in"),
        ("first_time", "time", "Its time"),
        ("message_bytes", "u64", "The message as sent"),
        ("head_bytes", "u64", "Its start line and fields"),
        ("segments", "u32", "Segments of it, those merged by offload counted one by one"),
        ("unfilled_segments", "u32", "Of these, short ones before the last"),
        ("segment_bytes", "u32", "Payload of a full segment on this flow"),
        ("full_segments_by_end", "u32", "Full segments that its sender had sent on this flow by its end"),
        ("opening_bytes", "u32", "Its part of the segment it starts in"),
        ("pause", "duration?", "Longest time between two of its segments, if 1 ms and nothing was sent again"),
        ("pause_start", "time?", "When it began"),
        ("pause_previous_frame", "u64?", "Segment before it"),
        ("pause_released_frame", "u64?", "Segment after it"),
        ("pause_released_bytes", "u32?", "Payload of that"),
        ("pause_offset", "u64?", "Where in the message that starts"),
        ("pause_segments_before", "u32?", "Segments of the message before it"),
        (
            "pause_since_ack",
            "duration?",
            (
                "ACK of all that had been sent to the segment after it, less the path; null if something was"
                " outstanding"
            ),
        ),
    ),
)

TABLES: Final = (_ENDINGS, _FLAWS, _SEGMENTATION)

"""The content of requests and responses: links, profiles, bodies, redirects and expectations."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_LINKS: Final = Table(
    "links",
    "One row a link of a captured HTML document that a browser follows by itself: images, scripts, style"
    " sheets, icons, frames, media. Of a document with another coding than gzip or deflate there are none.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction whose response is the document"),
        ("frame", "u64", "Frame with which the link's tag was there whole"),
        ("time", "time", "Its time: from then on the client could ask for what it names"),
        ("url", "str", "The link as it stands in the document"),
        ("base", "str?", "URL of the document's base element, against which the link is resolved"),
    ),
)

_PROFILES: Final = Table(
    "profiles",
    "One row per flow and direction in which a message was captured: what was learnt of its sender and its path;"
    " null where the capture does not show it.",
    columns(
        ("flow", "u32*", "Flow number"),
        ("direction", "enum:DIRECTIONS*", "Whose data"),
        ("mss", "u32?", "Payload of a full segment"),
        ("round_trip", "duration", "Least round trip of the whole path"),
        ("round_trip_to_sender", "duration", "Least round trip from the capture to the sender"),
        ("round_trip_to_receiver", "duration", "Least round trip from the capture to the receiver"),
        ("link_rate", "u64?", "Rate of the slowest link, in bits per second"),
        ("first_flight_bytes", "u64", "Sent before any of it was acknowledged"),
        ("first_flight_segments", "u32", "Its segments"),
        (
            "initial_window_bytes",
            "u64?",
            "The first flight, if more data waited behind it for an ACK (RFC 5681, section 3.1)",
        ),
        ("initial_window_segments", "u32?", "Its segments"),
        ("initial_window_frame", "u64?", "ACK that ended it"),
        ("nagle", "enum:NAGLE_VARIANTS", "Nagle's algorithm of the sender"),
        ("nagle_holds", "u32", "Segments that it held"),
        ("largest_window_bytes", "u64", "Most bytes in flight since the last loss"),
        ("largest_window_segments", "u32", "Their segments"),
        ("receive_window_min", "u64?", "Least window that the receiver offered"),
        ("receive_window_max", "u64?", "Largest window that it offered"),
        ("acks", "u32", "ACKs of new data"),
        ("stretch_acks", "u32", "Of these, ACKs of more than two full segments (RFC 2525, section 2.13)"),
        ("delayed_acks", "u32", "ACKs that the receiver delayed (RFC 1122, section 4.2.3.2)"),
        ("ack_delay", "duration?", "Longest delay of them"),
        ("ack_delay_frame", "u64?", "ACK with that delay"),
        ("restarts", "u32", "Idle periods that threw the congestion window away (RFC 5681, section 4.1)"),
        ("kept_windows", "u32", "Idle periods after which as much was sent at once as before"),
        ("send_buffer_bytes", "u64?", "Bytes in flight at stops that were constant without a loss"),
        ("retransmissions", "u32", "Segments sent again"),
        ("segment_max", "u32", "Largest payload of a segment"),
        ("acked_segment_max", "u32", "Largest payload of a segment that was acknowledged"),
    ),
)

_BODIES: Final = Table(
    "bodies",
    "One row a whole 200 response to GET whose body is over a segment, if there is something to judge: the"
    " client had fetched the URL or the same body before, or it is text that was sent uncompressed."
    " A row tells all that is judged, for its transaction may have left with an earlier batch.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction number on the flow"),
        ("client", "str", "Address of the client"),
        ("host", "str", "Host of the URL, else the address of the server"),
        ("target", "str", "Path and query of the URL"),
        ("request_frame", "u64", "As in transactions, like the columns up to body_digest"),
        ("response_last_frame", "u64", "Frame that completed the response"),
        ("request_time", "time", "Time of the request's first byte"),
        ("response_first_time", "time", "Time of the response's first byte"),
        ("response_last_time", "time", "Time the response was complete"),
        ("response_header_bytes", "u64", "Start line and fields of the response"),
        ("body_bytes", "u64", "Body of the response, framing removed, not decoded"),
        ("content_type", "str?", "Content-Type of the response"),
        ("content_encoding", "str?", "Content-Encoding of the response"),
        ("accept_encoding", "str?", "Accept-Encoding of the request"),
        ("is_conditional", "bool", "The request has If-None-Match or If-Modified-Since"),
        ("body_digest", "u64", "As in transactions"),
        ("rtt", "duration?", "Round trip of the whole path, known at that time"),
        ("segment_bytes", "u32", "Payload of a full segment on this flow"),
        (
            "transfer",
            "duration",
            "First to last byte of the response; of a pause over 30 ms no more than one and a half round trips",
        ),
        ("gzip_bytes", "u64?", "What gzip -6 makes of a body that was sent as it is, if it is text"),
        ("zstd_bytes", "u64?", "What zstd -3 makes of it"),
        (
            "previous_flow",
            "u32?",
            "Flow of a 200 with the same URL and Content-Encoding that the client had by then",
        ),
        ("previous_transaction", "u32?", "Its transaction"),
        (
            "previous_frame",
            "u64?",
            "Frame that completed it: the latest such, or on parallel connections a late one",
        ),
        ("previous_time", "time?", "Time it was complete"),
        ("previous_has_validator", "bool?", "It had an ETag or Last-Modified"),
        ("previous_no_store", "bool?", "Its Cache-Control forbade to store it (RFC 9111, section 5.2.2.5)"),
        ("is_unchanged", "bool?", "Its body was the same"),
        ("delta_bytes", "u64?", "What zstd -3 makes of this body, decoded, with that one as prefix (RFC 9842)"),
        ("twin_flow", "u32?", "Flow of the client's first 200 with the same body, if it had another URL"),
        ("twin_transaction", "u32?", "Its transaction"),
        ("twin_frame", "u64?", "Frame that completed it"),
        ("twin_url", "str?", "Its host and target, cut at 128 characters"),
    ),
)

_REDIRECTS: Final = Table(
    "redirects",
    "One row a redirect (RFC 9110, section 15.4) that the client followed at once: its next GET or HEAD of"
    " the URL in Location.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction of the redirect"),
        ("client", "str", "Address of the client"),
        ("method", "str", "Method of the request that was redirected"),
        ("status", "u16", "Status code of the redirect"),
        ("host", "str", "Host of the URL that was redirected, else the address of the server"),
        ("target", "str", "Path and query of that URL"),
        ("request_frame", "u64", "Frame of the request's first byte"),
        ("opened_time", "time?", "Start of the connection, if this is the first transaction on it"),
        ("request_time", "time", "Time of the request's first byte"),
        ("response_last_time", "time", "Time the redirect was complete"),
        ("first_flow", "u32", "Flow of the redirect that the chain began with"),
        ("first_transaction", "u32", "Its transaction"),
        ("next_flow", "u32", "Flow of the request that followed"),
        ("next_transaction", "u32", "Its transaction"),
        ("next_host", "str", "Host of its URL"),
        ("next_target", "str", "Path and query of its URL"),
        ("next_request_frame", "u64", "Frame of its first byte"),
        ("next_opened_time", "time?", "Start of its connection, if it is the first transaction on it"),
        ("next_request_time", "time", "Time of its first byte"),
    ),
)

_EXPECTATIONS: Final = Table(
    "expectations",
    "One row a request with Expect: 100-continue whose body came a while after its head.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction number on the flow"),
        ("client", "str", "Address of the client"),
        ("host", "str", "Host of the URL, else the address of the server"),
        ("target", "str", "Path and query of the URL"),
        ("method", "str", "Request method"),
        ("status", "u16?", "Status code of the final response"),
        ("head_frame", "u64", "Frame that completed the head"),
        ("head_time", "time", "Its time"),
        ("body_frame", "u64", "Frame of the body's first byte"),
        ("body_time", "time", "Its time"),
        ("body_bytes", "u64", "Body of the request, framing removed"),
        ("continue_frame", "u64?", "Frame of the 100 response's first byte"),
        ("continue_time", "time?", "Its time"),
        ("final_time", "time?", "Time of the final response's first byte"),
        ("end_time", "time?", "Time the final response was complete"),
        ("rtt", "duration?", "Round trip of the whole path"),
        ("server_path_rtt", "duration?", "As in flows"),
    ),
)

TABLES: Final = (_LINKS, _PROFILES, _BODIES, _REDIRECTS, _EXPECTATIONS)

"""Content of requests and responses: links, profiles, bodies, redirects and expectations."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_LINKS: Final = Table(
    "links",
    "One row per link of a captured HTML document that a browser follows automatically: images, scripts, style"
    " sheets, icons, frames, media. Documents with another coding than gzip or deflate have no rows.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction whose response is the document"),
        ("frame", "u64", "Frame that completed the link's tag"),
        ("time", "time", "Time of that frame: the client could then request the target"),
        ("url", "str", "The link as written in the document"),
        ("base", "str?", "URL of the document's base element, against which the link is resolved"),
    ),
)

_PROFILES: Final = Table(
    "profiles",
    "One row per flow and direction with a captured message: the inferred properties of its sender and its"
    " path; null if the capture does not show them.",
    columns(
        ("flow", "u32*", "Flow number"),
        ("direction", "enum:DIRECTIONS*", "Whose data"),
        ("mss", "u32?", "Payload of a full segment"),
        ("round_trip", "duration", "Minimum round trip of the whole path"),
        ("round_trip_to_sender", "duration", "Minimum round trip from the capture to the sender"),
        ("round_trip_to_receiver", "duration", "Minimum round trip from the capture to the receiver"),
        ("link_rate", "u64?", "Rate of the bottleneck, in bits per second"),
        ("first_flight_bytes", "u64", "Data sent before its first ACK"),
        ("first_flight_segments", "u32", "Its segments"),
        (
            "initial_window_bytes",
            "u64?",
            "The first flight, if more data waited behind it for an ACK (RFC 5681, section 3.1)",
        ),
        ("initial_window_segments", "u32?", "Its segments"),
        ("initial_window_frame", "u64?", "ACK that ended it"),
        ("nagle", "enum:NAGLE_VARIANTS", "Nagle's algorithm of the sender"),
        ("nagle_holds", "u32", "Segments that Nagle's algorithm held"),
        ("largest_window_bytes", "u64", "Maximum bytes in flight since the last loss"),
        ("largest_window_segments", "u32", "Their segments"),
        ("receive_window_min", "u64?", "Minimum window that the receiver offered"),
        ("receive_window_max", "u64?", "Maximum window that the receiver offered"),
        ("acks", "u32", "ACKs of new data"),
        ("stretch_acks", "u32", "Of these, ACKs of more than two full segments (RFC 2525, section 2.13)"),
        ("delayed_acks", "u32", "ACKs that the receiver delayed (RFC 1122, section 4.2.3.2)"),
        ("ack_delay", "duration?", "Longest of these delays"),
        ("ack_delay_frame", "u64?", "ACK with that delay"),
        ("restarts", "u32", "Idle periods with a slow-start restart (RFC 5681, section 4.1)"),
        ("kept_windows", "u32", "Idle periods without a slow-start restart"),
        ("send_buffer_bytes", "u64?", "Constant bytes in flight at the sender's stops, without a loss"),
        ("retransmissions", "u32", "Retransmitted segments"),
        ("segment_max", "u32", "Largest payload of a segment"),
        ("acked_segment_max", "u32", "Largest payload of a segment that was acknowledged"),
    ),
)

_BODIES: Final = Table(
    "bodies",
    "One row per complete 200 response to GET with a body over one segment that needs a judgement: the client"
    " had fetched the URL or the same body before, or the body is uncompressed text. A row has all judged"
    " properties, because its transaction may be in an earlier batch.",
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
        ("response_last_time", "time", "Time of the response's end"),
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
            "First to last byte of the response; a pause over 30 ms counts for at most one and a half round trips",
        ),
        ("gzip_bytes", "u64?", "Size after gzip -6 of a text body that was sent uncompressed"),
        ("zstd_bytes", "u64?", "Size after zstd -3"),
        (
            "previous_flow",
            "u32?",
            "Flow of an earlier 200 with the same URL and Content-Encoding",
        ),
        ("previous_transaction", "u32?", "Its transaction"),
        (
            "previous_frame",
            "u64?",
            "Frame that completed that response: the latest one, or on parallel connections a late one",
        ),
        ("previous_time", "time?", "Time of that frame"),
        ("previous_has_validator", "bool?", "That response had an ETag or Last-Modified"),
        ("previous_no_store", "bool?", "Its Cache-Control forbade storage (RFC 9111, section 5.2.2.5)"),
        ("is_unchanged", "bool?", "Its body was the same"),
        ("delta_bytes", "u64?", "Size after zstd -3 of this decoded body with that one as prefix (RFC 9842)"),
        ("twin_flow", "u32?", "Flow of the client's first 200 with the same body, if it had another URL"),
        ("twin_transaction", "u32?", "Its transaction"),
        ("twin_frame", "u64?", "Frame that completed it"),
        ("twin_url", "str?", "Its host and target, cut at 128 characters"),
    ),
)

_REDIRECTS: Final = Table(
    "redirects",
    "One row per redirect (RFC 9110, section 15.4) that the client followed at once with a GET or HEAD of the"
    " URL in Location.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction of the redirect"),
        ("client", "str", "Address of the client"),
        ("method", "str", "Method of the redirected request"),
        ("status", "u16", "Status code of the redirect"),
        ("host", "str", "Host of the redirected URL, else the address of the server"),
        ("target", "str", "Path and query of that URL"),
        ("request_frame", "u64", "Frame of the request's first byte"),
        ("opened_time", "time?", "Start of the connection, if this is the first transaction on it"),
        ("request_time", "time", "Time of the request's first byte"),
        ("response_last_time", "time", "Time of the redirect's end"),
        ("first_flow", "u32", "Flow of the first redirect of the chain"),
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
    "One row per request with Expect: 100-continue whose body came after a pause behind its head.",
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
        ("end_time", "time?", "Time of the final response's end"),
        ("rtt", "duration?", "Round trip of the whole path"),
        ("server_path_rtt", "duration?", "As in flows"),
    ),
)

TABLES: Final = (_LINKS, _PROFILES, _BODIES, _REDIRECTS, _EXPECTATIONS)

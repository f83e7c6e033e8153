"""HTTP transactions."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_TRANSACTIONS: Final = Table(
    "transactions",
    "One row per HTTP request and its response, or per exchange of application data in TLS; an uncaptured"
    " half is null.",
    columns(
        ("flow", "u32*", "Flow number"),
        ("index", "u32*", "Number on the flow, from 0"),
        ("method", "str?*", "Request method"),
        ("target", "str?*", "Request target (RFC 9112, section 3.2)"),
        ("host", "str?*", "Host field"),
        ("referer", "str?", "Referer field of the request: the URL that named the target"),
        (
            "protocol",
            "enum:PROTOCOLS*",
            "Protocol of the exchange; method, target, status and head sizes need http",
        ),
        ("version", "enum:HTTP_VERSIONS?", "Version of the request, else of the response"),
        ("status", "u16?*", "Status code of the final response"),
        ("request_frame", "u64?*", "Frame of the request's first byte"),
        ("request_last_frame", "u64?", "Frame that completed the request"),
        ("response_first_frame", "u64?*", "Frame of the response's first byte"),
        ("response_last_frame", "u64?*", "Frame that completed the response"),
        ("request_time", "time?*", "Time of the request's first byte"),
        ("request_last_time", "time?", "Time of the request's end"),
        ("response_first_time", "time?*", "Time of the response's first byte"),
        ("response_last_time", "time?*", "Time of the response's end"),
        ("last_ack_frame", "u64?", "Frame of the client's ACK for the end of the response"),
        ("last_ack_time", "time?", "Time of that ACK"),
        (
            "start_time",
            "time*",
            "Start: the SYN if it opened the connection, else the request's first byte, else the response's",
        ),
        (
            "end_time",
            "time*",
            (
                "End: the response's last byte at the client; for an incomplete transaction, the end of its"
                " connection or of the capture"
            ),
        ),
        ("acked_after", "duration?", "From the end to the client's ACK of the response; part of no wait"),
        ("request_header_bytes", "u64?", "Start line and fields of the request"),
        ("request_body_bytes", "u64?", "Body of the request, framing removed; of tls all application data"),
        ("response_header_bytes", "u64?*", "Start line and fields of the response"),
        (
            "response_body_bytes",
            "u64?*",
            "Body of the response, framing removed, not decoded; of tls all application data",
        ),
        (
            "response_header_wire_bytes",
            "u64?",
            "Start line and fields of the response as sent, records of TLS included; of tls the first record",
        ),
        ("response_wire_bytes", "u64?", "The whole response as sent, framing and records of TLS included"),
        ("response_framing", "enum:FRAMINGS?", "Method that found the end of the response"),
        ("content_type", "str?", "Content-Type of the response"),
        ("content_encoding", "str?", "Content-Encoding of the response"),
        ("server_software", "str?", "Server field of the response"),
        ("location", "str?", "Location of the response"),
        ("etag", "str?", "ETag of the response (RFC 9110, section 8.8.3)"),
        ("last_modified", "str?", "Last-Modified of the response (RFC 9110, section 8.8.2)"),
        ("cache_control", "str?", "Cache-Control of the response; several fields are one list (RFC 9111, 5.2)"),
        ("vary", "str?", "Vary of the response"),
        ("accept_encoding", "str?", "Accept-Encoding of the request"),
        ("is_conditional", "bool", "The request has If-None-Match or If-Modified-Since (RFC 9110, section 13.1)"),
        ("request_close", "bool", "Connection of the request has close (RFC 9112, section 9.6)"),
        ("request_keep_alive", "bool", "Connection of the request has keep-alive"),
        ("response_close", "bool", "Connection of the response has close"),
        ("response_keep_alive", "bool", "Connection of the response has keep-alive"),
        ("expects_continue", "bool", "Expect of the request is 100-continue (RFC 9110, section 10.1.1)"),
        ("request_body_time", "time?", "Time of the first byte of the request's body"),
        ("continue_time", "time?", "Time of the first byte of a 100 response"),
        (
            "body_digest",
            "u64?",
            "XXH3 (64 bit) of the body of a whole 200 response, framing removed, not decoded: see xxhsum -H3",
        ),
        ("interim_responses", "u32", "1xx responses before the final one"),
        (
            "first_record_time",
            "time?",
            "Under TLS: time of the end of the response's first record, when its bytes became usable",
        ),
        ("first_record_bytes", "u32?", "That record on the wire"),
        (
            "is_group",
            "bool",
            "Of tls: the client sent during the response, or the protocol is HTTP/2. Times belong to the group",
        ),
        ("reused_connection", "bool", "An earlier transaction ran on the flow"),
        ("pipelined", "bool", "Sent before the end of the previous response"),
        ("missing_bytes", "u64", "Bytes of both messages that were not captured"),
        ("stream", "u32?*", "Of h2: number of the stream (RFC 9113, section 5.1.1)"),
        ("is_pushed", "bool", "Of h2: pushed by the server without a request (PUSH_PROMISE)"),
        ("urgency", "u8?", "Of h2: last urgency from the client, 0 (first) to 7 (RFC 9218, section 4.1)"),
        ("has_trailers", "bool", "Of h2: fields came behind the body of the response"),
        ("reset_by", "enum:DIRECTIONS?", "Of h2: side that reset the stream (RST_STREAM)"),
        ("reset_code", "u32?", "Of h2: the error code of that (RFC 9113, section 7)"),
        ("grpc_status", "u16?*", "Of gRPC: grpc-status of the response, 0 for OK"),
        ("grpc_request_messages", "u32?", "Of gRPC: messages of the client"),
        ("grpc_response_messages", "u32?", "Of gRPC: messages of the server"),
        ("complete", "bool*", "Both messages are complete"),
    ),
)

TABLES: Final = (_TRANSACTIONS,)

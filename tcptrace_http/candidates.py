"""Candidates for findings, and the columns that detectors receive. Most flows of a capture have no candidate.

Flow detectors judge only flows with rows in ``CANDIDATE_TABLES`` or with long waits.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "CANDIDATE_TABLES",
    "CANDIDATE_WAITS_NS",
    "GATHERED_COLUMNS",
    "HOP_COLUMNS",
    "JUDGED_COLUMNS",
    "LOSS_WAITS",
    "OF_OBJECTS",
]

#: Tables whose rows may become findings, and tables for lookups.
CANDIDATE_TABLES: Final = (
    *("segmentation", "endings", "recoveries", "queues"),
    *("bodies", "redirects", "expectations"),
    "flaws",
)
#: Waits that the capture-wide detectors need without exception.
LOSS_WAITS: Final = ("stall.retransmission_timeout", "stall.tail_loss", "stall.fast_recovery")
#: Minimum sum of the waits of one transaction and cause for a candidate, in nanoseconds.
CANDIDATE_WAITS_NS: Final = {
    "setup.tls_handshake": 4_000_000,
    "setup.h2_settings": 4_000_000,
    **dict.fromkeys(("send_limited.h2_stream_window", "send_limited.h2_connection_window"), 4_000_000),
    "send_limited.h2_window_update": 20_000_000,
    "send_limited.multiplexed_behind": 20_000_000,
    "server.think": 20_000_000,
    "send_limited.receive_window": 20_000_000,
    "send_limited.slow_start": 4_000_000,
    "send_limited.send_buffer": 5_000_000,
    "stall.nagle_delayed_ack": 2_000_000,
    "stall.nagle_hold": 2_000_000,
    "stall.delayed_ack_first_segment": 2_000_000,
    "stall.cork_timeout": 2_000_000,
    "stall.slow_start_restart": 4_000_000,
    **dict.fromkeys(LOSS_WAITS, 0),
    "send_limited.zero_window": 10_000_000,
    **dict.fromkeys(("unfinished.unanswered", "unfinished.undelivered", "unfinished.stopped"), 1_000_000_000),
}
#: Candidates that the core makes of all flows together. Their findings read nothing else of the flows.
OF_OBJECTS: Final = ("bodies", "redirects", "expectations")
#: Columns of the fact tables that flow detectors read of flows with candidates. Most columns serve human
#: readers only.
JUDGED_COLUMNS: Final = {
    "flows": frozenset(
        {
            *("flow", "client", "server", "server_port", "has_syn"),
            *("client_window_scale", "server_window_scale"),
            *("initial_rtt", "server_path_rtt", "client_path_rtt", "observation_point", "protocol"),
            *("closed_by", "close_time", "close_frame"),
        }
    ),
    "transactions": frozenset(
        {
            *(
                "flow",
                "index",
                "protocol",
                "method",
                "target",
                "status",
                "server_software",
                "expects_continue",
                "pipelined",
                "is_group",
            ),
            *("request_frame", "request_last_frame", "response_first_frame", "interim_responses"),
            *("request_time", "request_last_time", "response_first_time", "response_last_time"),
            *("start_time", "end_time", "request_header_bytes", "request_body_bytes", "stream", "urgency"),
            *("response_header_wire_bytes", "response_wire_bytes", "first_record_bytes", "first_record_time"),
        }
    ),
    "h2_connections": frozenset(
        {
            *("flow", "client_settings_frame", "server_settings_frame"),
            *("client_initial_window", "server_initial_window"),
            *("client_connection_window", "server_connection_window"),
        }
    ),
    "profiles": frozenset(
        {
            *("flow", "direction", "mss", "round_trip", "acks", "stretch_acks", "retransmissions"),
            *("first_flight_bytes", "first_flight_segments", "initial_window_bytes", "initial_window_segments"),
            *("largest_window_bytes", "receive_window_max", "send_buffer_bytes", "restarts", "kept_windows"),
            *("segment_max", "acked_segment_max", "link_rate"),
        }
    ),
    "tls_handshakes": frozenset(
        {
            *("flow", "version", "hello_retry", "server_flight_bytes", "certificate_bytes", "round_trips"),
            *("client_hello_frame", "client_hello_time", "client_hello_last_frame", "client_hello_last_time"),
            *("client_hello_bytes", "server_hello_frame", "server_hello_time"),
            *("server_flight_last_frame", "server_flight_last_time", "unasked_first_frame", "unasked_last_frame"),
            *("client_finished_frame", "client_finished_time", "done_time", "first_application_frame"),
        }
    ),
}
#: Columns of the fact tables that capture-wide detectors read of all flows.
GATHERED_COLUMNS: Final = {
    "flows": frozenset(
        {
            *("flow", "client", "server", "server_port", "first_frame", "start", "end", "client_packets"),
            *(
                "server_packets",
                "server_retransmissions",
                "server_gap_bytes",
                "has_syn",
                "initial_rtt",
                "closed_by",
            ),
            *("transactions", "first_request_time", "last_response_time", "request_persists", "response_persists"),
            *("close_time", "close_frame", "largest_window_segments", "server_loss_time", "protocol"),
        }
    ),
    "transactions": frozenset(
        {
            *("flow", "index", "method", "target", "request_frame", "request_time"),
            *("response_first_time", "response_last_time", "response_wire_bytes", "server_software"),
        }
    ),
    "h2_connections": frozenset({"flow", "streams", "goaway_frame", "goaway_time", "goaway_by"}),
    "profiles": frozenset(
        {
            *("flow", "direction", "mss", "round_trip", "largest_window_bytes"),
            *("first_flight_bytes", "first_flight_segments", "initial_window_bytes", "initial_window_segments"),
        }
    ),
    "tls_handshakes": frozenset(
        {
            *("flow", "server_name", "version", "resumed", "hello_retry", "round_trips"),
            *("client_hello_frame", "client_hello_time", "server_hello_time"),
            *("server_flight_last_time", "done_time"),
        }
    ),
}
#: Columns for the proxy hops and their waits.
HOP_COLUMNS: Final = {
    "flows": frozenset({"flow", "client", "server", "server_port", "observation_point"}),
    "transactions": frozenset(
        {
            *("flow", "index", "method", "target", "host", "request_body_bytes", "response_body_bytes"),
            *("request_time", "request_last_time", "response_first_time", "response_last_time", "end_time"),
            "body_digest",
        }
    ),
}

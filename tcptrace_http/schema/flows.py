"""Flows: TCP connections."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns
from tcptrace_http.schema.statistics import STATISTICS

__all__ = ["TABLES"]

_FLOWS: Final = Table(
    "flows",
    "One row per TCP connection, both directions; numbered as tshark's tcp.stream.",
    columns(
        ("flow", "u32*", "Flow number, from 0"),
        ("client", "str*", "Address of the client: sender of the SYN, else of the first request"),
        ("client_port", "u16*", "Port of the client"),
        ("server", "str*", "Address of the server"),
        ("server_port", "u16*", "Port of the server"),
        ("first_frame", "u64", "Frame of the first packet"),
        ("start", "time", "Time of the first packet"),
        ("end", "time", "Time of the last packet"),
        ("packets", "u64*", "Packets of both directions"),
        ("client_packets", "u64", "Packets sent by the client"),
        ("server_packets", "u64", "Packets sent by the server"),
        ("client_bytes", "u64*", "Unique payload bytes sent by the client"),
        ("server_bytes", "u64*", "Unique payload bytes sent by the server"),
        ("client_retransmissions", "u64*", "Retransmitted segments of the client"),
        ("server_retransmissions", "u64*", "Retransmitted segments of the server"),
        ("client_out_of_order", "u64", "Reordered segments of the client"),
        ("server_out_of_order", "u64", "Reordered segments of the server"),
        (
            "client_duplicate_acks",
            "u64",
            "Duplicate ACKs of the client while data was outstanding (RFC 5681, section 2)",
        ),
        (
            "server_duplicate_acks",
            "u64",
            "Duplicate ACKs of the server while data was outstanding (RFC 5681, section 2)",
        ),
        ("client_zero_windows", "u64", "Segments of the client that announce a zero window"),
        ("server_zero_windows", "u64", "Segments of the server that announce a zero window"),
        (
            "ecn_negotiated",
            "bool?",
            "SYN and SYN-ACK negotiate ECN (RFC 3168, 6.1.1); null unless both were captured",
        ),
        ("client_ce_packets", "u32", "Packets of the client that a queue marked (CE; RFC 3168, section 5)"),
        ("server_ce_packets", "u32", "Packets of the server that a queue marked (CE; RFC 3168, section 5)"),
        (
            "client_ece_acks",
            "u32",
            "Segments of the client with ECE, without SYN: echoes of a mark if ECN was negotiated",
        ),
        (
            "server_ece_acks",
            "u32",
            "Segments of the server with ECE, without SYN: echoes of a mark if ECN was negotiated",
        ),
        (
            "client_cwr_segments",
            "u32",
            "Segments of the client with CWR, without SYN: the first behind a reduction of cwnd",
        ),
        (
            "server_cwr_segments",
            "u32",
            "Segments of the server with CWR, without SYN: the first behind a reduction of cwnd",
        ),
        ("client_gap_bytes", "u64", "Bytes of the client that were never captured"),
        ("server_gap_bytes", "u64", "Bytes of the server that were never captured"),
        ("has_syn", "bool", "The client's SYN was captured"),
        ("has_syn_ack", "bool", "The server's SYN-ACK was captured"),
        ("mss_client", "u16?", "MSS option of the client's SYN: the maximum that it accepts"),
        ("mss_server", "u16?*", "MSS option of the server's SYN-ACK: the maximum that it accepts"),
        ("segment_bytes", "u32?", "Maximum payload of a server segment on this flow"),
        ("client_window_scale", "u8?", "Window scale of the client"),
        ("server_window_scale", "u8?", "Window scale of the server"),
        ("initial_rtt", "duration?*", "Round trip of the handshake: SYN to the client's ACK"),
        ("server_path_rtt", "duration?", "Minimum time from the observation point to the server and back"),
        ("client_path_rtt", "duration?", "Minimum time from the observation point to the client and back"),
        ("rtt_samples", "u64", "Round trips measured, both directions, by Karn's rule"),
        (
            "observation_point",
            "enum:OBSERVATION_POINTS*",
            "Capture point: near the end whose path_rtt is a small part of the other one",
        ),
        ("initial_window_segments", "u32?", "Segments of the server's first flight: see profiles"),
        ("super_segments", "u64", "Packets larger than a segment may be: merged by offload"),
        ("closed_by", "enum:CLOSED_BY*", "Side that ended the flow first"),
        ("is_http", "bool", "HTTP/1.x was found on the flow, in clear or decrypted"),
        ("protocol", "enum:PROTOCOLS?*", "Detected protocol; the last one if TLS began later"),
        ("transactions", "u32", "Transactions on the flow"),
        ("first_request_time", "time?", "First byte of the first request"),
        ("last_response_time", "time?", "Last byte of the latest complete response"),
        (
            "request_persists",
            "bool?",
            "The latest answered request allows a persistent connection (RFC 9112, 9.3)",
        ),
        ("response_persists", "bool?", "The latest complete response allows a persistent connection"),
        ("close_time", "time?", "First FIN or RST"),
        ("close_frame", "u64?", "Frame of that FIN or RST"),
        (
            "largest_window_segments",
            "u32?",
            "Maximum server segments in flight since its last retransmission: see profiles",
        ),
        ("server_loss_time", "time?", "Time of the first missing or retransmitted server data"),
        ("completeness", "u8+", "Captured parts, as in tshark: SYN 1, SYN-ACK 2, ACK 4, data 8, FIN 16, RST 32"),
        *STATISTICS,
    ),
)

TABLES: Final = (_FLOWS,)

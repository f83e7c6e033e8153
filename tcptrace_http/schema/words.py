"""Words of enumerations, with the meanings of unclear ones."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ANOMALY_KINDS",
    "CAUSES",
    "CLOSED_BY",
    "CONSTRAINTS",
    "DIRECTIONS",
    "ENDINGS",
    "FLAWS",
    "FRAMINGS",
    "H2_WINDOW_EVENTS",
    "HTTP_VERSIONS",
    "MEMBERSHIPS",
    "NAGLE_VARIANTS",
    "OBSERVATION_POINTS",
    "PROTOCOLS",
    "QUEUE_MEASURES",
    "RECOVERY_KINDS",
    "SEVERITIES",
    "SPURIOUS_EVIDENCE",
    "TLS_CONTENT_TYPES",
    "TLS_VERSIONS",
    "enum_meanings",
    "enum_values",
]

#: Constraints on the departure time of a message segment: the binding one was released last.
CONSTRAINTS: Final = {
    "application": "The application had not written the data",
    "receive_window": "The window that its receiver offered (RFC 9293, 3.8.6)",
    "congestion_window": "The sender's congestion window (RFC 5681)",
    "nagle": "Nagle's algorithm, for less than a full segment (RFC 896; RFC 9293, 3.7.4)",
    "cork": "A corked socket: less than a full segment waits 200 ms (TCP_CORK, MSG_MORE)",
    "send_buffer": "The sender's socket buffer, which holds unacknowledged data",
    "h2_stream_window": "The flow-control window of its stream (RFC 9113, section 5.2)",
    "h2_connection_window": "The flow-control window of all streams of the connection (RFC 9113, section 5.2)",
    "link": "The bottleneck, or a pacer: one serialization time behind the previous segment",
    "loss": "The repair of a loss, or a reordered segment",
}

#: Evidence of a sender's variant of Nagle's algorithm.
NAGLE_VARIANTS: Final = {
    "unknown": "The capture does not show it",
    "off": "A short segment left while a short one was outstanding (TCP_NODELAY)",
    "minshall": "A short segment waits for the ACK of the short one before it (Linux)",
    "rfc896": "A short segment waits until all data is acknowledged (RFC 896)",
}

DIRECTIONS: Final = ("client_to_server", "server_to_client")
OBSERVATION_POINTS: Final = ("unknown", "client", "server", "middle")
CLOSED_BY: Final = ("open", "client", "server", "client_reset", "server_reset")
#: Failures with which a connection can end for its client.
ENDINGS: Final = {
    "unconnected": "A SYN or SYN-ACK was sent again and never answered (RFC 6298, section 5.7)",
    "refused": "The SYN was answered by a RST: no program listens, or a firewall rejects it (RFC 9293, 3.10.7.1)",
    "unanswered": "The server closed or reset the connection before it had answered all requests on it",
    "reset_in_response": "An RST came before the response was complete",
    "truncated_response": "The server's FIN came before the end that the response had announced (RFC 9112, 8)",
}
#: Methods that find the end of a message body (RFC 9112, section 6.3).
FRAMINGS: Final = ("none", "content_length", "chunked", "until_close", "tunnel", "unknown")
HTTP_VERSIONS: Final = ("HTTP/1.0", "HTTP/1.1", "HTTP/2")
#: Protocols of a flow.
PROTOCOLS: Final = {
    "http": "HTTP/1.0 or HTTP/1.1 (RFC 9112), in clear or decrypted",
    "tls": "TLS 1.0 to 1.3 (RFC 8446); its records show exchanges, but not their content",
    "h2": "HTTP/2 (RFC 9113), in clear or decrypted: a transaction is a stream",
}
#: Events that change an HTTP/2 flow-control window (RFC 9113, section 6.9).
H2_WINDOW_EVENTS: Final = ("data", "window_update", "settings")
#: TLS content types (RFC 8446, section 5.1; RFC 6520).
TLS_CONTENT_TYPES: Final = ("change_cipher_spec", "alert", "handshake", "application_data", "heartbeat")
TLS_VERSIONS: Final = ("SSL 3.0", "TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3")
SEVERITIES: Final = ("info", "warning", "error")
#: Reasons why a transaction belongs to a retrieval.
MEMBERSHIPS: Final = {
    "base": "First transaction of the retrieval: the base document, or its substitute",
    "redirect": "A response of the retrieval redirected the client to it (Location)",
    "referer": "Its Referer is the URL of a document or style sheet of the retrieval",
    "link": "A document of the retrieval that the client had fetched before refers to it",
    "time": "No response names it, but no silence precedes it",
}

#: Kinds of anomalies in traffic or files.
ANOMALY_KINDS: Final = {
    "capture_cut_short": "The file ends inside a record or block",
    "malformed_block": "A block or record violates the format; it was skipped",
    "truncated_packet": "A packet was captured only in part, inside a header or payload",
    "inconsistent_length": "A header's length fields contradict each other or the packet",
    "time_backwards": "A timestamp precedes the previous packet's timestamp",
    "absurd_time": "A timestamp cannot be represented (before 1677 or after 2262); it was clamped",
    "unsupported_link_type": "A link type without a decoder, in a file that has others",
    "unknown_protocol": "Packets of an unsupported protocol: no TCP is found in them",
    "incomplete_fragments": "IP fragments that never completed a datagram",
    "too_deeply_nested": "More nested tunnels or headers than in any real packet",
    "malformed_tcp_option": "A TCP option whose length runs over the header",
    "mid_stream_start": "The capture of the flow began after its handshake",
    "capture_gap": "Bytes that were acknowledged but never captured",
    "overlapping_data_differs": "A retransmission or overlap whose bytes differ from the first copy",
    "missing_data": "Bytes of an HTTP message are missing; its framing gives its end",
    "malformed_http": "Bytes in place of an HTTP message are not one, or violate the grammar",
    "malformed_http2": "Bytes in place of an HTTP/2 frame are not one, or violate RFC 9113",
    "broken_hpack": "Header blocks of HTTP/2 were lost: fields that refer to them are unknown (RFC 7541)",
    "malformed_tls": "Bytes in place of a TLS record are not one",
    "malformed_key_log": "Invalid lines of a TLS key log (RFC 9850)",
    "undecrypted_tls": "Secrets of the connection do not decrypt its records, or come behind them",
    "ambiguous_framing": "Lengths of an HTTP message that contradict (RFC 9112, section 6.3)",
    "duplicate_packets": "Packets were captured more than once; only the first copy of each is analysed",
    "limit_reached": "A limit that protects memory was reached; the detail says what was dropped",
}

#: Flaws of a flow's capture. The detector with the same name (with hyphens) reports each.
FLAWS: Final = {
    "one_sided_capture": "Only one direction was captured, though it answers the other",
    "mid_stream_start": "The capture of the flow began after its handshake",
    "capture_gap": "Bytes that were acknowledged but never captured",
    "truncated_payload": "Payload was captured only in part",
    "segmentation_offload": "Packets larger than a segment: merged or not yet cut by offload",
    "no_pure_acks": "Pure ACKs were sent but not captured",
    "local_acks": "ACKs of the client's data come from a middlebox near the client, not from the server",
}

#: Causes of waits.
CAUSES: Final = {
    "setup.handshake": "The three-way handshake: SYN to the client's ACK (RFC 9293, section 3.5)",
    "setup.tls_handshake": "The TLS handshake: until the client could send application data (RFC 8446, section 2)",
    "setup.h2_settings": "The client of HTTP/2 waited for SETTINGS before its first request (RFC 9113, 3.4)",
    "setup.syn_retransmission": "A SYN or SYN-ACK was lost or not answered, and its timer ran (RFC 6298, 5)",
    "setup.unanswered": "A SYN or SYN-ACK without an answer until the end (RFC 9293, section 3.10.7)",
    "request.send": "First to last byte of the request: the client was sending",
    "server.think": "Server time after the request's arrival, less the path's round trip",
    "server.data_unavailable": (
        "Inside a response the server sent nothing although windows and ACKs allowed it: the application had"
        " no data ready"
    ),
    "server.upstream": "The server is a proxy, and the response of its upstream server had not arrived",
    "client.think": "The client did not use the free connection: before or within a request",
    "client.not_reading": "The client's receive buffer was full or nearly so: its application did not read",
    "client.head_of_line": "A pipelined request waited behind the response to an earlier one",
    "send_limited.slow_start": "The congestion window was full while it still grew (RFC 5681, section 3.1)",
    "send_limited.cwnd": "The congestion window was full after slow start (RFC 4898, SndLimTransCwnd)",
    "send_limited.receive_window": "The offered receive window was full (RFC 4898, SndLimTransRwin)",
    "send_limited.zero_window": "The receiver offered no window at all (RFC 9293, section 3.8.6)",
    "send_limited.send_buffer": (
        "Flights of equal size without loss, below the receive window: the sender's buffer was full"
        " (RFC 4898, SndLimTransSnd)"
    ),
    "send_limited.h2_stream_window": "The flow-control window of the stream was used up (RFC 9113, section 5.2)",
    "send_limited.h2_connection_window": (
        "The flow-control window that all streams of the connection share was used up (RFC 9113, section 5.2)"
    ),
    "send_limited.h2_window_update": (
        "The receiver had received a whole flow-control window and sent no WINDOW_UPDATE: its application had"
        " not read, or its update came late (RFC 9113, section 6.9)"
    ),
    "send_limited.multiplexed_behind": (
        "Bytes of other streams of the connection were sent meanwhile (RFC 9113, section 5)"
    ),
    "send_limited.bottleneck": "Data came at the pace of the path's bottleneck, or of its sender",
    "stall.nagle_delayed_ack": (
        "Data was ready but held by the sender (Nagle's algorithm or a window of one short and one"
        " full segment) until the receiver's delayed ACK came (RFC 896; RFC 1122, 4.2.3.2)"
    ),
    "stall.nagle_hold": (
        "Data was ready but held by Nagle's algorithm for one ordinary round trip: the ACK that"
        " released it was not delayed (RFC 896)"
    ),
    "stall.delayed_ack_first_segment": (
        "A window of one segment waited for the delayed ACK of its only segment (RFC 1122, 4.2.3.2; RFC 6928)"
    ),
    "stall.cork_timeout": "Data was held by TCP_CORK or MSG_MORE until its timer of 200 ms expired (tcp(7))",
    "stall.slow_start_restart": (
        "Round trips spent opening the congestion window again after an idle period (RFC 5681, section 4.1)"
    ),
    "stall.retransmission_timeout": "Lost data was retransmitted when the retransmission timer expired (RFC 6298)",
    "stall.tail_loss": (
        "The last data of a flight was lost: no later data revealed the loss, so a timer expired (RFC 8985, 7)"
    ),
    "stall.fast_recovery": "Lost data was retransmitted after duplicate ACKs or SACKs (RFC 5681, 3.2; RFC 6675)",
    "stall.persist": "A window update was lost; the sender's next probe found the window open (RFC 9293, 3.8.6.1)",
    "network.propagation": "The minimum round trip of the path, without another cause",
    "network.queueing": "Round trip over the path's minimum: packets waited in a queue",
    "network.reordering": "Data came late because of reordering on the path",
    "unfinished.unanswered": "The server acknowledged the request and sent no response until the end",
    "unfinished.undelivered": (
        "Data was retransmitted and never acknowledged, until the end: a black hole (RFC 2923, section 2.1)"
    ),
    "unfinished.stopped": "A message stopped before its end, and its sender sent nothing more until the end",
    "unexplained": "Time without a cause by the rules: please report it",
    "unobserved": "Time that this capture cannot explain: a direction, the path or bytes are missing",
}

#: Kinds of interruptions of a stream, with their repair.
RECOVERY_KINDS: Final = {
    "unknown": "Data was retransmitted without a visible reason",
    "syn_retransmission": "A SYN or SYN-ACK was retransmitted (RFC 6298, section 5)",
    "timeout": "Retransmitted by the timer, although ACKs had reported a hole (RFC 6298)",
    "fast_recovery": "Retransmitted after duplicate ACKs or SACKs (RFC 5681, 3.2; RFC 6675; RFC 8985, RACK)",
    "tail_loss_probe": "No later data revealed the loss; a probe did so after two round trips (RFC 8985, 7)",
    "tail_loss": "No later data revealed the loss; the retransmission timer expired (RFC 6298)",
    "reordering": "Not lost: reordered on the path, and received after later data (RFC 4737)",
    "zero_window": "The receiver offered no window until its application read again (RFC 9293, section 3.8.6)",
    "persist": "A window update was lost; the sender's next probe found the window open (RFC 9293, 3.8.6.1)",
}
#: Evidence that retransmitted data had arrived before.
SPURIOUS_EVIDENCE: Final = {
    "none": "No evidence of a spurious retransmission",
    "acknowledged": "The data had been acknowledged before its retransmission",
    "dsack": "The receiver reports the data as received twice (D-SACK, RFC 2883)",
    "timestamps": "The ACK echoes a timestamp from before the retransmission (Eifel, RFC 3522)",
    "original_arrived": "The original came after its copy: reordering (by its IPv4 identification)",
    "early_ack": "The ACK came sooner than the retransmission can have reached the receiver",
}

#: Methods that measure the queueing delay.
QUEUE_MEASURES: Final = {
    "one_way": "The packets' times against their sender's timestamps (RFC 7323, RFC 6817)",
    "round_trip": "Round trips against the path's minimum",
}


def enum_values(dtype: str) -> tuple[str, ...]:
    """Return the words of an ``enum:NAME`` type."""
    return tuple(globals()[dtype.removeprefix("enum:")])


def enum_meanings(dtype: str) -> dict[str, str]:
    """Return the meaning of each word of an ``enum:NAME`` type, if declared."""
    declared = globals()[dtype.removeprefix("enum:")]
    return dict(declared) if isinstance(declared, dict) else {}

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
    "application": "Its application had not written it",
    "receive_window": "The window that its receiver offered (RFC 9293, 3.8.6)",
    "congestion_window": "The sender's congestion window (RFC 5681)",
    "nagle": "Nagle's algorithm, for less than a full segment (RFC 896; RFC 9293, 3.7.4)",
    "cork": "A corked socket: less than a full segment waits 200 ms (TCP_CORK, MSG_MORE)",
    "send_buffer": "The sender's socket buffer, which holds what is not acknowledged",
    "h2_stream_window": "The flow-control window of its stream (RFC 9113, section 5.2)",
    "h2_connection_window": "The flow-control window of all streams of the connection (RFC 9113, section 5.2)",
    "link": "The slowest link, or a pacer: one serialization behind the segment before",
    "loss": "The repair of a loss, or a segment that was overtaken",
}

#: Evidence of a sender's variant of Nagle's algorithm.
NAGLE_VARIANTS: Final = {
    "unknown": "The capture does not tell",
    "off": "A short segment left while a short one was outstanding (TCP_NODELAY)",
    "minshall": "A short segment waits for the ACK of the short one before it (Linux)",
    "rfc896": "A short segment waits until all is acknowledged (RFC 896)",
}

DIRECTIONS: Final = ("client_to_server", "server_to_client")
OBSERVATION_POINTS: Final = ("unknown", "client", "server", "middle")
CLOSED_BY: Final = ("open", "client", "server", "client_reset", "server_reset")
#: Failures with which a connection can end for its client.
ENDINGS: Final = {
    "unconnected": "A SYN or SYN-ACK was sent again and never answered (RFC 6298, section 5.7)",
    "refused": "The SYN was answered by a RST: nobody listens there, or a firewall says so (RFC 9293, 3.10.7.1)",
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
    "tls": "TLS 1.0 to 1.3 (RFC 8446); its records tell exchanges, and nothing of what is in them",
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
    "base": "It is the first of the retrieval: the base document, or what stands for it",
    "redirect": "A response of the retrieval sent the client on to it (Location)",
    "referer": "Its Referer is the URL of a document or style sheet of the retrieval",
    "link": "A document of the retrieval that the client had fetched before refers to it",
    "time": "No response names it, but it came without a silence before it",
}

#: Kinds of anomalies in traffic or files.
ANOMALY_KINDS: Final = {
    "capture_cut_short": "The file ends inside a record or block",
    "malformed_block": "A block or record is not as the format says; it was skipped",
    "truncated_packet": "A packet was captured only in part, inside a header or payload",
    "inconsistent_length": "A header's length fields contradict each other or the packet",
    "time_backwards": "A timestamp is before the one of the packet before it",
    "absurd_time": "A timestamp cannot be represented (before 1677 or after 2262); it was clamped",
    "unsupported_link_type": "A link type of which no decoder is known, in a file that has others",
    "unknown_protocol": "Packets of a protocol that is not looked into: no TCP is found in them",
    "incomplete_fragments": "IP fragments that never completed a datagram",
    "too_deeply_nested": "More nested tunnels or headers than any real packet has",
    "malformed_tcp_option": "A TCP option whose length runs over the header",
    "mid_stream_start": "The flow was joined after its handshake",
    "capture_gap": "Bytes that were acknowledged but never captured",
    "overlapping_data_differs": "A retransmission or overlap whose bytes differ from the first copy",
    "missing_data": "Bytes of an HTTP message are missing; its framing told where it ends",
    "malformed_http": "Bytes at which an HTTP message was expected are none, or one that breaks the grammar",
    "malformed_http2": "Bytes at which a frame of HTTP/2 was expected are none, or one that breaks RFC 9113",
    "broken_hpack": "Header blocks of HTTP/2 were lost: fields that refer to them are unknown (RFC 7541)",
    "malformed_tls": "Bytes at which a TLS record was expected are none",
    "malformed_key_log": "Lines of a TLS key log are none (RFC 9850)",
    "undecrypted_tls": "Secrets of the connection do not open its records, or come behind them",
    "ambiguous_framing": "Lengths of an HTTP message that contradict (RFC 9112, section 6.3)",
    "duplicate_packets": "Packets were captured more than once; only the first sighting of each is analysed",
    "limit_reached": "A limit that protects memory was reached; the detail says what was dropped",
}

#: Flaws of a flow's capture. The detector with the same name (with hyphens) reports each.
FLAWS: Final = {
    "one_sided_capture": "Only one direction was captured, though it answers the other",
    "mid_stream_start": "The flow was joined after its handshake",
    "capture_gap": "Bytes that were acknowledged but never captured",
    "truncated_payload": "Payload was captured only in part",
    "segmentation_offload": "Packets larger than a segment may be: merged or not yet cut by offload",
    "no_pure_acks": "ACKs without data were sent and none was captured",
    "local_acks": "ACKs of the client's data come from a middlebox near the client, not from the server",
}

#: Causes of waits.
CAUSES: Final = {
    "setup.handshake": "The three-way handshake: SYN to the client's ACK (RFC 9293, section 3.5)",
    "setup.tls_handshake": "The TLS handshake: until the client could send application data (RFC 8446, section 2)",
    "setup.h2_settings": "The client of HTTP/2 waited for the server's SETTINGS before it asked (RFC 9113, 3.4)",
    "setup.syn_retransmission": "A SYN or SYN-ACK was lost or not answered, and its timer ran (RFC 6298, 5)",
    "setup.unanswered": "A SYN or SYN-ACK that nobody answered until the end (RFC 9293, section 3.10.7)",
    "request.send": "First to last byte of the request on its way: the client was sending",
    "server.think": "The request was there, the path's round trip is taken off: the server worked on it",
    "server.data_unavailable": (
        "Inside a response the server sent nothing although windows and ACKs let it: the application had"
        " no data ready"
    ),
    "server.upstream": "The server is a proxy, and the response of its own upstream server was not there yet",
    "client.think": "The connection was the client's to use, and it did not: before or within a request",
    "client.not_reading": "The client's receive buffer was full or nearly so: its application did not read",
    "client.head_of_line": "A pipelined request waited behind the response to an earlier one",
    "send_limited.slow_start": "The congestion window was used up while it still grew (RFC 5681, section 3.1)",
    "send_limited.cwnd": "The congestion window was used up after slow start (RFC 4898, SndLimTransCwnd)",
    "send_limited.receive_window": "The window that the receiver offered was used up (RFC 4898, SndLimTransRwin)",
    "send_limited.zero_window": "The receiver offered no window at all (RFC 9293, section 3.8.6)",
    "send_limited.send_buffer": (
        "Flights of one size without loss, below the receive window: the sender kept no more in flight"
        " (RFC 4898, SndLimTransSnd)"
    ),
    "send_limited.h2_stream_window": "The flow-control window of the stream was used up (RFC 9113, section 5.2)",
    "send_limited.h2_connection_window": (
        "The flow-control window that all streams of the connection share was used up (RFC 9113, section 5.2)"
    ),
    "send_limited.h2_window_update": (
        "A flow-control window was used up and all of it was there, but the receiver gave no more: its application"
        " had not read, or its WINDOW_UPDATE came late (RFC 9113, section 6.9)"
    ),
    "send_limited.multiplexed_behind": (
        "Bytes of other streams of the connection were sent meanwhile (RFC 9113, section 5)"
    ),
    "send_limited.bottleneck": "Data came in the pace of the path's slowest link, or of its sender",
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
    "stall.cork_timeout": "Data was held by TCP_CORK or MSG_MORE until its timer of 200 ms ran out (tcp(7))",
    "stall.slow_start_restart": (
        "Round trips spent opening the congestion window again after an idle period (RFC 5681, section 4.1)"
    ),
    "stall.retransmission_timeout": "Lost data was sent again when the retransmission timer ran out (RFC 6298)",
    "stall.tail_loss": (
        "The last data of a flight was lost: nothing behind it told of that, so a timer had to (RFC 8985, 7)"
    ),
    "stall.fast_recovery": "Lost data was sent again after duplicate ACKs or SACKs (RFC 5681, 3.2; RFC 6675)",
    "stall.persist": "The window was open again; the sender learnt it by its next probe (RFC 9293, 3.8.6.1)",
    "network.propagation": "The least round trip of the path, where nothing else was going on",
    "network.queueing": "Round trip over the least of the path: packets stood in a queue",
    "network.reordering": "Data came late because it was overtaken on the path",
    "unfinished.unanswered": "The server acknowledged the request and sent no response until the end",
    "unfinished.undelivered": (
        "Data was sent again and again and never acknowledged, until the end: a black hole (RFC 2923, section 2.1)"
    ),
    "unfinished.stopped": "A message stopped before its end, and its sender sent nothing more until the end",
    "unexplained": "Time that the rules give no cause: please report it",
    "unobserved": "Time about which this capture can show nothing: a direction, the path or bytes are missing",
}

#: Kinds of interruptions of a stream, with their repair.
RECOVERY_KINDS: Final = {
    "unknown": "Data was sent again, and nothing seen tells why",
    "syn_retransmission": "A SYN or SYN-ACK was sent again (RFC 6298, section 5)",
    "timeout": "Sent again by the retransmission timer, although ACKs had told of a hole (RFC 6298)",
    "fast_recovery": "Sent again after duplicate ACKs or SACKs (RFC 5681, 3.2; RFC 6675; RFC 8985, RACK)",
    "tail_loss_probe": "Nothing behind the loss told of it; a probe did so after two round trips (RFC 8985, 7)",
    "tail_loss": "Nothing behind the loss told of it; the retransmission timer had to run out (RFC 6298)",
    "reordering": "Not lost: overtaken on the path, and there later than what was sent behind it (RFC 4737)",
    "zero_window": "The receiver offered no window, until it read again (RFC 9293, section 3.8.6)",
    "persist": "The window was open again; the sender learnt it by its next probe (RFC 9293, 3.8.6.1)",
}
#: Evidence that retransmitted data had arrived before.
SPURIOUS_EVIDENCE: Final = {
    "none": "It is not known to be unnecessary",
    "acknowledged": "It had been acknowledged when it was sent again",
    "dsack": "The receiver reports that it got it twice (D-SACK, RFC 2883)",
    "timestamps": "The ACK for it echoes a timestamp from before it was sent again (Eifel, RFC 3522)",
    "original_arrived": "The original came by after its copy: it had been overtaken (by its IPv4 identification)",
    "early_ack": "The ACK for it came sooner than what was sent again can have reached the receiver",
}

#: Methods that measure the queueing delay.
QUEUE_MEASURES: Final = {
    "one_way": "The packets' times against their sender's timestamps (RFC 7323, RFC 6817)",
    "round_trip": "Round trips against the least of the path",
}


def enum_values(dtype: str) -> tuple[str, ...]:
    """Return the words of an ``enum:NAME`` type."""
    return tuple(globals()[dtype.removeprefix("enum:")])


def enum_meanings(dtype: str) -> dict[str, str]:
    """Return the meaning of each word of an ``enum:NAME`` type, if declared."""
    declared = globals()[dtype.removeprefix("enum:")]
    return dict(declared) if isinstance(declared, dict) else {}

"""Every table declared once: its columns with type, unit and meaning.

The Rust row structs (``native/trace-model/src/rows.rs``) are generated from this file by
``make gen``, and ``make lint`` checks that they still agree. Times are integer nanoseconds
everywhere: ``time`` is ``Datetime("ns")`` (UTC), ``duration`` is ``Duration("ns")``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

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
    "ON_REQUEST",
    "PROTOCOLS",
    "QUEUE_MEASURES",
    "RECOVERY_KINDS",
    "SCHEMA_VERSION",
    "SEVERITIES",
    "SPURIOUS_EVIDENCE",
    "TABLES",
    "TLS_CONTENT_TYPES",
    "TLS_VERSIONS",
    "Column",
    "Table",
    "json_name",
    "polars_schema",
]

#: What bound the time at which a segment of a message left: the constraint that was released last.
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

#: What a sender has shown of Nagle's algorithm.
NAGLE_VARIANTS: Final = {
    "unknown": "The capture does not tell",
    "off": "A short segment left while a short one was outstanding (TCP_NODELAY)",
    "minshall": "A short segment waits for the ACK of the short one before it (Linux)",
    "rfc896": "A short segment waits until all is acknowledged (RFC 896)",
}

#: Counts the JSON contract of ``analyze --format json``; it grows when a field changes its meaning.
SCHEMA_VERSION: Final = 1

DIRECTIONS: Final = ("client_to_server", "server_to_client")
OBSERVATION_POINTS: Final = ("unknown", "client", "server", "middle")
CLOSED_BY: Final = ("open", "client", "server", "client_reset", "server_reset")
#: How a connection let its client down, and what that means.
ENDINGS: Final = {
    "unconnected": "A SYN or SYN-ACK was sent again and never answered (RFC 6298, section 5.7)",
    "refused": "The SYN was answered by a RST: nobody listens there, or a firewall says so (RFC 9293, 3.10.7.1)",
    "unanswered": "The server closed or reset the connection before it had answered all requests on it",
    "reset_in_response": "An RST came before the response was complete",
    "truncated_response": "The server's FIN came before the end that the response had announced (RFC 9112, 8)",
}
#: How the end of a message body was found (RFC 9112, section 6.3).
FRAMINGS: Final = ("none", "content_length", "chunked", "until_close", "tunnel", "unknown")
HTTP_VERSIONS: Final = ("HTTP/1.0", "HTTP/1.1", "HTTP/2")
#: What a flow carries.
PROTOCOLS: Final = {
    "http": "HTTP/1.0 or HTTP/1.1 (RFC 9112), in clear or decrypted",
    "tls": "TLS 1.0 to 1.3 (RFC 8446); its records tell exchanges, and nothing of what is in them",
    "h2": "HTTP/2 (RFC 9113), in clear or decrypted: a transaction is a stream",
}
#: What changes a flow-control window of HTTP/2 (RFC 9113, section 6.9).
H2_WINDOW_EVENTS: Final = ("data", "window_update", "settings")
#: RFC 8446, section 5.1; RFC 6520.
TLS_CONTENT_TYPES: Final = ("change_cipher_spec", "alert", "handshake", "application_data", "heartbeat")
TLS_VERSIONS: Final = ("SSL 3.0", "TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3")
SEVERITIES: Final = ("info", "warning", "error")
#: Why a transaction belongs to a retrieval.
MEMBERSHIPS: Final = {
    "base": "It is the first of the retrieval: the base document, or what stands for it",
    "redirect": "A response of the retrieval sent the client on to it (Location)",
    "referer": "Its Referer is the URL of a document or style sheet of the retrieval",
    "link": "A document of the retrieval that the client had fetched before refers to it",
    "time": "No response names it, but it came without a silence before it",
}

#: What can be strange about traffic or a file, and what that means.
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

#: In which ways the capture of a flow can fall short of what was on the wire. Each is told by the detector of
#: the same name (with hyphens).
FLAWS: Final = {
    "one_sided_capture": "Only one direction was captured, though it answers the other",
    "mid_stream_start": "The flow was joined after its handshake",
    "capture_gap": "Bytes that were acknowledged but never captured",
    "truncated_payload": "Payload was captured only in part",
    "segmentation_offload": "Packets larger than a segment may be: merged or not yet cut by offload",
    "no_pure_acks": "ACKs without data were sent and none was captured",
    "local_acks": "ACKs of the client's data come from a middlebox near the client, not from the server",
}

#: What the time of a wait was spent on, and what that means.
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

#: What held a stream up on its way, and how that was repaired.
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
#: How it is known that what was sent again had arrived before.
SPURIOUS_EVIDENCE: Final = {
    "none": "It is not known to be unnecessary",
    "acknowledged": "It had been acknowledged when it was sent again",
    "dsack": "The receiver reports that it got it twice (D-SACK, RFC 2883)",
    "timestamps": "The ACK for it echoes a timestamp from before it was sent again (Eifel, RFC 3522)",
    "original_arrived": "The original came by after its copy: it had been overtaken (by its IPv4 identification)",
    "early_ack": "The ACK for it came sooner than what was sent again can have reached the receiver",
}

#: How the delay of a queue was measured.
QUEUE_MEASURES: Final = {
    "one_way": "The packets' times against their sender's timestamps (RFC 7323, RFC 6817)",
    "round_trip": "Round trips against the least of the path",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``dtype`` is one of the words that :func:`polars_schema` translates."""

    name: str
    dtype: str
    doc: str
    nullable: bool = False
    #: Whether the JSON contract shows the column; times get the suffix ``_ns`` there.
    in_json: bool = False
    #: Whether the value may become known only after later rows of the table.
    late: bool = False
    #: Whether it is one of the statistics, which cost time and are there only when asked for.
    is_statistic: bool = False
    #: Whether Python adds it to a native table, whose rows come without it; such columns are the last ones.
    is_added: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what a row is, and its columns in order."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    #: Whether Rust makes the rows (else Python does, from the native tables).
    native: bool = True
    #: A row for each packet or record costs memory: made only when asked for, of the columns that are wanted.
    on_request: bool = False


def _columns(*declarations: tuple[str, str, str]) -> tuple[Column, ...]:
    """Columns from (name, type, meaning).

    After the type: ``?`` nullable, ``*`` in the JSON, ``~`` late, ``+`` statistic, ``^`` added by Python.
    """
    made = []
    for name, dtype, doc in declarations:
        bare = dtype.rstrip("?*~+^")
        marks = dtype[len(bare) :]
        column = Column(
            name,
            bare,
            doc,
            nullable="?" in marks,
            in_json="*" in marks,
            late="~" in marks,
            is_statistic="+" in marks,
            is_added="^" in marks,
        )
        made.append(column)
    return tuple(made)


def _of_both(*declarations: tuple[str, str, str]) -> tuple[tuple[str, str, str], ...]:
    """Each declaration for both directions: ``client_`` is what the client sent. {sender} and {peer} are who."""
    return tuple(
        (f"{sender}_{name}", dtype, doc.format(sender=f"the {sender}", peer=f"the {peer}"))
        for name, dtype, doc in declarations
        for sender, peer in (("client", "server"), ("server", "client"))
    )


#: What is known of a direction besides the columns of ``flows`` that are always there. The words are
#: those of tcptrace where it has one; ``tcptrace_http/peers`` says which column is which.
_STATISTICS: Final = _of_both(
    ("syns", "u64+", "Segments with SYN sent by {sender}"),
    ("fins", "u64+", "Segments with FIN sent by {sender}"),
    ("resets", "u64+", "Segments with RST sent by {sender}"),
    ("ack_segments", "u64+", "Segments of {sender} with the ACK flag"),
    ("pure_acks", "u64+", "ACKs of {sender} without payload, SYN, FIN or RST"),
    ("data_segments", "u64+", "Segments of {sender} with payload, those sent again included"),
    ("data_bytes", "u64+", "Payload bytes sent by {sender}, those sent again included"),
    ("segment_bytes_min", "u32?+", "Least payload of a segment of {sender} that has any"),
    ("segment_bytes_max", "u32?+", "Largest payload of a segment of {sender}"),
    ("segment_bytes_mean", "f64?+", "Mean payload of the segments of {sender} that have any"),
    ("push_segments", "u64+", "Segments of {sender} with payload and PSH"),
    ("urgent_segments", "u64+", "Segments of {sender} with payload and URG"),
    ("urgent_bytes", "u64+", "Sum of the urgent pointers of those segments"),
    ("truncated_segments", "u64+", "Segments of {sender} whose payload was captured only in part"),
    ("truncated_bytes", "u64+", "Payload bytes of {sender} that the snapshot length cut off"),
    (
        "network_duplicates",
        "u64+",
        "Packets of {sender} that were captured twice: same IP identification and header",
    ),
    ("data_duration", "duration?+", "First to last segment of {sender} with payload"),
    ("idle_max", "duration?+", "Longest time between two packets of {sender}"),
    ("throughput", "f64?+", "Unique payload bytes of {sender} per second, over the whole flow"),
    ("stream_bytes", "u64?+", "Payload from SYN to FIN of {sender} by their sequence numbers; null without both"),
    ("missed_bytes", "u64?+", "Bytes of that stream that were not captured"),
    (
        "initial_window_segments",
        "u64?+",
        "Data segments of {sender} before any was acknowledged; null without SYN",
    ),
    ("initial_window_bytes", "u64?+", "Payload bytes in them"),
    ("sack_permitted", "bool+", "SACK was offered on the SYN of {sender}"),
    ("timestamps", "bool+", "A segment of {sender} has the timestamps option"),
    ("sack_segments", "u64+", "Segments of {sender} with SACK blocks"),
    ("dsack_segments", "u64+", "Of these, with a first block that reports data received twice (RFC 2883)"),
    ("sack_blocks_max", "u8+", "Most SACK blocks on a segment of {sender}"),
    ("window_bytes_min", "u32?+", "Least receive window over zero that {sender} announced, scaled"),
    ("window_bytes_max", "u32?+", "Largest receive window that {sender} announced, scaled"),
    ("window_bytes_mean", "f64?+", "Mean of the windows that {sender} announced, scaled"),
    ("flight_bytes_min", "u64?+", "Least payload over zero that {sender} had in flight"),
    ("flight_bytes_max", "u64?+", "Most payload that {sender} had in flight: sent and not acknowledged"),
    ("flight_bytes_mean", "f64?+", "Mean of the bytes in flight after each of its segments that is in order"),
    ("flight_bytes_time_mean", "f64?+", "Mean over time of the bytes that {sender} had in flight on the flow"),
    ("rtt_samples", "u64+", "Round trips of segments of {sender}, by Karn's rule: until an ACK that ends there"),
    ("rtt_min", "duration?+", "Least of these round trips"),
    ("rtt_max", "duration?+", "Longest of these round trips; a delayed ACK is part of them"),
    ("rtt_mean", "duration?+", "Mean of these round trips"),
    ("rtt_stdev", "duration?+", "Standard deviation of these round trips; null under two"),
    ("rtt_handshake", "duration?+", "SYN of {sender} to the first ACK of it, if it was sent once"),
    ("rtt_full_samples", "u64+", "Round trips of its data segments of the largest size among those sampled"),
    ("rtt_full_min", "duration?+", "Least of these round trips of full segments"),
    ("rtt_full_max", "duration?+", "Longest of these round trips of full segments"),
    ("rtt_full_mean", "duration?+", "Mean of these round trips of full segments"),
    ("rtt_full_stdev", "duration?+", "Standard deviation of these round trips of full segments"),
    ("ambiguous_acks", "u64+", "ACKs that end at a segment of {sender} that was sent more than once"),
    ("rtt_resent_min", "duration?+", "Least time from the last sending of such a segment to that ACK"),
    ("rtt_resent_max", "duration?+", "Longest time from the last sending of such a segment to that ACK"),
    ("rtt_resent_mean", "duration?+", "Mean time from the last sending of such a segment to that ACK"),
    ("rtt_resent_stdev", "duration?+", "Standard deviation of these times"),
    ("post_loss_acks", "u64+", "ACKs of segments of {sender} that waited for earlier data to be sent again"),
    ("cumulatively_acked", "u64+", "Segments of {sender} that only an ACK for later data acknowledged"),
    ("triple_duplicate_acks", "u64+", "Times that {sender} sent a third duplicate ACK in a row"),
    ("retransmitted_bytes", "u64+", "Payload bytes that {sender} sent again"),
    ("retransmissions_of_one_max", "u32+", "Most times that {sender} sent one segment again"),
    ("retransmission_time_min", "duration?+", "Least time until {sender} sent a segment again"),
    ("retransmission_time_max", "duration?+", "Longest time until {sender} sent a segment again"),
    ("retransmission_time_mean", "duration?+", "Mean time until {sender} sent a segment again"),
    ("retransmission_time_stdev", "duration?+", "Standard deviation of these times"),
    (
        "timeout_retransmissions",
        "u64+",
        "Retransmissions of {sender} after a timeout (RFC 6298), and those that follow it",
    ),
    (
        "fast_retransmissions",
        "u64+",
        "Retransmissions of {sender} after duplicate ACKs or SACKs (RFC 5681, RFC 6675)",
    ),
    ("tail_loss_probes", "u64+", "Retransmissions of {sender} of its last segment before the timeout (RFC 8985)"),
    ("window_probe_retransmissions", "u64+", "Data that {sender} sent again into a window of zero"),
    ("unknown_retransmissions", "u64+", "Retransmissions of {sender} for which nothing seen is the cause"),
    (
        "unnecessary_retransmissions",
        "u64+",
        "Retransmissions of whatever cause that {peer} had acknowledged or reported twice",
    ),
    ("window_probes", "u64+", "Data segments that {sender} sent into a window of zero"),
    ("window_probe_bytes", "u64+", "Payload bytes in them"),
)


_PACKETS: Final = Table(
    "packets",
    "One row a record of the capture: the facts, as they stand in the headers.",
    _columns(
        ("frame", "u64", "Frame number as Wireshark counts, from 1"),
        ("time", "time", "Capture time"),
        ("interface", "u32", "Interface number over all sections of the file"),
        ("link_type", "u16", "LINKTYPE_ number of the interface"),
        ("wire_bytes", "u32", "Length on the wire"),
        ("captured_bytes", "u32", "Length captured"),
        ("source", "str?", "Source address of the innermost IP header"),
        ("destination", "str?", "Destination address of the innermost IP header"),
        ("protocol", "u8?", "IP protocol number, after IPv6 extension headers"),
        ("ttl", "u8?", "Time to live or hop limit"),
        ("identification", "u32?", "IP identification"),
        ("is_fragment", "bool", "The IP header announces a fragment"),
        ("ecn", "u8?", "Explicit congestion notification bits of the IP header"),
        ("network_offset", "u32?", "Offset of the IP header in the frame; 0 if reassembled"),
        ("source_port", "u16?", "TCP source port; null if no TCP header was decoded"),
        ("destination_port", "u16?", "TCP destination port"),
        ("seq_raw", "u32?", "Sequence number as sent"),
        ("ack_raw", "u32?", "Acknowledgment number as sent"),
        ("flags", "u16?", "TCP flag bits (FIN 1, SYN 2, RST 4, PSH 8, ACK 16, …)"),
        ("window_raw", "u16?", "Window field as sent, not scaled"),
        ("checksum", "u16?", "TCP checksum as sent; never verified, for offload leaves it unset"),
        ("urgent_pointer", "u16?", "Urgent pointer"),
        ("header_bytes", "u8?", "Length of the TCP header"),
        ("mss_option", "u16?", "Maximum segment size option"),
        ("window_scale_option", "u8?", "Window scale option (shift count)"),
        ("sack_permitted", "bool", "SACK-permitted option"),
        ("sack_edges_raw", "list_u32", "Left and right edges of the SACK blocks, as sent"),
        ("timestamp_value", "u32?", "TSval of the timestamps option"),
        ("timestamp_echo", "u32?", "TSecr of the timestamps option"),
        ("fast_open_cookie_bytes", "u8?", "Length of the TCP fast open cookie; 0: one is asked for"),
        ("payload_offset", "u32?", "Offset of the TCP payload in the frame; 0 if reassembled"),
        ("payload_bytes", "u32?", "TCP payload length as the IP header declares it"),
        ("payload_captured_bytes", "u32?", "TCP payload bytes that were captured"),
    ),
    on_request=True,
)

_SEGMENTS: Final = Table(
    "segments",
    "One row a TCP segment, with what it does on its flow: the flags, counts and times of Wireshark's"
    " TCP analysis, by its rules. The counts of the flows table are our own judgement: what fills a hole"
    " that was seen open is reordered, whichever number it ends on, and only where data is outstanding is"
    " an ACK a duplicate.",
    _columns(
        ("frame", "u64", "Frame number"),
        ("flow", "u32", "Flow number"),
        ("direction", "enum:DIRECTIONS", "Who sent it"),
        ("time", "time", "Capture time"),
        ("seq", "i64", "Sequence number relative to the initial one (SYN 0), unwrapped"),
        ("ack", "i64?", "Acknowledgment number relative to the peer's initial one, unwrapped"),
        ("payload_bytes", "u32", "Payload length"),
        ("flags", "u16", "TCP flag bits"),
        ("window_bytes", "u32", "Receive window, scaled; as sent on a SYN and where its own scale is not known"),
        ("is_retransmission", "bool", "Goes back behind the highest number sent: sent again, in any way"),
        ("is_fast_retransmission", "bool", "Sent again within 20 ms of two or more duplicate ACKs for it"),
        ("is_spurious_retransmission", "bool", "Sent again although it had been acknowledged"),
        ("is_out_of_order", "bool", "Goes back, but so soon that it was overtaken, not sent again"),
        ("is_lost_segment", "bool", "The segment before it was not captured: a hole in the numbers"),
        ("is_ack_of_lost_segment", "bool", "Acknowledges what was not captured"),
        ("is_keep_alive", "bool", "Keep-alive probe (RFC 9293, section 3.8.4)"),
        ("is_keep_alive_ack", "bool", "Answers a keep-alive probe"),
        ("is_zero_window", "bool", "Announces a receive window of zero"),
        ("is_zero_window_probe", "bool", "One byte sent into a window of zero"),
        ("is_zero_window_probe_ack", "bool", "Answers a zero window probe: the window is zero still"),
        ("is_window_update", "bool", "Pure ACK that only changes the window"),
        ("is_window_full", "bool", "Goes to the last byte of the window announced"),
        ("is_reused_ports", "bool", "SYN on ports that an earlier connection in the capture had"),
        ("duplicate_ack_count", "u32", "Which repeat of an ACK in a row this is; 0: none"),
        ("duplicate_ack_frame", "u64?", "Frame of the ACK that it repeats"),
        ("rto", "duration?", "Time since what it sends again was sent, if neither fast nor spurious"),
        ("rto_frame", "u64?", "Frame that time is counted from"),
        ("gap_before_bytes", "u32", "Bytes missing before it: never captured, or lost on the path"),
        ("flight_bytes", "u32?", "Bytes of its direction in flight after it, less those in SACK blocks"),
        ("push_bytes", "u32?", "Payload since the last PSH, its own included"),
        ("acks_frame", "u64?", "Frame of the segment that its ACK number ends on"),
        ("ack_rtt", "duration?", "Time from that frame to this one; Karn's rule is not observed"),
        ("acked_by_frame", "u64?~", "Frame that first acknowledged all of it"),
        ("rtt", "duration?~", "Round trip from this segment to that ACK, by Karn's rule"),
        ("wire_segments", "u32", "Segments it was on the wire: over 1 for offload super-segments"),
        (
            "sack_edges",
            "list_u64",
            "Left and right edges of its SACK blocks, relative as ack is; 0 before the initial number",
        ),
    ),
    on_request=True,
)

_FLOWS: Final = Table(
    "flows",
    "One row a TCP connection, both directions; numbered as tshark's tcp.stream.",
    _columns(
        ("flow", "u32*", "Flow number, from 0"),
        ("client", "str*", "Address of the client: who sent the SYN, else the first request"),
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
        ("client_gap_bytes", "u64", "Bytes of the client that were never captured"),
        ("server_gap_bytes", "u64", "Bytes of the server that were never captured"),
        ("has_syn", "bool", "The client's SYN was captured"),
        ("has_syn_ack", "bool", "The server's SYN-ACK was captured"),
        ("mss_client", "u16?", "MSS option of the client's SYN: the most it accepts"),
        ("mss_server", "u16?*", "MSS option of the server's SYN-ACK: the most it accepts"),
        ("segment_bytes", "u32?", "Largest payload a segment of the server may carry on this flow"),
        ("client_window_scale", "u8?", "Window scale of the client"),
        ("server_window_scale", "u8?", "Window scale of the server"),
        ("initial_rtt", "duration?*", "Round trip of the handshake: SYN to the client's ACK"),
        ("server_path_rtt", "duration?", "Least time from the observation point to the server and back"),
        ("client_path_rtt", "duration?", "Least time from the observation point to the client and back"),
        ("rtt_samples", "u64", "Round trips measured, both directions, by Karn's rule"),
        (
            "observation_point",
            "enum:OBSERVATION_POINTS*",
            "Where the capture was taken: near the end whose path_rtt is a small part of the other",
        ),
        ("initial_window_segments", "u32?", "Segments of the server's first flight: see profiles"),
        ("super_segments", "u64", "Packets larger than a segment may be: merged by offload"),
        ("closed_by", "enum:CLOSED_BY*", "Who ended the flow first"),
        ("is_http", "bool", "HTTP/1.x was found on it, in clear or decrypted"),
        ("protocol", "enum:PROTOCOLS?*", "What it carries, if that was found; the last one, if TLS began later"),
        ("transactions", "u32", "Transactions on it"),
        ("first_request_time", "time?", "First byte of the first request"),
        ("last_response_time", "time?", "Last byte of the latest response that came whole"),
        ("request_persists", "bool?", "The latest answered request lets the connection go on (RFC 9112, 9.3)"),
        ("response_persists", "bool?", "The latest whole response lets the connection go on"),
        ("close_time", "time?", "First FIN or RST"),
        ("close_frame", "u64?", "Frame of it"),
        (
            "largest_window_segments",
            "u32?",
            "Most segments of the server in flight, since it last sent any again: see profiles",
        ),
        ("server_loss_time", "time?", "When data of the server was first seen missing, or sent again"),
        ("completeness", "u8+", "What was seen, as tshark: SYN 1, SYN-ACK 2, ACK 4, data 8, FIN 16, RST 32"),
        *_STATISTICS,
    ),
)

_TRANSACTIONS: Final = Table(
    "transactions",
    "One row per HTTP request and its response, or per exchange of application data in TLS; a half is null"
    " where it was not captured.",
    _columns(
        ("flow", "u32*", "Flow number"),
        ("index", "u32*", "Number on the flow, from 0"),
        ("method", "str?*", "Request method"),
        ("target", "str?*", "Request target (RFC 9112, section 3.2)"),
        ("host", "str?*", "Host field"),
        ("referer", "str?", "Referer field of the request: the URL at which its target was found"),
        (
            "protocol",
            "enum:PROTOCOLS*",
            "What it is an exchange of; method, target, status and sizes of heads need http",
        ),
        ("version", "enum:HTTP_VERSIONS?", "Version of the request, else of the response"),
        ("status", "u16?*", "Status code of the final response"),
        ("request_frame", "u64?*", "Frame of the request's first byte"),
        ("request_last_frame", "u64?", "Frame that completed the request"),
        ("response_first_frame", "u64?*", "Frame of the response's first byte"),
        ("response_last_frame", "u64?*", "Frame that completed the response"),
        ("request_time", "time?*", "Time of the request's first byte"),
        ("request_last_time", "time?", "Time the request was complete"),
        ("response_first_time", "time?*", "Time of the response's first byte"),
        ("response_last_time", "time?*", "Time the response was complete"),
        ("last_ack_frame", "u64?", "Frame of the client's ACK for the end of the response"),
        ("last_ack_time", "time?", "Time of that ACK"),
        (
            "start_time",
            "time*",
            "Start: the SYN for what opened the connection, else the request's first byte, else the response's",
        ),
        (
            "end_time",
            "time*",
            (
                "End: the response's last byte at the client; of an unfinished transaction, the end of its"
                " connection or of the capture"
            ),
        ),
        ("acked_after", "duration?", "From the end to the client's ACK of the response: in no wait"),
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
        ("response_framing", "enum:FRAMINGS?", "How the end of the response was found"),
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
            "Under TLS: when the first record of the response was complete, so that its bytes could be used",
        ),
        ("first_record_bytes", "u32?", "That record on the wire"),
        (
            "is_group",
            "bool",
            "Of tls: the client sent while the response was on its way, or it is HTTP/2. Times are of the group",
        ),
        ("reused_connection", "bool", "An earlier transaction ran on the flow"),
        ("pipelined", "bool", "Sent before the response before it was complete"),
        ("missing_bytes", "u64", "Bytes of both messages that were not captured"),
        ("stream", "u32?*", "Of h2: number of the stream (RFC 9113, section 5.1.1)"),
        ("is_pushed", "bool", "Of h2: the server promised it, and nobody had asked (PUSH_PROMISE)"),
        ("urgency", "u8?", "Of h2: urgency that the client gave it last, 0 (first) to 7 (RFC 9218, section 4.1)"),
        ("has_trailers", "bool", "Of h2: fields came behind the body of the response"),
        ("reset_by", "enum:DIRECTIONS?", "Of h2: who gave the stream up (RST_STREAM)"),
        ("reset_code", "u32?", "Of h2: the error code of that (RFC 9113, section 7)"),
        ("grpc_status", "u16?*", "Of gRPC: grpc-status of the response, 0 for OK"),
        ("grpc_request_messages", "u32?", "Of gRPC: messages of the client"),
        ("grpc_response_messages", "u32?", "Of gRPC: messages of the server"),
        ("complete", "bool*", "Both messages were framed to their end"),
    ),
)

_TLS_HANDSHAKES: Final = Table(
    "tls_handshakes",
    "One row per flow that carries TLS and whose handshake was seen. Bytes are those on the wire, headers of"
    " records included; messages that are encrypted are told by the order, direction and size of records.",
    _columns(
        ("flow", "u32", "Flow number"),
        ("server_name", "str?", "Host name that the client asked for (SNI; RFC 6066, section 3)"),
        ("alpn_offered", "str?", "Protocols that the client offered, with a comma between (RFC 7301)"),
        ("alpn_chosen", "str?", "The one that the server chose; TLS 1.3 encrypts it"),
        ("version", "enum:TLS_VERSIONS?", "Version that the server chose"),
        ("cipher", "str?", "Cipher suite that the server chose: IANA's name, or its number"),
        ("resumed", "bool?", "An earlier connection's keys were used again: no certificate was sent"),
        ("early_data", "bool", "The client offered early data (RFC 8446, section 2.3)"),
        ("hello_retry", "bool", "The server asked for another ClientHello (HelloRetryRequest): a round trip"),
        ("client_hello_bytes", "u64", "ClientHello; both of them after a HelloRetryRequest"),
        ("server_flight_bytes", "u64", "What the server sent first, up to what it needs an answer for"),
        ("certificate_bytes", "u64?", "Certificate chain of the server; TLS 1.3 encrypts it"),
        ("client_flight_bytes", "u64", "What the client sent behind its ClientHello, up to Finished"),
        ("client_hello_frame", "u64?", "Frame of the ClientHello's first byte"),
        ("client_hello_time", "time?", "Time of that byte"),
        ("client_hello_last_frame", "u64?", "Frame that completed the first ClientHello"),
        ("client_hello_last_time", "time?", "Time of that frame"),
        ("server_hello_frame", "u64?", "Frame of the first byte of the server's answer"),
        ("server_hello_time", "time?", "Time of that byte"),
        ("server_flight_last_frame", "u64?", "Frame that completed the server's first flight"),
        ("server_flight_last_time", "time?", "Time of that frame"),
        ("client_finished_frame", "u64?", "Frame that completed the client's Finished"),
        ("client_finished_time", "time?", "Time of that frame"),
        (
            "done_time",
            "time?",
            "The client may send application data: it has sent Finished, and before TLS 1.3 got one",
        ),
        ("first_application_frame", "u64?", "Frame of the first byte of the client's application data"),
        ("first_application_time", "time?", "Time of that byte"),
        (
            "unasked_bytes",
            "u64",
            (
                "Bytes that the server sent unasked before its first response: session tickets (RFC 8446, section"
                " 4.6.1), SETTINGS of HTTP/2"
            ),
        ),
        ("unasked_first_frame", "u64?", "Frame of the first of these bytes"),
        ("unasked_last_frame", "u64?", "Frame of the last of these bytes"),
        ("round_trips", "u32", "Answers of the server that the client waited for before it sent application data"),
        ("alert", "u8?", "Description of a fatal alert in clear (RFC 8446, section 6.2)"),
    ),
)

_TLS_RECORDS: Final = Table(
    "tls_records",
    "One row per TLS record, in the order in which records were complete.",
    _columns(
        ("flow", "u32", "Flow number"),
        ("direction", "enum:DIRECTIONS", "Who sent it"),
        (
            "content_type",
            "enum:TLS_CONTENT_TYPES",
            "Type in its header: application_data for every record that TLS 1.3 encrypts",
        ),
        ("length", "u16", "Bytes behind its header of five bytes"),
        ("offset", "u64", "Where its header starts in the payload of its sender, from 0"),
        ("first_frame", "u64", "Frame of its first byte"),
        ("first_time", "time", "Time of that frame"),
        ("last_frame", "u64", "Frame that completed it"),
        ("last_time", "time", "Time of that frame"),
        ("handshake_messages", "str?", "Handshake messages in clear that end in it, separated by commas"),
        ("decrypted_type", "enum:TLS_CONTENT_TYPES?", "Type inside, opened with a key of the key log"),
        ("complete", "bool", "All of its bytes were captured"),
    ),
    on_request=True,
)

_H2_CONNECTIONS: Final = Table(
    "h2_connections",
    "One row per flow that carries HTTP/2. Frames are those of both directions.",
    _columns(
        ("flow", "u32", "Flow number"),
        ("is_upgrade", "bool", "It began as HTTP/1.1 (Upgrade: h2c)"),
        ("preface_time", "time?", "Time of the first byte of the client's connection preface (RFC 9113, 3.4)"),
        ("client_settings_frame", "u64?", "Frame of the client's first SETTINGS"),
        ("client_settings_time", "time?", "Time of it"),
        ("client_settings_acked_time", "time?", "When the server acknowledged it"),
        ("server_settings_frame", "u64?", "Frame of the server's first SETTINGS"),
        ("server_settings_time", "time?", "Time of it"),
        ("server_settings_acked_time", "time?", "When the client acknowledged it"),
        ("client_initial_window", "u32?", "Window of a stream that the client gives: it bounds responses"),
        ("server_initial_window", "u32?", "Window of a stream that the server gives: it bounds requests"),
        ("client_connection_window", "u64?", "Window of the connection that the client gave before any DATA came"),
        ("server_connection_window", "u64?", "Window of the connection that the server gave before any DATA came"),
        ("client_max_frame", "u32?", "SETTINGS_MAX_FRAME_SIZE of the client"),
        ("server_max_frame", "u32?", "SETTINGS_MAX_FRAME_SIZE of the server"),
        ("max_concurrent_streams", "u32?", "SETTINGS_MAX_CONCURRENT_STREAMS of the server"),
        ("streams", "u32", "Streams on it"),
        ("data_frames", "u64", "DATA frames"),
        ("headers_frames", "u64", "HEADERS frames"),
        ("priority_frames", "u64", "PRIORITY frames"),
        ("rst_stream_frames", "u64", "RST_STREAM frames"),
        ("settings_frames", "u64", "SETTINGS frames, acknowledgments included"),
        ("push_promise_frames", "u64", "PUSH_PROMISE frames"),
        ("ping_frames", "u64", "PING frames, acknowledgments included"),
        ("goaway_frames", "u64", "GOAWAY frames"),
        ("window_update_frames", "u64", "WINDOW_UPDATE frames"),
        ("continuation_frames", "u64", "CONTINUATION frames"),
        ("priority_update_frames", "u64", "PRIORITY_UPDATE frames (RFC 9218, section 7.1)"),
        ("other_frames", "u64", "Frames of other types"),
        ("goaway_frame", "u64?", "Frame of the first GOAWAY"),
        ("goaway_time", "time?", "Time of it"),
        ("goaway_by", "enum:DIRECTIONS?", "Who sent it"),
        ("goaway_code", "u32?", "Its error code (RFC 9113, section 7)"),
        ("last_stream", "u32?", "The last stream that its sender took on"),
        ("unknown_fields", "u64", "Header fields that refer to blocks which were not captured"),
    ),
)

_H2_WINDOWS: Final = Table(
    "h2_windows",
    "One row per event of HTTP/2 flow control, in the order of the capture: what was used of the windows, and what"
    " was given. Windows are those that the capture's point knows; its sender learns of them later.",
    _columns(
        ("flow", "u32", "Flow number"),
        ("direction", "enum:DIRECTIONS", "Direction of the DATA that the windows bound"),
        ("stream", "u32", "Number of the stream; 0 for the connection, or for a change of all streams"),
        ("frame", "u64", "Frame that completed it"),
        ("time", "time", "Time of that"),
        ("event", "enum:H2_WINDOW_EVENTS", "What it was"),
        ("bytes", "i64", "By how much the windows changed; negative for DATA, its padding included"),
        ("stream_window", "i64?", "Window of the stream behind it; null for the connection's events"),
        ("connection_window", "i64?", "Window of the connection behind it; null if it is not known"),
    ),
    on_request=True,
)

_LINKS: Final = Table(
    "links",
    "One row a link of a captured HTML document that a browser follows by itself: images, scripts, style"
    " sheets, icons, frames, media. Of a document with another coding than gzip or deflate there are none.",
    _columns(
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
    _columns(
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
    _columns(
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
    _columns(
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
    _columns(
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

_ENDINGS: Final = Table(
    "endings",
    "One row a flow that let its client down: never set up, refused, closed before all requests were answered, or"
    " cut off inside a response.",
    _columns(
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
    _columns(
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
    _columns(
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

_RECOVERIES: Final = Table(
    "recoveries",
    "One row a time that a stream of a flow was held up: a loss and its repair, a reordering, a window"
    " that was closed; of data with an HTTP flow's numbers, or of a SYN. A loss before the observation"
    " point shows as a hole, or, at the end of a flight, only as a silence in which the sender numbered"
    " packets that never came by.",
    _columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32?", "Transaction whose request (or response, by direction) it held up"),
        ("direction", "enum:DIRECTIONS", "Who sent what was held up"),
        ("kind", "enum:RECOVERY_KINDS", "What held it up, and what set it going"),
        ("first_frame", "u64", "Frame at the start: the lost data, or the first that came behind it"),
        ("last_frame", "u64", "Frame at the end: the last that was sent again, or opened the window"),
        ("start", "time", "When the data went by, or would have: the hole was seen, the window closed"),
        ("end", "time", "When the last of it came by"),
        ("original_frame", "u64?", "Frame of the data that was first sent again, where that came by"),
        ("original_time", "time?", "Its time"),
        ("resent_frame", "u64?", "First frame that was sent again"),
        ("resent_time", "time?", "Its time"),
        ("resent_segments", "u32", "Segments sent again; probes, where a window was closed; segments overtaken"),
        ("resent_bytes", "u64", "Payload bytes in them"),
        ("timeouts", "u32", "Of these, how many came after a wait that is long enough for the timer"),
        ("duplicate_acks", "u32", "Duplicate ACKs until the end"),
        ("silence", "duration", "Time in it that ended with something sent again and in which no data came by"),
        ("timer", "duration?", "What the sender waited before it sent the first of it again, as far as seen"),
        ("rtt", "duration?", "Least round trip of the path known then"),
        ("was_tail", "bool", "Nothing that was sent behind it had come by, or was acknowledged"),
        ("ends_message", "bool", "The message ends with what was outstanding: nothing more waited to be sent"),
        ("offset", "i64", "Where it starts in the stream, relative to the initial sequence number"),
        ("outstanding_bytes", "u64", "Bytes from there to the highest seen when it began"),
        ("skipped_identifications", "u32", "IPv4 identifications that the sender used and that were never seen"),
        ("spurious_by", "enum:SPURIOUS_EVIDENCE", "How it is known that nothing was lost"),
        ("confidence", "f64", "0 to 1: that it is this kind"),
    ),
)

_QUEUES: Final = Table(
    "queues",
    "One row a response whose packets stood in a queue for longer than the path takes, and 50 ms at least.",
    _columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction of the response"),
        ("first_frame", "u64", "First packet of the response whose delay is known"),
        ("start", "time", "Its time"),
        ("first_delay", "duration", "Its delay, over the least of the flow"),
        ("most_frame", "u64", "Packet with the longest delay"),
        ("most_delay", "duration", "Its delay"),
        ("mean_delay", "duration", "Mean delay of the response's packets"),
        ("last_delay", "duration", "Delay of the last one"),
        ("samples", "u64", "Packets whose delay is known"),
        ("measured_by", "enum:QUEUE_MEASURES", "How the delays were measured"),
        ("rtt", "duration", "Least round trip of the path"),
    ),
)

_WAITS: Final = Table(
    "waits",
    "One row an interval of a transaction with one cause. The waits of a transaction follow each other"
    " without a gap from its start_time to its end_time: they sum to its elapsed time to the nanosecond.",
    _columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction number on the flow"),
        ("cause", "enum:CAUSES*", "What the time was spent on"),
        ("start", "time*", "Start of the interval"),
        ("end", "time*", "End of the interval"),
        ("first_frame", "u64*", "Frame at its start"),
        ("last_frame", "u64*", "Frame at its end; the first again, if none marks it"),
        ("confidence", "f64", "0 to 1"),
        ("direction", "enum:DIRECTIONS?", "Whose segment waited: the request's or the response's; null: none did"),
        ("constraint", "enum:CONSTRAINTS?", "What bound the segment that ended it"),
        ("released_by", "u64?", "Frame of the ACK that released that segment"),
        ("offset", "u64?", "Where that segment starts in its message"),
        ("bytes", "u32?", "Its payload"),
        ("behind_frame", "u64?", "Latest short segment that was outstanding until then"),
        ("behind_offset", "i64?", "Where that starts, from the start of the message"),
        ("behind_bytes", "u32?", "Its payload"),
        ("behind_stream", "u32?", "Of h2: the stream whose bytes were in that segment, if none of its own were"),
        ("upstream_flow", "u32?^", "Of server.upstream: flow of the proxy's request to its upstream server"),
        ("upstream_transaction", "u32?^", "Of server.upstream: number of that transaction on its flow"),
    ),
)

_HOPS: Final = Table(
    "hops",
    "One row per transaction that a proxy served by a request to its upstream server, if both are in the"
    " capture; more than one where the proxy asked again.",
    _columns(
        ("flow", "u32*", "Flow of the front leg: the client's connection to the proxy"),
        ("transaction", "u32*", "Transaction of the front leg"),
        ("upstream_flow", "u32*", "Flow of the upstream leg: the proxy's connection to its upstream server"),
        ("upstream_transaction", "u32*", "Transaction of the upstream leg"),
        ("start", "time*", "First byte of the upstream request"),
        ("end", "time*", "Last byte of the upstream response, or the end of the front leg if that is earlier"),
        (
            "evidence",
            "str*",
            (
                "What both legs have in common, in words: nesting (in time), target or target-end (the proxy"
                " replaced its begin), address (of the proxy), host, request-body-size, body-size, body-digest;"
                " in-order if other front legs fit as well"
            ),
        ),
        ("confidence", "f64*", "0 to 1: that the upstream leg belongs to this front leg"),
    ),
    native=False,
)

_RETRIEVALS: Final = Table(
    "retrievals",
    "One row a retrieval: a page, as its base document and the transactions that it causes. In a capture without"
    " HTTP in clear, exchanges of TLS without keys make retrievals by time alone.",
    _columns(
        ("retrieval", "u32*", "Number of the retrieval, from 0, by its start"),
        ("client", "str*", "Address of the client"),
        ("flow", "u32*", "Flow of the base document"),
        ("transaction", "u32*", "Transaction of the base document on that flow"),
        ("url", "str?*", "URL of the base document; null of TLS without keys"),
        ("start", "time*", "The SYN of its connection if that was opened for it, else its request"),
        ("end", "time*", "Last byte of the last response"),
        ("elapsed", "duration*", "From start to end: the page time"),
        ("transactions", "u32*", "Transactions of the retrieval"),
        ("flows", "u32*", "Connections that they ran on"),
        ("bytes", "u64*", "Response bytes, heads and framing included"),
        ("how_grouped", "enum:MEMBERSHIPS*", "The weakest evidence that a transaction belongs to it"),
        ("confidence", "f64*", "0 to 1: the mean of that of its transactions"),
    ),
)

_RETRIEVAL_TRANSACTIONS: Final = Table(
    "retrieval_transactions",
    "One row a transaction of a retrieval, by the start of the request. Transactions whose request was"
    " not captured belong to none, and neither do tunnels (CONNECT).",
    _columns(
        ("retrieval", "u32", "Number of the retrieval"),
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction number on the flow"),
        ("how", "enum:MEMBERSHIPS", "Why it belongs to the retrieval"),
        ("initiator_flow", "u32?", "Flow of the transaction that caused it, if that is known"),
        ("initiator_transaction", "u32?", "Number of that transaction on its flow"),
        (
            "known",
            "time?",
            "When the client could know of it: by then the initiator's link had come, else all of it",
        ),
        ("start", "time", "The SYN of its connection if that was opened for it, else its request"),
        ("request_time", "time", "First byte of its request"),
        ("end", "time", "Last byte of its response, else the last that was seen of it"),
    ),
)

_CRITICAL_PATH: Final = Table(
    "critical_path",
    "One row an interval of a retrieval with the transaction and the wait that it was spent on: the chain of"
    " transactions that bounds the page time. The rows of a retrieval follow each other without a gap from its"
    " start to its end.",
    _columns(
        ("retrieval", "u32", "Number of the retrieval"),
        ("step", "u32", "Number of the interval, from 0, by time"),
        ("flow", "u32*", "Flow number"),
        ("transaction", "u32*", "Transaction number on the flow"),
        ("cause", "enum:CAUSES*", "What the time was spent on"),
        ("start", "time*", "Start of the interval"),
        ("end", "time*", "End of the interval"),
        ("share", "f64", "Its part of the page time, 0 to 1"),
    ),
)

_FINDINGS: Final = Table(
    "findings",
    "One row a named pathology with its evidence.",
    _columns(
        ("detector", "str*", "Name of the detector"),
        ("severity", "enum:SEVERITIES*", "error: time observably lost; warning: less; info: structure"),
        ("flow", "u32?*", "Flow number; null where it is about the whole capture"),
        ("transaction", "u32?*", "Transaction number on the flow; null where it is about the flow or several"),
        ("first_frame", "u64?*", "First frame of the evidence"),
        ("last_frame", "u64?*", "Last frame of the evidence"),
        ("start", "time?*", "When the lost time began: the start of its first wait"),
        ("lost", "duration*", "By how much the transaction would have been shorter; 0 for structure alone"),
        (
            "elapsed_without",
            "duration?*",
            "What the transaction would have taken without it; null for several, and from several flows",
        ),
        (
            "shared",
            "duration*",
            "The part of it that other findings of the transaction claim too: without them all it is saved once",
        ),
        ("confidence", "f64*", "0 to 1"),
        ("cause", "enum:CAUSES?*", "What the lost time was spent on; null for structure alone"),
        ("summary", "str*", "What happened, in a sentence"),
        ("evidence", "str*", "Frames and figures"),
        ("remedy", "str*", "What to change"),
        ("server_software", "str?*", "Server field of the responses that it is about; null if none or several"),
        ("reference", "str*", "Where the pathology is described"),
    ),
    native=False,
)

_INCONCLUSIVE: Final = Table(
    "inconclusive",
    "One row a detector and a flaw of the capture that kept it from judging flows: each of these flows lacks"
    " what the detector needs, and it found nothing there, which therefore says nothing.",
    _columns(
        ("detector", "str*", "Name of the detector that could not judge"),
        ("because", "str*", "Name of the detector of the flaw, which says what to do about it"),
        ("flows", "u32*", "How many HTTP flows it could not judge for that reason"),
        ("flow", "u32*", "The first of them"),
        ("reason", "str*", "What the detector would have needed"),
    ),
    native=False,
)

_ANOMALIES: Final = Table(
    "anomalies",
    "One row a piece of strange traffic, or of a strange file.",
    _columns(
        ("kind", "enum:ANOMALY_KINDS*", "What was strange"),
        ("frame", "u64?*", "Frame at which it was noticed"),
        ("flow", "u32?*", "Flow it is about"),
        ("offset", "u64?*", "Offset in the file"),
        ("detail", "str*", "What exactly"),
    ),
)

TABLES: Final = {
    table.name: table
    for table in (
        _PACKETS,
        _SEGMENTS,
        _FLOWS,
        _TRANSACTIONS,
        _TLS_HANDSHAKES,
        _TLS_RECORDS,
        _H2_CONNECTIONS,
        _H2_WINDOWS,
        _LINKS,
        _PROFILES,
        _BODIES,
        _REDIRECTS,
        _EXPECTATIONS,
        _ENDINGS,
        _FLAWS,
        _SEGMENTATION,
        _RECOVERIES,
        _QUEUES,
        _WAITS,
        _HOPS,
        _RETRIEVALS,
        _RETRIEVAL_TRANSACTIONS,
        _CRITICAL_PATH,
        _FINDINGS,
        _INCONCLUSIVE,
        _ANOMALIES,
    )
}


#: Tables with a row for each packet or record: they are made only when they are asked for.
ON_REQUEST: Final = frozenset(table.name for table in TABLES.values() if table.on_request)


def enum_values(dtype: str) -> tuple[str, ...]:
    """The words of an ``enum:NAME`` type."""
    return tuple(globals()[dtype.removeprefix("enum:")])


def enum_meanings(dtype: str) -> dict[str, str]:
    """What each word of an ``enum:NAME`` type means, where that is declared."""
    declared = globals()[dtype.removeprefix("enum:")]
    return dict(declared) if isinstance(declared, dict) else {}


def json_name(column: Column) -> str:
    """The name of a column in the JSON contract: times and durations end in ``_ns``."""
    return f"{column.name}_ns" if column.dtype in {"time", "duration"} else column.name


def polars_schema(table: Table, *, statistics: bool = True) -> dict[str, pl.DataType]:
    """The polars type of each column, in order; without ``statistics``, of those that are always there."""
    columns = (column for column in table.columns if statistics or not column.is_statistic)
    return {column.name: _polars_type(column.dtype) for column in columns}


@cache
def _polars_type(dtype: str) -> pl.DataType:
    import polars as pl

    if dtype.startswith("enum:"):
        return pl.Enum(enum_values(dtype))
    plain: dict[str, pl.DataType] = {
        "u8": pl.UInt8(),
        "u16": pl.UInt16(),
        "u32": pl.UInt32(),
        "u64": pl.UInt64(),
        "i64": pl.Int64(),
        "f64": pl.Float64(),
        "bool": pl.Boolean(),
        "str": pl.String(),
        "time": pl.Datetime("ns", "UTC"),
        "duration": pl.Duration("ns"),
        "list_u32": pl.List(pl.UInt32()),
        "list_u64": pl.List(pl.UInt64()),
    }
    return plain[dtype]

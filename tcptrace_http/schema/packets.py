"""Packets and TCP segments."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_PACKETS: Final = Table(
    "packets",
    "One row per record of the capture: the facts in the headers.",
    columns(
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
        ("fast_open_cookie_bytes", "u8?", "Length of the TCP fast open cookie; 0: a cookie request"),
        ("payload_offset", "u32?", "Offset of the TCP payload in the frame; 0 if reassembled"),
        ("payload_bytes", "u32?", "TCP payload length according to the IP header"),
        ("payload_captured_bytes", "u32?", "Captured TCP payload bytes"),
    ),
    on_request=True,
)

_SEGMENTS: Final = Table(
    "segments",
    "One row per TCP segment, with its role on the flow: the flags, counts and times of Wireshark's TCP"
    " analysis, by its rules. The counts of the flows table follow our own rules: a segment that fills an"
    " open hole is reordered, at any sequence number, and a duplicate ACK needs bytes in flight.",
    columns(
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
        ("is_spurious_retransmission", "bool", "Retransmitted although acknowledged"),
        ("is_out_of_order", "bool", "Earlier sequence number, but too soon for a retransmission: reordered"),
        ("is_lost_segment", "bool", "The segment before it was not captured: a hole in the numbers"),
        ("is_ack_of_lost_segment", "bool", "Acknowledges uncaptured data"),
        ("is_keep_alive", "bool", "Keep-alive probe (RFC 9293, section 3.8.4)"),
        ("is_keep_alive_ack", "bool", "Answers a keep-alive probe"),
        ("is_zero_window", "bool", "Announces a receive window of zero"),
        ("is_zero_window_probe", "bool", "One byte sent into a window of zero"),
        ("is_zero_window_probe_ack", "bool", "Answers a zero window probe: the window is zero still"),
        ("is_window_update", "bool", "Pure ACK that only changes the window"),
        ("is_window_full", "bool", "Ends at the last byte of the announced window"),
        ("is_reused_ports", "bool", "SYN on ports that an earlier connection in the capture had"),
        ("duplicate_ack_count", "u32", "Number of the repeat of an ACK in a row; 0: none"),
        ("duplicate_ack_frame", "u64?", "Frame of the repeated ACK"),
        ("rto", "duration?", "Time since the first transmission, if neither fast nor spurious"),
        ("rto_frame", "u64?", "Frame of that first transmission"),
        ("gap_before_bytes", "u32", "Bytes missing before it: never captured, or lost on the path"),
        ("flight_bytes", "u32?", "Bytes of its direction in flight after it, less those in SACK blocks"),
        ("push_bytes", "u32?", "Payload since the last PSH, including its own"),
        ("acks_frame", "u64?", "Frame of the segment that its ACK number ends on"),
        ("ack_rtt", "duration?", "Time from that frame to this one; Karn's rule is not observed"),
        ("acked_by_frame", "u64?~", "First frame that acknowledged the whole segment"),
        ("rtt", "duration?~", "Round trip from this segment to that ACK, by Karn's rule"),
        ("wire_segments", "u32", "Segments on the wire: above 1 for offload super-segments"),
        (
            "sack_edges",
            "list_u64",
            "Left and right edges of its SACK blocks, relative as ack is; 0 before the initial number",
        ),
    ),
    on_request=True,
)

TABLES: Final = (_PACKETS, _SEGMENTS)

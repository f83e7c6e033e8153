"""Presentation of each cause of ``schema.CAUSES``, and the source of its rule. The schema gives the meanings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["RULES", "Rule"]

_RFC4898 = "RFC 4898, section 4.3 (tcpEStatsPerfSndLimTrans)"
_TRAT = "Zhang et al., On the Characteristics and Origins of Internet Flow Rates (T-RAT), SIGCOMM 2002"
_TAPO = "Zhou et al., Demystifying and Mitigating TCP Stalls at the Server Side (TAPO), CoNEXT 2015"
_TCPEVAL = "Barford and Crovella, Critical Path Analysis of TCP Transactions (tcpeval), SIGCOMM 2000"
_HEIDEMANN = "Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996"


@dataclass(frozen=True, slots=True)
class Rule:
    """Criterion of a cause in a capture, and the source of the rule."""

    told_by: str
    source: str


RULES: Final = {
    "setup.handshake": Rule(
        "From the first SYN, or the last retransmitted SYN or SYN-ACK, to the client's ACK of the SYN-ACK."
        " Only for the transaction that opens its connection",
        "RFC 9293, section 3.5",
    ),
    "setup.tls_handshake": Rule(
        "From the end of the TCP handshake to the client's Finished; up to TLS 1.2 also to the server's."
        " Without the time that a part of a flight was held (see explain tls-handshake-nagle). Only for the"
        " transaction that opens its connection",
        "RFC 8446, section 2; RFC 5246, section 7.3",
    ),
    "setup.h2_settings": Rule(
        "From the end of the handshakes, or the client's preface, to the first request, if it came right"
        " after the server's SETTINGS. Only for the transaction that opens its connection",
        "RFC 9113, section 3.4",
    ),
    "setup.syn_retransmission": Rule(
        "From the first SYN to the last retransmitted SYN or SYN-ACK of the handshake",
        "RFC 6298, section 5.7",
    ),
    "setup.unanswered": Rule(
        "From the last SYN or SYN-ACK to the end of the connection or of the capture, if no handshake"
        " followed. Most such connections have no transaction: see explain unanswered-connection",
        "RFC 6298, section 5.7; RFC 9293, section 3.10.7",
    ),
    "request.send": Rule(
        "First to last byte of the request, less the waits with another cause",
        f"HAR 1.2, send; {_TCPEVAL}",
    ),
    "server.think": Rule(
        "From the request's last byte to the first byte of the response, less the path to the server and"
        " back, and less the time of retransmissions",
        f"{_TCPEVAL}: server delay",
    ),
    "server.data_unavailable": Rule(
        "A gap inside a response, longer than the pace of the data before, without an opening of the receive"
        " window or a releasing ACK at its end",
        f"{_TAPO}: data unavailable and resource constraint; {_TRAT}: application limited",
    ),
    "server.upstream": Rule(
        "Server time, or a hold of the response, between the first byte of the upstream request and the last"
        " byte of the upstream response. Held data counts only until its arrival from upstream; see explain"
        " hops.evidence",
        "RFC 9110, section 3.7; a segment cannot leave before its bytes have come",
    ),
    "client.think": Rule(
        "From the ACK of the handshake to the request's first byte. Also gaps inside the request that no ACK"
        " ended and no detector assigns to Nagle's algorithm",
        f"{_TCPEVAL}: client delay; {_TAPO}: client idle",
    ),
    "client.not_reading": Rule(
        "The data was beyond the offered window. A window update without a new acknowledgment released it",
        f"RFC 9293, section 3.8.6; {_RFC4898}",
    ),
    "client.head_of_line": Rule(
        "From the request, plus the round trip of the path, to the end of the previous response on the connection",
        "RFC 9112, section 9.3.2",
    ),
    "send_limited.slow_start": Rule(
        "A flight ended with a full segment, or without room for the next data, and an ACK continued it. The"
        " flight is at least as large as all earlier ones: the window was full during its growth",
        f"RFC 5681, section 3.1; {_RFC4898}; {_TRAT}: transport limited",
    ),
    "send_limited.cwnd": Rule(
        "As for slow start, on a flow with an earlier loss",
        f"{_RFC4898}; {_TRAT}: congestion limited",
    ),
    "send_limited.receive_window": Rule(
        "The data was beyond the highest edge (ACK plus window) that the receiver had offered before the"
        " releasing ACK",
        f"{_RFC4898}; {_TRAT}: receiver window limited",
    ),
    "send_limited.zero_window": Rule(
        "As for the receive window, if the window offered before was zero",
        f"RFC 9293, section 3.8.6; {_RFC4898}; {_TAPO}: zero window",
    ),
    "send_limited.send_buffer": Rule(
        "An ACK released the data below the receive window, without any loss. Fewer bytes were in flight"
        " than slow start must have reached by the ACKs so far, and at least half of the maximum bytes in"
        " flight",
        f"{_RFC4898}; {_TRAT}: sender window limited",
    ),
    "send_limited.h2_stream_window": Rule(
        "From the arrival of all data that the stream's window allowed to the earliest possible answer to the"
        " next WINDOW_UPDATE, without the time of send_limited.h2_window_update, regardless of other streams",
        "RFC 9113, sections 5.2 and 6.9.1",
    ),
    "send_limited.h2_connection_window": Rule(
        "As send_limited.h2_stream_window, for the window that all streams of the connection share",
        "RFC 9113, sections 5.2 and 6.9.1",
    ),
    "send_limited.h2_window_update": Rule(
        "From the arrival of all data that a window allowed to the receiver's WINDOW_UPDATE",
        "RFC 9113, sections 5.2.2 and 6.9.1",
    ),
    "send_limited.multiplexed_behind": Rule(
        "Bytes of other streams preceded the stream's own, and the sender had data all the time. Data after"
        " a pause did not exist before the pause",
        "RFC 9113, sections 5 and 5.3; RFC 9218, section 10",
    ),
    "send_limited.bottleneck": Rule(
        "Gaps between segments that are at most the pace of the full segments before, with room for jitter",
        f"{_TRAT}: bandwidth limited",
    ),
    "stall.nagle_delayed_ack": Rule(
        "The segment followed, within the path's time, the ACK that Nagle's algorithm waits for (or that of"
        " a window of less than two full segments). The receiver had delayed this ACK; see explain"
        " short-initial-segment",
        f"{_HEIDEMANN}, sections 2.2 and 2.3; RFC 896; RFC 1122, section 4.2.3.2",
    ),
    "stall.nagle_hold": Rule(
        "The segment is short. It followed, within the path's time, the ACK that Nagle's algorithm waits"
        " for: of the previous short segment, or of all earlier segments although the window had room. This"
        " ACK was not delayed. Or the next response filled the segment, and no ACK released it; see explain"
        " nagle-hold",
        "RFC 896; G. Minshall, draft-minshall-nagle-01",
    ),
    "stall.delayed_ack_first_segment": Rule(
        "One full segment was in flight, and the next segment followed its delayed ACK; only the delay counts",
        "RFC 1122, section 4.2.3.2; RFC 6928",
    ),
    "stall.cork_timeout": Rule(
        "A short segment came 200 ms after the data before it, and no ACK released it",
        "tcp(7), TCP_CORK",
    ),
    "stall.slow_start_restart": Rule(
        "After an idle period, the waits for ACKs that the previous window would not have needed; see"
        " explain slow-start-restart",
        f"RFC 5681, section 4.1; {_HEIDEMANN}, section 2.4",
    ),
    "stall.retransmission_timeout": Rule(
        "Data was retransmitted after a silence of at least 200 ms, the minimum RTO in use, and later data"
        " was not. Further retransmissions of the same episode count as well",
        f"RFC 6298; {_TAPO}: timeout retransmission",
    ),
    "stall.tail_loss": Rule(
        "The last data of a flight was retransmitted without an earlier duplicate ACK. Or it is new,"
        " although IP identifications show that a packet is missing",
        f"RFC 8985, section 7; {_TAPO}: tail retransmission",
    ),
    "stall.fast_recovery": Rule(
        "Retransmitted data, or first data into a hole, without such a silence and not at the end of the"
        " sent data",
        "RFC 5681, section 3.2; RFC 6675; RFC 8985",
    ),
    "stall.persist": Rule(
        "From a lost window update to the sender's next probe",
        "RFC 9293, section 3.8.6.1",
    ),
    "network.propagation": Rule(
        "The minimum round trip of the path between request and response, at most the otherwise unexplained time",
        f"{_TCPEVAL}: propagation delay",
    ),
    "network.queueing": Rule(
        "The time between request and response less the path's minimum round trip and the server time, if it"
        " exceeds the pace of the data",
        f"{_TCPEVAL}: network variation",
    ),
    "network.reordering": Rule(
        "A hole was filled in less than nine tenths of a round trip, earlier than a sender can detect a loss",
        "RFC 4737, section 3; RFC 8985, section 6.2",
    ),
    "unfinished.unanswered": Rule(
        "The request's last byte was acknowledged, and no byte of a response was sent or acknowledged. The"
        " time lasts from the request, plus the path to the server and back, to the close of the connection"
        " or the end of the capture",
        f"{_TAPO}: data unavailable",
    ),
    "unfinished.undelivered": Rule(
        "Data was retransmitted, or a SACK reported later data, and no ACK covered it. The time lasts from"
        " the last acknowledged byte until the client gave up or the capture ended",
        "RFC 2923, section 2.1; RFC 6298, section 5",
    ),
    "unfinished.stopped": Rule(
        "All sent data of a message was acknowledged, its framing announces more, and the window is open."
        " The time lasts from its last byte to the close of the connection or the end of the capture",
        "RFC 9112, section 8",
    ),
    "unexplained": Rule(
        "An ACK released the data, but no window was full: the previous flight was smaller than another, or"
        " ended with a short segment, and no detector assigns it to Nagle's algorithm. Or the intervals of a"
        " very long response were dropped",
        "none: outside the rules",
    ),
    "unobserved": Rule(
        "No ACK of the flow is known, or the times of request or response are missing",
        "none: a limit of the capture",
    ),
}

"""Terms of the field in reports, and the columns of the text reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["REPORT_COLUMNS", "TERMS", "ReportColumn", "Term"]


@dataclass(frozen=True, slots=True)
class Term:
    """Term with its meaning and the source of its definition; ``ours`` if only this program uses it."""

    meaning: str
    source: str = ""
    ours: bool = False


#: Terms of the field, and the few terms of this program.
TERMS: Final = {
    "ACK": Term("A segment with the ACK flag. It names the next byte that its sender expects.", "RFC 9293, 3.1"),
    "application-limited": Term(
        "The sender had window left, and its application had no data to send.", "RFC 7661, section 1"
    ),
    "bandwidth-delay product": Term(
        "Bottleneck rate times round-trip time: the bytes in flight that keep the bottleneck busy.",
        "RFC 7323, section 1.1",
    ),
    "bottleneck": Term("The link of a path with the lowest rate. It sets the pace of a long transfer."),
    "bufferbloat": Term("A queue so long that its delay exceeds the round-trip time of the path.", "RFC 8290"),
    "bytes in flight": Term("Bytes that were sent and are neither acknowledged nor known to be lost.", "RFC 6675"),
    "capture point": Term(
        "The place of the path where the packets were recorded: at the client, at the server, or between them.",
        ours=True,
    ),
    "cause": Term("The reason for one wait. Every nanosecond of a transaction has exactly one cause.", ours=True),
    "confidence": Term(
        "How sure a finding is, from 0 to 1: the expected share of such findings that are right.", ours=True
    ),
    "constraint": Term(
        "A rule that holds a segment back: a window, Nagle's algorithm, a timer, the application.",
        ours=True,
    ),
    "congestion avoidance": Term(
        "The phase after slow start: cwnd grows by about one segment per round trip.", "RFC 5681, section 3.1"
    ),
    "critical path": Term(
        "The chain of waits that bounds the time of a page. A shorter wait elsewhere does not shorten the page.",
        "P. Barford and M. Crovella, Critical Path Analysis of TCP Transactions, SIGCOMM 2000",
    ),
    "cwnd": Term(
        "Congestion window: the limit of bytes in flight that the sender's congestion control sets.",
        "RFC 5681, section 2",
    ),
    "D-SACK": Term("A SACK block that reports data received twice.", "RFC 2883"),
    "delayed ACK": Term(
        "An ACK that the receiver holds back for a second segment or a timer: at most 500 ms, 40 ms on Linux.",
        "RFC 1122, section 4.2.3.2; RFC 9293, section 3.8.6.3",
    ),
    "duplicate ACK": Term("An ACK that repeats the last acknowledgment number: a segment is missing.", "RFC 5681"),
    "fast recovery": Term(
        "Repair of a loss after duplicate ACKs or SACK blocks, before the RTO ends.",
        "RFC 5681, 3.2; RFC 6675",
    ),
    "finding": Term("A named pathology in a capture, with frames, lost time, confidence and remedy.", ours=True),
    "flow": Term("One TCP connection, both directions. Flows have Wireshark's numbers (tcp.stream).", ours=True),
    "frame": Term("One record of the capture, numbered from 1 as in Wireshark."),
    "full segment": Term("A segment whose payload is as large as the MSS allows."),
    "head-of-line blocking": Term("A message waits behind an earlier one on the same connection.", "RFC 9113, 1"),
    "hop": Term("One leg of an exchange that a proxy relays: client to proxy, or proxy to upstream server."),
    "inconclusive": Term(
        "The capture lacks something that a detector needs, so that no finding proves nothing.", ours=True
    ),
    "initial window": Term(
        "cwnd at the start of a connection: ten segments on current systems.", "RFC 6928, section 2"
    ),
    "lost": Term(
        "How much shorter the transaction would have been: from the moment the held data could have left to the"
        " moment it left.",
        ours=True,
    ),
    "MSS": Term("Maximum segment size: the largest payload that the peer accepts per segment.", "RFC 9293, 3.7.1"),
    "Nagle's algorithm": Term(
        "While data is unacknowledged, the sender holds a segment that is not full. TCP_NODELAY turns it off.",
        "RFC 896; RFC 9293, section 3.7.4",
    ),
    "pacing": Term("The sender spreads its segments over the round trip instead of sending them in one burst."),
    "persist timer": Term("The timer that probes a closed receive window.", "RFC 9293, section 3.8.6.1"),
    "pipe": Term("The sender's estimate of the bytes in flight during a recovery.", "RFC 6675, section 2"),
    "pipelining": Term("A client sends a request before the response to the one before it.", "RFC 9112, 9.3.2"),
    "propagation delay": Term("The time that a signal takes over the links of a path, without any queue."),
    "queueing delay": Term("The time that a packet stands in a queue, before its bottleneck sends it."),
    "receive window": Term("The bytes that the receiver has room for, as it announces them.", "RFC 9293, 3.8.6"),
    "reordering": Term("A packet overtakes another one on the path.", "RFC 4737"),
    "retransmission": Term("A segment whose bytes were sent before.", "RFC 9293, section 3.8"),
    "retrieval": Term("A page: its base document and the transactions that the document causes.", ours=True),
    "RTO": Term("Retransmission timeout: the time without an ACK after which TCP sends again.", "RFC 6298"),
    "RTT": Term("Round-trip time: from a segment to the ACK of it.", "RFC 6298, section 2"),
    "SACK": Term("Selective acknowledgment: an option that lists the blocks received beyond a hole.", "RFC 2018"),
    "segment": Term("The unit of TCP: a header and at most one MSS of payload.", "RFC 9293, section 3.1"),
    "segmentation offload": Term(
        "The network card cuts or merges segments, so that the capture has packets larger than the MSS."
    ),
    "serialization time": Term("The time that a link takes to send a packet: its size divided by the rate."),
    "slow start": Term("The phase in which cwnd doubles per round trip, up to ssthresh.", "RFC 5681, section 3.1"),
    "slow-start restart": Term(
        "After an idle time longer than the RTO, the sender falls back to its initial window.", "RFC 5681, 4.1"
    ),
    "spurious retransmission": Term("A retransmission of data that the receiver has.", "RFC 3522; RFC 2883"),
    "ssthresh": Term("Slow-start threshold: where slow start ends.", "RFC 5681, section 2"),
    "stream": Term("One request and its response on an HTTP/2 connection.", "RFC 9113, section 5"),
    "stretch ACK": Term("An ACK of more than two full segments.", "RFC 2525, section 2.13"),
    "super-segment": Term("A captured packet of several segments, merged or not yet cut by segmentation offload."),
    "tail-loss probe": Term(
        "A retransmission of the last segment after two round trips without an ACK.", "RFC 8985, section 7"
    ),
    "transaction": Term("One HTTP request and its response.", ours=True),
    "wait": Term("An interval of a transaction with one cause. The waits sum to the elapsed time.", ours=True),
}


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """Column of a text report: the report, the meaning, and the table column with the value, if any."""

    report: str
    meaning: str
    column: str = ""


_CAUSES: Final = "analyze, Where the time went"
_PAGES: Final = "analyze, Pages"
_TRANSACTIONS: Final = "analyze, Transactions"
_FLOWS: Final = "analyze, Flows"
_SEGMENT: Final = "explain --frame"
_DIFF: Final = "diff"
_WHATIF: Final = "whatif"
_REPRODUCE: Final = "reproduce"
_HOLDS: Final = "reproduce --stack"
_FILES: Final = "analyze, Transfers of files"
_CORPUS: Final = "corpus report"

#: Columns of the text reports by title. Several reports may share a title.
REPORT_COLUMNS: Final[dict[str, tuple[ReportColumn, ...]]] = {
    "cause": (
        ReportColumn(_CAUSES, "The cause of the waits; explain knows each.", "waits.cause"),
        ReportColumn(_DIFF, "The cause of the waits on both sides.", "waits.cause"),
        ReportColumn(_WHATIF, "The cause of the waits before and after the change.", "waits.cause"),
    ),
    "time": (
        ReportColumn(_CAUSES, "The sum of all waits of this cause."),
        ReportColumn(_PAGES, "The time from the first request to the last byte of the page."),
    ),
    "share": (ReportColumn(_CAUSES, "The time of this cause divided by the time of all transactions."),),
    "transactions": (ReportColumn(_CAUSES, "The number of transactions with a wait of this cause."),),
    "longest": (ReportColumn(_CAUSES, "The longest single wait of this cause."),),
    "in flow.no": (ReportColumn(_CAUSES, "The flow and the transaction of the longest wait."),),
    "flow.no": (
        ReportColumn(_PAGES, "The flow and the transaction of the base document."),
        ReportColumn(_TRANSACTIONS, "The flow, and the number of the transaction on it, from 0."),
    ),
    "page": (ReportColumn(_PAGES, "The URL of the base document.", "retrievals.url"),),
    "objects": (ReportColumn(_PAGES, "The number of transactions of the page.", "retrievals.transactions"),),
    "flows": (ReportColumn(_PAGES, "The number of connections of the page.", "retrievals.flows"),),
    "bytes": (
        ReportColumn(_PAGES, "The response bytes of the page.", "retrievals.bytes"),
        ReportColumn(
            _TRANSACTIONS,
            "The bytes of the response's body, before content decoding.",
            "transactions.response_body_bytes",
        ),
        ReportColumn(_FLOWS, "The payload bytes of both directions, each byte counted once."),
    ),
    "most of it": (
        ReportColumn(_PAGES, "The cause with the largest share of the page's critical path, and that share."),
        ReportColumn(_DIFF, "The cause with the largest part of the difference."),
    ),
    "stream": (ReportColumn(_TRANSACTIONS, "The number of the HTTP/2 stream.", "transactions.stream"),),
    "messages": (ReportColumn(_TRANSACTIONS, "The messages of a gRPC call: the client's and the server's."),),
    "reset by": (
        ReportColumn(_TRANSACTIONS, "The side that reset the stream, and the code.", "transactions.reset_by"),
    ),
    "method": (ReportColumn(_TRANSACTIONS, "The method of the request.", "transactions.method"),),
    "target": (
        ReportColumn(_TRANSACTIONS, "The request target; (TLS) where encryption hides it.", "transactions.target"),
        ReportColumn(_DIFF, "The request target of the aligned transactions.", "transactions.target"),
    ),
    "status": (ReportColumn(_TRANSACTIONS, "The status of the response, or of the gRPC call."),),
    "wait": (ReportColumn(_TRANSACTIONS, "The last byte of the request to the first byte of the response."),),
    "receive": (ReportColumn(_TRANSACTIONS, "The first to the last byte of the response."),),
    "lost": (
        ReportColumn(_TRANSACTIONS, "The time that the findings about this transaction lost.", "findings.lost"),
    ),
    "flow": (ReportColumn(_FLOWS, "The number of the connection, as Wireshark's tcp.stream.", "flows.flow"),),
    "client": (ReportColumn(_FLOWS, "The address and port of the client.", "flows.client"),),
    "server": (ReportColumn(_FLOWS, "The address and port of the server.", "flows.server"),),
    "resent": (ReportColumn(_FLOWS, "The number of retransmissions in both directions."),),
    "rtt": (ReportColumn(_FLOWS, "The round-trip time of the handshake.", "flows.initial_rtt"),),
    "seen at": (ReportColumn(_FLOWS, "The capture point.", "flows.observation_point"),),
    "closed by": (ReportColumn(_FLOWS, "The side that closed or reset the connection.", "flows.closed_by"),),
    "constraint": (ReportColumn(_SEGMENT, "The rule that the segment had to obey.", "waits.constraint"),),
    "allowed at": (ReportColumn(_SEGMENT, "The time at which the constraint allowed the segment."),),
    "before it left": (ReportColumn(_SEGMENT, "How long before the segment left the constraint allowed it."),),
    "released by": (ReportColumn(_SEGMENT, "The frame or timer that ended the constraint.", "waits.released_by"),),
    "decided in": (ReportColumn(_SEGMENT, "The source file that decides the constraint."),),
    "left": (ReportColumn(_DIFF, "The value of the left side: time, count, or flow and transaction."),),
    "right": (ReportColumn(_DIFF, "The value of the right side: time, count, or flow and transaction."),),
    "difference": (ReportColumn(_DIFF, "Left minus right."),),
    "finding": (ReportColumn(_DIFF, "The detector of the finding.", "findings.detector"),),
    "lost more": (ReportColumn(_DIFF, "The time lost on the left minus the time lost on the right."),),
    "model": (ReportColumn(_DIFF, "The analytic model."),),
    "side": (ReportColumn(_DIFF, "The side that the model predicts: left or right."),),
    "retrievals": (ReportColumn(_DIFF, "The number of retrievals that the model predicts."),),
    "predicted": (ReportColumn(_DIFF, "The time that the model predicts."),),
    "took": (ReportColumn(_DIFF, "The time that the retrievals took."),),
    "left out": (ReportColumn(_DIFF, "took minus predicted."),),
    "change": (ReportColumn(_WHATIF, "The fix or the strategy."),),
    "fix": (ReportColumn(_WHATIF, "The fix; an asterisk marks a fix of a finding of this capture."),),
    "strategy": (ReportColumn(_WHATIF, "The retrieval strategy."),),
    "before": (ReportColumn(_WHATIF, "The time of this cause in the simulated capture."),),
    "after": (ReportColumn(_WHATIF, "The time of this cause with the change."),),
    "takes": (ReportColumn(_WHATIF, "The simulated time with the change."),),
    "saves": (ReportColumn(_WHATIF, "The simulated time without the change minus the time with it."),),
    "min saved": (ReportColumn(_WHATIF, "The smallest saving over the open assumptions."),),
    "max saved": (ReportColumn(_WHATIF, "The largest saving over the open assumptions."),),
    "removed -, added +": (ReportColumn(_WHATIF, "Causes with less time (-) and with more time (+)."),),
    "claim": (ReportColumn(_REPRODUCE, "The identifier of the claim."),),
    "where": (ReportColumn(_REPRODUCE, "The section, table or figure of the paper."),),
    "what": (ReportColumn(_REPRODUCE, "The subject of the claim."),),
    "verdict": (ReportColumn(_REPRODUCE, "reproduced, reproduced in shape, or not reproduced."),),
    "same": (ReportColumn(_REPRODUCE, "The number of figures within their tolerance."),),
    "shape": (ReportColumn(_REPRODUCE, "The number of figures that only agree in order or trend."),),
    "not": (ReportColumn(_REPRODUCE, "The number of figures outside their tolerance."),),
    "conclusion": (
        ReportColumn(_HOLDS, "holds, holds in part, or does not hold, with the other stack or network."),
    ),
    "kept": (ReportColumn(_HOLDS, "The number of effects and orders that are as the paper has them."),),
    "of": (ReportColumn(_HOLDS, "The number of effects and orders that the claim has."),),
    "mode": (ReportColumn(_FILES, "active or passive: the side that opened the data connection."),),
    "file": (ReportColumn(_FILES, "fetched, or stored on the server."),),
    "elapsed": (ReportColumn(_FILES, "The time from the first to the last packet of the data connection."),),
    "host": (ReportColumn(_CORPUS, "The server's host name, or its address where no name was seen."),),
    "findings": (ReportColumn(_CORPUS, "The number of findings."),),
}

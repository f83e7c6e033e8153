"""Elapsed time by cause: loss recovery, queueing, waits, and the upstream side of proxies."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_RECOVERIES: Final = Table(
    "recoveries",
    "One row per interruption of a stream: a loss and its repair, a reordering, or a closed window; for data"
    " of an HTTP flow, or a SYN. A loss before the observation point shows as a hole. At the end of a flight"
    " such a loss shows only as a silence with missing IP identifications.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32?", "Delayed transaction: its request or response, by direction"),
        ("direction", "enum:DIRECTIONS", "Sender of the delayed data"),
        ("kind", "enum:RECOVERY_KINDS", "Kind of the interruption and of its end"),
        ("first_frame", "u64", "Frame at the start: the lost data, or the first frame behind it"),
        ("last_frame", "u64", "Frame at the end: the last retransmission, or the window update"),
        ("start", "time", "Time of the data at the capture point, of the hole, or of the closed window"),
        ("end", "time", "Time of the last of it"),
        ("original_frame", "u64?", "Frame of the first retransmitted data, if captured"),
        ("original_time", "time?", "Its time"),
        ("resent_frame", "u64?", "First retransmission"),
        ("resent_time", "time?", "Its time"),
        ("resent_segments", "u32", "Retransmitted segments; probes of a closed window; reordered segments"),
        ("resent_bytes", "u64", "Payload bytes in them"),
        ("timeouts", "u32", "Of these, those after a wait long enough for the timer"),
        ("duplicate_acks", "u32", "Duplicate ACKs until the end"),
        ("silence", "duration", "Silence before retransmissions in this time"),
        ("timer", "duration?", "The sender's visible wait before the first retransmission"),
        ("rtt", "duration?", "Minimum round trip of the path known then"),
        ("was_tail", "bool", "No data behind it was captured or acknowledged"),
        ("ends_message", "bool", "The message ends with the bytes in flight: no more data waited"),
        ("offset", "i64", "Offset in the stream, relative to the initial sequence number"),
        ("outstanding_bytes", "u64", "Bytes from there to the highest seen when it began"),
        ("skipped_identifications", "u32", "IPv4 identifications of the sender that were never captured"),
        ("spurious_by", "enum:SPURIOUS_EVIDENCE", "Evidence that nothing was lost"),
        ("confidence", "f64", "0 to 1: confidence in this kind"),
    ),
)

_QUEUES: Final = Table(
    "queues",
    "One row per response whose packets queued for longer than the path's round trip, and for at least 50 ms.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction of the response"),
        ("first_frame", "u64", "First packet of the response whose delay is known"),
        ("start", "time", "Its time"),
        ("first_delay", "duration", "Its delay over the minimum of the flow"),
        ("most_frame", "u64", "Packet with the longest delay"),
        ("most_delay", "duration", "Its delay"),
        ("mean_delay", "duration", "Mean delay of the response's packets"),
        ("last_delay", "duration", "Delay of the last one"),
        ("samples", "u64", "Packets whose delay is known"),
        ("measured_by", "enum:QUEUE_MEASURES", "Method of the measurement"),
        ("rtt", "duration", "Minimum round trip of the path"),
    ),
)

_WAITS: Final = Table(
    "waits",
    "One row pern interval of a transaction with one cause. The waits of a transaction follow each other"
    " without a gap from its start_time to its end_time: they sum to its elapsed time to the nanosecond.",
    columns(
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction number on the flow"),
        ("cause", "enum:CAUSES*", "Cause of the time"),
        ("start", "time*", "Start of the interval"),
        ("end", "time*", "End of the interval"),
        ("first_frame", "u64*", "Frame at its start"),
        ("last_frame", "u64*", "Frame at its end; equal to the first if none marks it"),
        ("confidence", "f64", "0 to 1"),
        ("direction", "enum:DIRECTIONS?", "Message of the waiting segment: request or response; null without one"),
        ("constraint", "enum:CONSTRAINTS?", "Binding constraint of the segment that ended it"),
        ("released_by", "u64?", "Frame of the ACK that released that segment"),
        ("offset", "u64?", "Offset of that segment in its message"),
        ("bytes", "u32?", "Its payload"),
        ("behind_frame", "u64?", "Latest unacknowledged short segment until then"),
        ("behind_offset", "i64?", "Offset of that short segment in the message"),
        ("behind_bytes", "u32?", "Its payload"),
        ("behind_stream", "u32?", "Of h2: the stream of that segment's bytes, if none are its own"),
        ("upstream_flow", "u32?^", "Of server.upstream: flow of the proxy's request to its upstream server"),
        ("upstream_transaction", "u32?^", "Of server.upstream: number of that transaction on its flow"),
    ),
)

_HOPS: Final = Table(
    "hops",
    "One row per transaction that a proxy served by a request to its upstream server, if both are in the"
    " capture; several after a retry of the proxy.",
    columns(
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
                "Common properties of both legs: nesting (in time), target or target-end (the proxy replaced"
                " its start), address (of the proxy), host, request-body-size, body-size, body-digest;"
                " in-order if other front legs fit as well"
            ),
        ),
        ("confidence", "f64*", "0 to 1: that the upstream leg belongs to this front leg"),
    ),
    native=False,
)

TABLES: Final = (_RECOVERIES, _QUEUES, _WAITS, _HOPS)

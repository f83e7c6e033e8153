"""Elapsed time by cause: loss recovery, queueing, waits, and the upstream side of proxies."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_RECOVERIES: Final = Table(
    "recoveries",
    "One row a time that a stream of a flow was held up: a loss and its repair, a reordering, a window"
    " that was closed; of data with an HTTP flow's numbers, or of a SYN. A loss before the observation"
    " point shows as a hole, or, at the end of a flight, only as a silence in which the sender numbered"
    " packets that never came by.",
    columns(
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
    columns(
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
    columns(
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
                "What both legs have in common, in words: nesting (in time), target or target-end (the proxy"
                " replaced its begin), address (of the proxy), host, request-body-size, body-size, body-digest;"
                " in-order if other front legs fit as well"
            ),
        ),
        ("confidence", "f64*", "0 to 1: that the upstream leg belongs to this front leg"),
    ),
    native=False,
)

TABLES: Final = (_RECOVERIES, _QUEUES, _WAITS, _HOPS)

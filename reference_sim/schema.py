"""Tables of a simulation's truth: their columns with type, unit and meaning.

No value is estimated: every row records an action of the engine. Times are simulated times on the clock of
the captures, so they compare directly with a trace's times. Offsets count in the sender's stream: the SYN is
0, the first data byte 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http import schema
from tcptrace_http.schema import Column, Table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DROPS", "ENUMERATIONS", "LIMITS", "SEND_REASONS", "SIDES", "TABLES", "polars_schema"]

SIDES: Final = {
    "client": "Who opened the connection",
    "server": "Who accepted it",
}
#: Reasons why a sender does not send (more).
LIMITS: Final = {
    "application": "Everything written was sent, and the application has not written more",
    "send_buffer": "Everything written was sent, and the application waits for room in the send buffer",
    "handshake": "The connection is not open yet",
    "slow_start": "The congestion window is used up, below the slow-start threshold",
    "congestion_avoidance": "The congestion window is used up, above the threshold",
    "receive_window": "The window that the peer offers is used up",
    "zero_window": "The peer offers no window at all",
    "max_window": "The stack keeps no more in flight, whatever the windows",
    "nagle": "A short segment waits for an ACK (RFC 896)",
    "fast_recovery": "Lost data is sent again, before the first ACK of something new",
    "timeout": "A lost segment waits for, or goes on after, the retransmission timer",
    "pacing": "The timer of a rate-based pacer",
    "scheduler": "Another connection of the ensemble has the turn",
}
#: Reasons for the transmission of a segment.
SEND_REASONS: Final = {
    "new": "Handshake, first data, FIN: nothing held it",
    "ack": "An ACK that was due at once",
    "delayed_ack": "The delayed-ACK timer",
    "window_update": "The receiver has room again",
    "retransmission_timeout": "The retransmission timer",
    "fast_retransmit": "Duplicate ACKs told of a loss",
    "recovery": "A further hole, or a partial ACK, during recovery",
    "tail_loss_probe": "Nothing behind the last segment would tell of its loss (RFC 8985, section 7)",
    "window_probe": "The persist timer: is the window still closed?",
    "reset": "The connection is given up",
}
DROPS: Final = {
    "queue_full": "There was no room in the queue of the link",
    "bit_error": "A bit of it was wrong",
    "packet_loss": "Lost at random, each packet alone",
    "burst_loss": "Lost at random, in bursts",
    "scripted": "The scenario names this packet",
    "codel": "It had waited for too long (RFC 8289)",
}
#: Name in a column's type -> words with their meanings, in the order of their codes.
ENUMERATIONS: Final = {"sides": SIDES, "limits": LIMITS, "send_reasons": SEND_REASONS, "drops": DROPS}


def _table(name: str, doc: str, *declarations: tuple[str, str, str]) -> Table:
    """Build a table from (name, type, meaning) of its columns; a type ending in ``?`` is nullable."""
    columns = (
        Column(column, dtype.removesuffix("?"), meaning, nullable=dtype.endswith("?"))
        for column, dtype, meaning in declarations
    )
    return Table(name, doc, tuple(columns))


_CONNECTION: Final = ("connection", "u32", "The connection, numbered in the order in which they were opened")
_SIDE: Final = ("side", "enum:sides", "Which of its ends")
_TIME: Final = ("time", "time", "When")

TABLES: Final = {
    table.name: table
    for table in (
        _table(
            "connections",
            "One row a connection.",
            _CONNECTION,
            ("client_node", "u32", "Node of the client, by its number in the scenario"),
            ("server_node", "u32", "Node of the server"),
            ("client_port", "u16", "Port of the client"),
            ("server_port", "u16", "Port of the server"),
            ("opened", "time", "When the client's application opened it"),
            ("established", "time?", "When the client had the answer to its SYN"),
            ("closed", "time?", "When both ends were done with it"),
        ),
        _table(
            "transactions",
            "One row a request and its response. Times are at the ends.",
            _CONNECTION,
            ("index", "u32", "Its number on the connection, from 0"),
            ("browser", "u32", "Number of the browser"),
            ("visit", "u32", "Number of the browser's visit, from 0"),
            ("fetch", "u32", "Which fetch of the visit's plan"),
            ("method", "str", "Method of the request"),
            ("target", "str", "Target of the request"),
            ("status", "u16", "Status of the response"),
            ("request_bytes", "u64", "Bytes of the request in the stream: what TLS adds is part of it"),
            (
                "response_head_bytes",
                "u64",
                "Bytes of status line and fields; in TLS with their records, if they are a write of their own",
            ),
            (
                "response_body_bytes",
                "u64",
                "Bytes of the rest of it as it is on the wire: what TLS adds is part of it",
            ),
            ("request_offset", "u64", "Offset of the request's first byte in the client's stream"),
            ("response_offset", "u64?", "Offset of the response's first byte in the server's stream"),
            ("wanted", "time", "When the application wanted it: it may have waited for a connection"),
            ("written", "time", "When the request was written"),
            ("request_first_sent", "time?", "When its first segment left the client"),
            ("request_received", "time?", "When the server had all of it"),
            ("response_written", "time?", "When the server's application first wrote"),
            ("response_first_received", "time?", "When the client had the response's first byte"),
            ("response_last_received", "time?", "When the client had its last byte, all before it in order"),
        ),
        _table(
            "retrievals",
            "One row a visit of a page, or a file of a transfer.",
            ("client", "u32", "Number of the browser, or of the transfer"),
            ("is_transfer", "bool", "Whether it is a transfer"),
            ("visit", "u32", "Number of the visit or file, from 0"),
            ("start", "time", "The first SYN, or the first request where no connection was opened"),
            ("end", "time?", "The last byte of the last response; null: not all came"),
            ("bytes", "u64", "Bytes that came"),
        ),
        _table(
            "packets",
            "One row a packet.",
            ("packet", "u64", "Its number, in the order of sending"),
            _CONNECTION,
            ("side", "enum:sides", "Who sent it"),
            ("seq", "u64", "Offset of its first byte in the sender's stream"),
            ("ack", "u64", "Offset in the other stream up to which it acknowledges"),
            ("payload_bytes", "u32", "Bytes of data"),
            ("flags", "u16", "TCP flags, as bits of the header"),
            ("packet_bytes", "u32", "Bytes of the IP packet"),
            ("window_bytes", "u32", "The window that it offers, scaled"),
            ("reason", "enum:send_reasons", "Why it was sent when it was sent"),
            ("is_retransmission", "bool", "Whether its first byte was sent before"),
            ("sent", "time", "When its host handed it to a link"),
            ("received", "time?", "When it came; null: lost, or on its way at the end"),
        ),
        _table(
            "hops",
            "One row a packet on a link.",
            ("packet", "u64", "The packet"),
            ("link", "u32", "The link, by its number in the scenario"),
            ("enqueued", "time", "When it came to the link"),
            ("dequeued", "time?", "When its first bit went out; null: the queue dropped it"),
            ("drop", "enum:drops?", "Why it never came out of the link"),
        ),
        _table(
            "windows",
            "One row a change of a sender's state.",
            _TIME,
            _CONNECTION,
            _SIDE,
            ("cwnd", "u64", "Congestion window, in bytes"),
            ("ssthresh", "u64", "Slow-start threshold, in bytes; 2^62 - 1: none yet"),
            ("flight_bytes", "u64", "Bytes sent and not acknowledged"),
            ("receive_window", "u64", "Bytes that the peer offers beyond what it has acknowledged"),
            ("smoothed_rtt", "duration?", "Smoothed round-trip time (RFC 6298)"),
            ("retransmission_timeout", "duration", "Retransmission timeout"),
        ),
        _table(
            "queues",
            "One row a change of a queue's length. What is in service waits no longer.",
            _TIME,
            ("link", "u32", "The link, by its number in the scenario"),
            ("packets", "u32", "Packets that wait"),
            ("bytes", "u64", "Their bytes, framing included"),
        ),
        _table(
            "limits",
            "One row a change of what holds a sender back.",
            _TIME,
            _CONNECTION,
            _SIDE,
            ("limit", "enum:limits", "What holds it back from now on"),
            ("next", "u64", "The first offset that was not sent yet"),
        ),
        _table(
            "frames",
            "One row a frame of HTTP/2 in a response; recorded with the limits.",
            _CONNECTION,
            ("index", "u32", "The number of its transaction on the connection"),
            ("offset", "u64", "Offset of its first byte in the server's stream"),
            ("end", "u64", "Offset behind its last byte"),
            ("ready", "time", "When the server had the response"),
            ("written", "time", "When the server's application wrote it"),
            ("is_held_by_stream", "bool", "The window that kept it back was the stream's; else the connection's"),
            ("held_since", "time?", "Since when a window had kept it back; null: none had"),
            ("held_until", "time?", "When the window let it go; other streams' frames may have gone first"),
        ),
        _table(
            "links",
            "One row a link, with its totals.",
            ("link", "u32", "The link, by its number in the scenario"),
            ("packets", "u64", "Packets that came to it"),
            ("bytes", "u64", "Their bytes, framing included"),
            ("drops", "u64", "Packets that it dropped or lost"),
            ("busy", "duration", "Time during which a packet was in service"),
        ),
    )
}


def polars_schema(table: Table) -> dict[str, pl.DataType]:
    """Return the polars type of each column, in order."""
    import polars as pl

    plain = tuple(column for column in table.columns if not column.dtype.startswith("enum:"))
    types = schema.polars_schema(Table(table.name, table.doc, plain))
    return {
        column.name: types[column.name]
        if column.name in types
        else pl.Enum(list(ENUMERATIONS[column.dtype.removeprefix("enum:")]))
        for column in table.columns
    }

"""Pages: their transactions, and their critical path."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_RETRIEVALS: Final = Table(
    "retrievals",
    "One row per retrieval: a page, with its base document and the transactions that the document causes. In"
    " a capture without"
    " HTTP in clear, exchanges of TLS without keys make retrievals by time alone.",
    columns(
        ("retrieval", "u32*", "Number of the retrieval, from 0, by its start"),
        ("client", "str*", "Address of the client"),
        ("flow", "u32*", "Flow of the base document"),
        ("transaction", "u32*", "Transaction of the base document on that flow"),
        ("url", "str?*", "URL of the base document; null of TLS without keys"),
        ("start", "time*", "The SYN of its connection if opened for this request, else the request"),
        ("end", "time*", "Last byte of the last response"),
        ("elapsed", "duration*", "Time from start to end: the page time"),
        ("transactions", "u32*", "Transactions of the retrieval"),
        ("flows", "u32*", "Connections of these transactions"),
        ("bytes", "u64*", "Response bytes, heads and framing included"),
        ("how_grouped", "enum:MEMBERSHIPS*", "The weakest evidence among its transactions"),
        ("confidence", "f64*", "0 to 1: the mean over its transactions"),
    ),
)

_RETRIEVAL_TRANSACTIONS: Final = Table(
    "retrieval_transactions",
    "One row per transaction of a retrieval, by the start of the request. Transactions without a captured"
    " request belong to no retrieval, nor do tunnels (CONNECT).",
    columns(
        ("retrieval", "u32", "Number of the retrieval"),
        ("flow", "u32", "Flow number"),
        ("transaction", "u32", "Transaction number on the flow"),
        ("how", "enum:MEMBERSHIPS", "Evidence that it belongs to the retrieval"),
        ("initiator_flow", "u32?", "Flow of the transaction that caused it, if known"),
        ("initiator_transaction", "u32?", "Number of that transaction on its flow"),
        (
            "known",
            "time?",
            "Time when the client could know of it: arrival of the initiator's link, else of its end",
        ),
        ("start", "time", "The SYN of its connection if opened for this request, else the request"),
        ("request_time", "time", "First byte of its request"),
        ("end", "time", "Last byte of its response, else its last captured byte"),
    ),
)

_CRITICAL_PATH: Final = Table(
    "critical_path",
    "One row pern interval of a retrieval with its transaction and wait: the chain of transactions that"
    " bounds the page time. The rows of a retrieval follow each other without a gap from its"
    " start to its end.",
    columns(
        ("retrieval", "u32", "Number of the retrieval"),
        ("step", "u32", "Number of the interval, from 0, by time"),
        ("flow", "u32*", "Flow number"),
        ("transaction", "u32*", "Transaction number on the flow"),
        ("cause", "enum:CAUSES*", "Cause of the time"),
        ("start", "time*", "Start of the interval"),
        ("end", "time*", "End of the interval"),
        ("share", "f64", "Its part of the page time, 0 to 1"),
    ),
)

TABLES: Final = (_RETRIEVALS, _RETRIEVAL_TRANSACTIONS, _CRITICAL_PATH)

# The compiled core (tcptrace_http/native/python): bytes in, tables out.

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, Self, TypedDict, final, type_check_only

__all__ = ["Analyzer", "ArrowTable", "CaptureFault", "FrameReader", "PageRows", "Pages", "Rows", "__version__"]

__version__: str

# Raised with (kind, what); what holds the offset and packet number.
class CaptureFault(Exception):
    args: tuple[Literal["unknown_format", "unsupported_link_type", "malformed"], str]

@type_check_only
class ProvenanceFields(TypedDict):
    format: str
    packets: int
    tcp_packets: int
    first_time_ns: int | None
    last_time_ns: int | None
    truncated: bool
    link_types: list[str]
    bytes_read: int

# A segment that was asked for; times are nanoseconds since the epoch.
@type_check_only
class ReleaseFields(TypedDict):
    constraint: str
    state: Literal["open", "released", "not_shown", "exempt", "unknown"]
    time_ns: int | None
    released_by: int | None
    ack_delay_ns: int | None

@type_check_only
class BindingFields(TypedDict):
    constraint: str
    cause: str
    start_ns: int
    end_ns: int
    released_by: int | None
    confidence: float

@type_check_only
class SenderFields(TypedDict):
    mss: int
    round_trip_ns: int
    round_trip_to_sender_ns: int
    round_trip_to_receiver_ns: int
    tolerance_ns: int
    link_rate: int | None
    nagle: str
    flight_bytes: int
    shown_window_bytes: int

@type_check_only
class SegmentFields(TypedDict):
    transaction: int
    direction: Literal["client_to_server", "server_to_client"]
    time_ns: int
    offset: int
    bytes: int
    releases: list[ReleaseFields]
    binding: BindingFields | None
    profile: SenderFields

@type_check_only
class AskedFields(TypedDict):
    is_captured: bool
    payload_bytes: int | None
    flow: int | None
    explained: SegmentFields | None

@final
class ArrowTable:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Rows:
    # Of the tables that pages are made of: by table and column the values of all rows.
    @staticmethod
    def by_hand(tables: Mapping[str, Mapping[str, Sequence[object]]]) -> Rows: ...
    def count(self, table: str) -> int: ...
    # The tables that lack rows of the capture so far, for a limit was reached.
    def cut(self) -> list[str]: ...
    def has_bundle(self) -> bool: ...
    def has_proxy(self) -> bool: ...
    def flows_that_waited(self, causes: Mapping[str, int]) -> set[int]: ...
    def flows_of(self, table: str, only_where: str | None = None) -> set[int]: ...
    # All columns or some, in the order of the table; all rows or those of some flows.
    def table(
        self, name: str, only: AbstractSet[str] | None = None, flows: AbstractSet[int] | None = None
    ) -> ArrowTable: ...
    def json(
        self, name: str, first: int, count: int, waits: Mapping[tuple[int, int], bytes] | None = None
    ) -> bytes: ...

# What pages are made of, gathered from all batches, and the tables of pages.
@final
class Pages:
    def __new__(cls, bytes_max: int) -> Self: ...
    # All waits of those transactions whose waits are others than the core's: flow, transaction, cause, start, end.
    def add(self, rows: Rows, stalled: Sequence[tuple[int, int, str, int, int]]) -> None: ...
    def complaint(self) -> str | None: ...
    def source(self, name: str) -> ArrowTable: ...
    def tables(self) -> PageRows: ...
    def has_chain(self, made: PageRows, transactions_min: int, of_flow_min: int, rtt_min_ns: int) -> bool: ...

@final
class PageRows:
    def count(self, table: str) -> int: ...
    def complaint(self) -> str | None: ...
    def table(self, name: str) -> ArrowTable: ...
    def json(self, first: int, count: int) -> bytes: ...

# One frame of a capture: its time in nanoseconds, link type, length on the wire, and captured bytes.
@final
class FrameReader:
    def __new__(cls, frame: int) -> Self: ...
    def feed(self, chunk: bytes) -> None: ...
    def frame(self) -> tuple[int, int, int, bytes] | None: ...

@final
class Analyzer:
    # packets, segments, tls_records and h2_windows: True for all columns, or the names of some; in blocks of
    # block_rows rows.
    def __new__(
        cls,
        *,
        packets: bool | Sequence[str] = ...,
        segments: bool | Sequence[str] = ...,
        tls_records: bool | Sequence[str] = ...,
        h2_windows: bool | Sequence[str] = ...,
        statistics: bool = False,
        others: bool = True,
        block_rows: int = ...,
        threads: int = 1,
        asked_frame: int | None = None,
        follows: bool = False,
        keylog: str | None = None,
    ) -> Self: ...
    def take_secrets(self, capture: str | os.PathLike[str] | bytes) -> None: ...
    def feed(self, chunk: bytes | bytearray | memoryview) -> None: ...
    # One file of several that are one stream is over. Whether it could be read to its end.
    def next_file(self) -> bool: ...
    # What is fed until begin_window is of the window before; what is fed after end_window of the one after.
    def lead_in(self) -> None: ...
    def begin_window(self) -> None: ...
    def end_window(self) -> None: ...
    def finish(self, rows: int | None = None) -> bool: ...
    def pending_rows(self) -> int: ...
    def take(self) -> Rows: ...
    def take_block(self, name: str) -> ArrowTable | None: ...
    def asked(self) -> AskedFields | None: ...
    def provenance(self) -> ProvenanceFields: ...

# The compiled core (tcptrace_http/native/python): bytes in, tables out.

from collections.abc import Mapping, Sequence
from typing import Literal, Self, TypedDict, final, type_check_only

__all__ = ["Analyzer", "ArrowTable", "CaptureFault", "Rows", "__version__"]

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

@final
class ArrowTable:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Rows:
    def count(self, table: str) -> int: ...
    def has_wait(self, cause: str, at_least_ns: int) -> bool: ...
    def table(self, name: str) -> ArrowTable: ...
    def json(
        self, name: str, first: int, count: int, waits: Mapping[tuple[int, int], bytes] | None = None
    ) -> bytes: ...

@final
class Analyzer:
    # packets and segments: True for all columns, or the names of some; in blocks of block_rows rows.
    def __new__(
        cls,
        *,
        packets: bool | Sequence[str] = ...,
        segments: bool | Sequence[str] = ...,
        statistics: bool = False,
        others: bool = True,
        block_rows: int = ...,
        threads: int = 1,
    ) -> Self: ...
    def feed(self, chunk: bytes | bytearray | memoryview) -> None: ...
    def finish(self) -> None: ...
    def pending_rows(self) -> int: ...
    def take(self) -> Rows: ...
    def take_block(self, name: str) -> ArrowTable | None: ...
    def provenance(self) -> ProvenanceFields: ...

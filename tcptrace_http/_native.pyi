# The compiled core (tcptrace_http/native/python): bytes in, tables out.

from collections.abc import Mapping
from typing import Literal, Self, TypedDict, final, type_check_only

__all__ = ["Analyzer", "ArrowTable", "CaptureFault", "__version__"]

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
class Analyzer:
    def __new__(cls, *, packets: bool = False, segments: bool = False, statistics: bool = False) -> Self: ...
    def feed(self, chunk: bytes | bytearray | memoryview) -> None: ...
    def finish(self) -> None: ...
    def provenance(self) -> ProvenanceFields: ...
    def row_count(self, table: str) -> int: ...
    def table(self, name: str) -> ArrowTable: ...
    def json_rows(
        self, name: str, first: int, count: int, waits: Mapping[tuple[int, int], bytes] | None = None
    ) -> bytes: ...

"""Declaration of every table: its columns with type, unit and meaning.

Each group of tables has a module; ``columns`` has the types of a declaration, ``words`` the enumerations.
``make gen`` declares the tables in Rust (``native/trace-model/src/rows.rs``) from this package, and ``make
lint`` checks that both agree. Times are integer nanoseconds: ``time`` is ``Datetime("ns")`` (UTC),
``duration`` is ``Duration("ns")``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import (
    connections,
    flows,
    http2,
    judgements,
    messages,
    packets,
    retrievals,
    tls,
    transactions,
    waits,
)
from tcptrace_http.schema.columns import Column, Table, json_name
from tcptrace_http.schema.words import (
    ANOMALY_KINDS,
    CAUSES,
    CLOSED_BY,
    CONSTRAINTS,
    DIRECTIONS,
    ENDINGS,
    FLAWS,
    FRAMINGS,
    H2_WINDOW_EVENTS,
    HTTP_VERSIONS,
    MEMBERSHIPS,
    NAGLE_VARIANTS,
    OBSERVATION_POINTS,
    PROTOCOLS,
    QUEUE_MEASURES,
    RECOVERY_KINDS,
    SEVERITIES,
    SPURIOUS_EVIDENCE,
    TLS_CONTENT_TYPES,
    TLS_VERSIONS,
    enum_meanings,
    enum_values,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ANOMALY_KINDS",
    "CAUSES",
    "CLOSED_BY",
    "CONSTRAINTS",
    "DIRECTIONS",
    "ENDINGS",
    "FLAWS",
    "FRAMINGS",
    "H2_WINDOW_EVENTS",
    "HTTP_VERSIONS",
    "MEMBERSHIPS",
    "NAGLE_VARIANTS",
    "OBSERVATION_POINTS",
    "ON_REQUEST",
    "PROTOCOLS",
    "QUEUE_MEASURES",
    "RECOVERY_KINDS",
    "SCHEMA_VERSION",
    "SEVERITIES",
    "SPURIOUS_EVIDENCE",
    "TABLES",
    "TLS_CONTENT_TYPES",
    "TLS_VERSIONS",
    "Column",
    "Table",
    "enum_meanings",
    "enum_values",
    "json_name",
    "polars_schema",
]

#: Version of the JSON of ``analyze --format json``; incremented when a field changes its meaning.
SCHEMA_VERSION: Final = 1

_GROUPS: Final = (packets, flows, transactions, tls, http2, messages, connections, waits, retrievals, judgements)
TABLES: Final[dict[str, Table]] = {table.name: table for group in _GROUPS for table in group.TABLES}
#: Tables with a row per packet or record, made only on request.
ON_REQUEST: Final = frozenset(table.name for table in TABLES.values() if table.on_request)


def polars_schema(table: Table, *, statistics: bool = True) -> dict[str, pl.DataType]:
    """Return the polars type of each column in order; without ``statistics``, of the permanent columns."""
    columns = (column for column in table.columns if statistics or not column.is_statistic)
    return {column.name: _polars_type(column.dtype) for column in columns}


@cache
def _polars_type(dtype: str) -> pl.DataType:
    import polars as pl

    if dtype.startswith("enum:"):
        return pl.Enum(enum_values(dtype))
    plain: dict[str, pl.DataType] = {
        "u8": pl.UInt8(),
        "u16": pl.UInt16(),
        "u32": pl.UInt32(),
        "u64": pl.UInt64(),
        "i64": pl.Int64(),
        "f64": pl.Float64(),
        "bool": pl.Boolean(),
        "str": pl.String(),
        "time": pl.Datetime("ns", "UTC"),
        "duration": pl.Duration("ns"),
        "list_u32": pl.List(pl.UInt32()),
        "list_u64": pl.List(pl.UInt64()),
    }
    return plain[dtype]

"""Rows of a table for which an SQL expression is true; durations are written as ``'40 ms'``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import FilterError
from tcptrace_http.schema import TABLES
from tcptrace_http.spent import spent

if TYPE_CHECKING:
    import polars as pl

__all__ = ["rows_where"]

_NANOSECONDS: Final = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 10**9, "min": 60 * 10**9}
_DURATION: Final = re.compile(rf"'(\d+(?:\.\d+)?)\s*({'|'.join(_NANOSECONDS)})'")
_OPERATOR: Final = r"\s*(?:<=|>=|<>|!=|=|<|>)\s*"
#: Times of a transaction, computed from their ends in the table.
_SPANS: Final = {
    "elapsed": ("start_time", "end_time"),
    "wait": ("request_last_time", "response_first_time"),
    "receive": ("response_first_time", "response_last_time"),
}


def rows_where(frame: pl.DataFrame | pl.LazyFrame, expression: str, table: str) -> pl.DataFrame:
    """Return the rows of a frame for which the expression is true; transactions also have ``elapsed``, ``wait``,
    ``receive``.

    A lazy frame is collected.

    :raises FilterError: the expression does not fit the table.
    """
    import polars as pl
    from polars.exceptions import PolarsError

    rows = frame.lazy()
    own = rows.collect_schema().names()
    if table == "transactions":
        rows = rows.with_columns(spent(start, end).alias(name) for name, (start, end) in _SPANS.items())
    schema = rows.collect_schema()
    durations = [name for name, dtype in schema.items() if dtype == pl.Duration]
    bare = _number_compared(durations, expression)
    if bare is not None:
        raise FilterError(f"{bare} is a duration: compare it with one, as in \"{bare} > '40 ms'\"")
    try:
        return rows.filter(pl.sql_expr(_DURATION.sub(_interval, expression))).select(own).collect()
    except PolarsError as error:
        reason = str(error).partition("\n")[0]
        columns = " ".join(schema.names())
        missing = any(c.is_statistic and c.name not in schema for c in TABLES[table].columns)
        hint = " (its statistics are made only by analyze(path, statistics=True))" if missing else ""
        raise FilterError(
            f"cannot select from {table} where {expression!r}: {reason}; its columns are {columns}{hint}"
        ) from None


def _interval(found: re.Match[str]) -> str:
    return f"INTERVAL '{round(float(found[1]) * _NANOSECONDS[found[2]])}ns'"


def _number_compared(durations: list[str], expression: str) -> str | None:
    """Return the duration that is compared with a number, on either side; polars would read the number as
    nanoseconds.
    """
    for name in durations:
        column, number = rf"\b{name}\b\"?", r"[\d.]+"
        between = rf"{column}\s+(?:not\s+)?between\s+{number}"
        compared = rf"{column}{_OPERATOR}{number}|{number}{_OPERATOR}\"?{column}|{between}"
        if re.search(compared, expression, re.IGNORECASE):
            return name
    return None

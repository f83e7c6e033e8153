"""Rows of a capture in dataset form: of each table, with the columns that identify their origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.pages import PAGE_TABLES
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from tcptrace_http.analysis import Analysis

__all__ = [
    "CAPTURE_NUMBER",
    "CORPUS_TABLES",
    "FILES_TABLE",
    "files_schema",
    "in_order",
    "labelled",
    "schema_of",
    "tables_of",
]

#: Tables of a dataset. Tables with a row per packet would exceed the captures in size.
CORPUS_TABLES: Final = tuple(name for name, table in TABLES.items() if not table.on_request)
#: Table with one row per file.
FILES_TABLE: Final = "captures"
#: Tables that need the whole capture.
_AT_THE_END: Final = ("findings", "inconclusive", *PAGE_TABLES)
#: Odd factor that gives each flow of a capture a different id (the golden ratio of 64 bits, Knuth 6.4).
_FLOW_STEP: Final = 0x9E37_79B9_7F4A_7C15
#: Column with the number of a row's capture.
CAPTURE_NUMBER: Final = "capture_number"
_TIMES: Final = ("start_time", "start", "time", "request_time", "first_time", "client_hello_time", "head_time")


def tables_of(parts: Iterable[Analysis]) -> Iterator[dict[str, pl.DataFrame]]:
    """Yield the tables of a capture in parts, step by step; no row comes twice."""
    from tcptrace_http.judged import Judged

    judged: Judged | None = None
    for part in parts:
        if judged is None and part.is_last:
            yield {name: part.table(name) for name in CORPUS_TABLES}
            return
        judged = judged or Judged()
        judged.add(part)
        yield {name: part.table(name) for name in CORPUS_TABLES if name not in _AT_THE_END}
        del part
    if judged is not None:
        at_the_end = {name: judged.pages.table(name) for name in PAGE_TABLES}
        yield at_the_end | {"findings": judged.findings, "inconclusive": judged.inconclusive}


def labelled(frame: pl.DataFrame, unit: str, captures: Sequence[tuple[str, int]]) -> pl.DataFrame:
    """Return the rows with the columns of their origin.

    Each capture has a name and a number of 64 bits. With several captures, ``CAPTURE_NUMBER`` selects one.
    """
    import polars as pl

    if CAPTURE_NUMBER not in frame.columns:
        frame = frame.with_columns(pl.lit(0, pl.UInt32).alias(CAPTURE_NUMBER))
    names = pl.Series([name for name, _ in captures], dtype=pl.String)
    numbers = pl.Series([number for _, number in captures], dtype=pl.UInt64)
    which = frame[CAPTURE_NUMBER]
    own: list[pl.Expr | pl.Series] = [pl.lit(unit).alias("unit"), names.gather(which).alias("capture")]
    if "flow" in frame.columns:
        flow = pl.col("flow").cast(pl.UInt64)
        own.append((flow * pl.lit(_FLOW_STEP, pl.UInt64) + numbers.gather(which)).alias("flow_id"))
    return frame.select(*own, pl.exclude(CAPTURE_NUMBER))


def schema_of(name: str) -> dict[str, pl.DataType]:
    """Return the columns of a dataset table."""
    import polars as pl

    if name == FILES_TABLE:
        return files_schema()
    own = polars_schema(TABLES[name], statistics=False)
    flow_id: dict[str, pl.DataType] = {"flow_id": pl.UInt64()} if "flow" in own else {}
    return {"unit": pl.String(), "capture": pl.String()} | flow_id | own


def files_schema() -> dict[str, pl.DataType]:
    """Return the columns of the table of files."""
    import polars as pl

    text, number, time = pl.String(), pl.UInt64(), pl.Datetime("ns", "UTC")
    return {
        "unit": text,
        "capture": text,
        "path": text,
        "size": number,
        "fingerprint": text,
        "first_frame": number,
        "packets": number,
        "first_time": time,
        "last_time": time,
        "status": text,
        "error": text,
    }


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in time order: a reader of one hour then skips the other row groups."""
    time = next((name for name in _TIMES if name in frame.columns), None)
    return frame if time is None else frame.sort(time, maintain_order=True, nulls_last=True)

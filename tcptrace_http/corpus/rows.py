"""The rows of a capture as a dataset has them: of each table, with what they are of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.pages import PAGE_TABLES
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from tcptrace_http.analysis import Analysis

__all__ = ["CORPUS_TABLES", "FILES_TABLE", "files_schema", "in_order", "labelled", "schema_of", "tables_of"]

#: The tables of a dataset; those with a row for each packet would be larger than the captures.
CORPUS_TABLES: Final = tuple(name for name, table in TABLES.items() if not table.on_request)
#: One row for each file.
FILES_TABLE: Final = "captures"
#: Those that are made of all of a capture.
_AT_THE_END: Final = ("findings", "inconclusive", *PAGE_TABLES)
#: An odd number: it gives each flow of a capture another id (the golden ratio of 64 bits, Knuth 6.4).
_FLOW_STEP: Final = 0x9E37_79B9_7F4A_7C15
_TIMES: Final = ("start_time", "start", "time", "request_time", "first_time", "client_hello_time", "head_time")


def tables_of(parts: Iterable[Analysis]) -> Iterator[dict[str, pl.DataFrame]]:
    """The tables of a capture that comes in parts, some at a time; no row comes twice."""
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


def labelled(frame: pl.DataFrame, *, unit: str, capture: str, number: int) -> pl.DataFrame:
    """The rows with the columns that tell what they are of; ``number`` is that of the capture, of 64 bits."""
    import polars as pl

    own = [pl.lit(unit).alias("unit"), pl.lit(capture).alias("capture")]
    if "flow" in frame.columns:
        flow = pl.col("flow").cast(pl.UInt64)
        own.append((flow * pl.lit(_FLOW_STEP, pl.UInt64) + pl.lit(number, pl.UInt64)).alias("flow_id"))
    return frame.select(*own, pl.all())


def schema_of(name: str) -> dict[str, pl.DataType]:
    """The columns of a table of a dataset."""
    import polars as pl

    if name == FILES_TABLE:
        return files_schema()
    own = polars_schema(TABLES[name], statistics=False)
    flow_id: dict[str, pl.DataType] = {"flow_id": pl.UInt64()} if "flow" in own else {}
    return {"unit": pl.String(), "capture": pl.String()} | flow_id | own


def files_schema() -> dict[str, pl.DataType]:
    """The columns of the table of files."""
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
    """The rows by time, so that a reader of one hour may pass over the groups of others."""
    time = next((name for name in _TIMES if name in frame.columns), None)
    return frame if time is None else frame.sort(time, maintain_order=True, nulls_last=True)

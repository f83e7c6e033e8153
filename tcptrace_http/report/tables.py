"""Table of one or several captures as csv, ndjson or parquet.

The formats csv and ndjson are plain. Times are integer nanoseconds since the epoch, with names ending in
``_ns``, as in the JSON contract. A csv list has spaces between its numbers. The format parquet keeps the
types. The format csv-safe is csv for spreadsheets: an apostrophe precedes cells that look like formulas, and
control characters are escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.capture import text_of
from tcptrace_http.output_file import errors_kept
from tcptrace_http.schema import TABLES, json_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    import polars as pl

    from tcptrace_http.analysis import Analysis

__all__ = ["write", "write_rows"]


def write(analyses: Iterable[Analysis], file: BinaryIO, table: str, format_name: str, *, is_one: bool) -> None:
    """Write the table; with several captures, the first column ``capture`` has the path."""
    import polars as pl

    frames = [
        analysis.table(table)
        if is_one
        else analysis.table(table).select(pl.lit(text_of(analysis.capture.path)).alias("capture"), pl.all())
        for analysis in analyses
    ]
    write_rows(pl.concat(frames), file, table, format_name)


def write_rows(frame: pl.DataFrame, file: BinaryIO, table: str, format_name: str, *, header: bool = True) -> None:
    """Write rows of a table; csv without the ``header`` continues the previous rows."""
    with errors_kept(file) as sink:
        if format_name == "parquet":
            frame.write_parquet(sink)
        elif format_name == "ndjson":
            _plain(frame, table).write_ndjson(sink)
        else:
            plain = _unnested(_plain(frame, table))
            (_without_formulas(plain) if format_name == "csv-safe" else plain).write_csv(
                sink, include_header=header
            )


def _plain(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    import polars as pl

    shown = [column for column in TABLES[table].columns if column.name in frame.columns]
    times = {column.name: json_name(column) for column in shown if column.name != json_name(column)}
    return frame.with_columns(pl.col(*times).to_physical()).rename(times) if times else frame


def _unnested(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    return frame.with_columns(pl.col(name).cast(pl.List(pl.String())).list.join(" ") for name in lists)


def _without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with an apostrophe before text cells that begin like formulas (OWASP, "CSV Injection")."""
    import polars as pl

    from tcptrace_http.report.grid import printable

    text = pl.col(pl.String)
    escaped = text.map_elements(printable, return_dtype=pl.String)
    return frame.with_columns(escaped).with_columns(
        pl.when(text.str.contains(r"^\s*[=+\-@]")).then(pl.lit("'") + text).otherwise(text).name.keep()
    )

"""Captures as lazy frames: a query makes only its rows and columns, block by block."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from tcptrace_http.capture import blocks, expand, is_glob, text_of
from tcptrace_http.capture_stream import STANDARD_INPUT
from tcptrace_http.errors import CaptureError, UnknownName
from tcptrace_http.schema import TABLES, polars_schema
from tcptrace_http.trace import frame_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from tcptrace_http.schema import Table

__all__ = ["scan"]

_CAPTURE: Final = "capture"
# Maximum block size. A block of all columns takes about 5 MB and fits the CPU caches; larger ones are slower.
_BLOCK_ROWS_MAX: Final = 1 << 15
# Minimum block size, also read for a query of one row. Smaller blocks cost more to hand over than to make.
_BLOCK_ROWS_MIN: Final = 1 << 10


def scan(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], table: str = "transactions"
) -> pl.LazyFrame:
    """Return a table of a capture as a polars ``LazyFrame``; the file is read only on collection.

    ::

        import polars as pl
        import tcptrace_http

        packets = tcptrace_http.scan("slow.pcapng", table="packets")
        packets.select("frame", "time").head(10).collect()

        segments = tcptrace_http.scan("slow.pcapng", table="segments")
        segments.filter(pl.col("rtt") > pl.duration(milliseconds=200)).sink_parquet("late.parquet")

        import duckdb, pyarrow
        duckdb.sql("select flow, count(*) from segments where is_retransmission group by flow")
        pyarrow.table(segments.collect())

    ``table`` is a name of ``schema.TABLES``. For every query the rows, their order and the types are those of
    ``analyze(path, tables=[table])``. Rows of ``packets``, ``segments``, ``tls_records`` and ``h2_windows``
    are made during the read, with only the columns of the query, and are not kept: memory does not grow with
    the capture. ``head`` stops the reading. Up to 2**20 rows of ``segments`` wait for ``acked_by_frame`` and
    ``rtt``, unless the query uses neither. The other tables need the whole capture, and their rows are kept.

    >>> import tcptrace_http
    >>> segments = tcptrace_http.scan("sample_traces/heidemann_1996_figure2.pcap", table="segments")
    >>> segments.select("payload_bytes").sum().collect().item()
    4658

    For a glob or several paths, the rows of the captures follow each other. The first column ``capture``
    holds the path, as in ``tcptrace-http analyze --table``. The glob is expanded on collection. A frame may
    be collected several times, so standard input is refused: use ``analyze("-")``.

    The frames speak the Arrow PyCapsule interface, with native times, durations and enumerations. DuckDB,
    pyarrow and pandas accept them unchanged. (A ``Duration`` becomes DuckDB's ``INTERVAL``, with
    microseconds.) A predicate with a Python function in it needs the package cloudpickle.

    Raises :class:`UnknownName` for an unknown table, and :class:`CaptureError` for standard input. On
    collection, the frame raises :class:`CaptureError` for the first unreadable capture (``tcptrace-http
    analyze`` continues with the others).
    """
    from polars.io.plugins import register_io_source

    source = _Source.of(path, _declared(table))
    return register_io_source(
        source.batches,
        schema=source.schema(),
        validate_schema=True,
        explain_name=f"TCPTRACE_HTTP {table}",
        explain_detail=" ".join(map(text_of, source.paths)),
    )


def _declared(name: str) -> Table:
    if name in TABLES:
        return TABLES[name]
    near = get_close_matches(name, TABLES, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(TABLES)}"
    raise UnknownName(f"no table is called {name!r}; {hint}")


@dataclass(frozen=True, slots=True)
class _Source:
    """Source of a scan."""

    paths: tuple[str, ...]
    table: Table
    #: True if a column names the capture of each row.
    is_labelled: bool

    @classmethod
    def of(cls, path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], table: Table) -> _Source:
        if isinstance(path, str | os.PathLike):
            paths: tuple[str, ...] = (os.fspath(path),)
            is_labelled = is_glob(paths[0])
        else:
            paths = tuple(os.fspath(one) for one in path)
            is_labelled = True
        if STANDARD_INPUT in paths:
            raise CaptureError(STANDARD_INPUT, "a scan may read its input repeatedly, a pipe cannot; use analyze")
        return cls(paths, table, is_labelled)

    def schema(self) -> dict[str, pl.DataType]:
        import polars as pl

        label: dict[str, pl.DataType] = {_CAPTURE: pl.String()} if self.is_labelled else {}
        return label | polars_schema(self.table)

    def batches(
        self, with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """Yield the frames for polars: ``n_rows`` of the source, filtered by ``predicate``."""
        used = set(self.schema() if with_columns is None else with_columns)
        if predicate is not None:
            used.update(predicate.meta.root_names())
        size = batch_size or _BLOCK_ROWS_MAX
        frames = _first(self._rows(used, min(size, n_rows or _BLOCK_ROWS_MAX)), n_rows)
        for frame in frames if predicate is None else _filtered(frames, predicate):
            selected = frame if with_columns is None else frame.select(with_columns)
            yield from selected.iter_slices(size)

    def _rows(self, used: set[str], block_rows: int) -> Iterator[pl.DataFrame]:
        """Yield all rows with the columns in use."""
        import polars as pl

        # A frame without columns has no row count.
        columns = [column.name for column in self.table.columns if column.name in used] or [
            self.table.columns[0].name
        ]
        for path in expand(self.paths):
            for frame in _frames(path, self.table, columns, block_rows):
                label = [pl.lit(text_of(path)).alias(_CAPTURE)] if self.is_labelled else []
                yield frame.select(*label, pl.all())


def _frames(path: str, table: Table, columns: list[str], block_rows: int) -> Iterator[pl.DataFrame]:
    if not table.on_request:
        from tcptrace_http.analysis import analyze

        yield analyze(path).table(table.name).select(columns)
        return
    block_rows = min(max(block_rows, _BLOCK_ROWS_MIN), _BLOCK_ROWS_MAX)
    for block in blocks(path, table, columns, block_rows=block_rows):
        yield frame_of(block, table, only=columns)


def _first(frames: Iterator[pl.DataFrame], n_rows: int | None) -> Iterator[pl.DataFrame]:
    """Yield the first ``n_rows`` rows and request no later frame."""
    left = n_rows
    while left != 0 and (frame := next(frames, None)) is not None:
        if left is not None:
            frame = frame.head(left)
            left -= frame.height
        yield frame


def _filtered(frames: Iterator[pl.DataFrame], predicate: pl.Expr) -> Iterator[pl.DataFrame]:
    """Yield the rows for which the predicate is true.

    A predicate that compares a row with others, such as with their mean, needs all rows at once. Polars
    should not push down such predicates, but does not guarantee it. Per frame they would select other rows.
    """
    import polars as pl

    if not _is_by_row(predicate):
        whole = list(frames)
        frames = iter([pl.concat(whole)] if whole else [])
    for frame in frames:
        selected = frame.filter(predicate)
        if not selected.is_empty():
            yield selected


def _is_by_row(expression: pl.Expr) -> bool:
    """Return whether the value at a row depends on that row alone. Polars answers only for the outermost
    operation.
    """
    return expression.meta.is_row_separable() and all(map(_is_by_row, expression.meta.pop()))

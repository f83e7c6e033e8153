"""Rows of a dataset as one analysis, with new flow numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.analysis import Analysis
from tcptrace_http.corpus.rows import CORPUS_TABLES
from tcptrace_http.errors import DatasetError, NothingToDraw
from tcptrace_http.schema import TABLES, polars_schema
from tcptrace_http.trace import Provenance
from tcptrace_http.where import rows_where

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from tcptrace_http.corpus.part import Part

__all__ = ["Merged", "merged"]

_STREAM: Final = ("unit", "capture")
#: Maximum number of rows in memory, about 4 GB. A larger report is unreadable.
_TRANSACTIONS_MAX: Final = 5_000_000
_BASE: Final = "first_number"


class Merged(Analysis):
    """Analysis without packets."""

    #: Flow number in its capture, ``own_flow``, by ``flow``, for all rows of a part.
    streams: pl.DataFrame
    #: Capture of each finding, for all rows of a part.
    captures_of_findings: pl.Series

    def __init__(self, capture: Provenance, tables: Mapping[str, pl.DataFrame]) -> None:
        self._merged_capture = capture
        self._selected = self._tables = tables
        self._parts = None

    @property
    def capture(self) -> Provenance:
        """Return the combined facts of all captures."""
        return self._merged_capture

    @property
    def decoded(self) -> None:
        """Return None: no core holds these rows."""
        return None

    @property
    def has_candidates(self) -> bool:
        """Return whether a finding or a flaw exists."""
        return not (self.findings.is_empty() and self.flaws.is_empty())

    @property
    def may_have_findings(self) -> bool:
        """Return False: all findings exist already."""
        return True

    @property
    def may_have_hops(self) -> bool:
        """Return whether a proxy was captured."""
        return not self.hops.is_empty()

    @property
    def cut(self) -> list[str]:
        """Return no limits: the limits of single captures are rows of ``anomalies``."""
        return []

    def _native(self, name: str) -> pl.DataFrame:
        if name not in CORPUS_TABLES:
            raise NothingToDraw(f"{self.capture.path} is a dataset, which has no {name}: name one of its captures")
        return self._tables[name]

    def where(self, expression: str, *, table: str = "transactions") -> Merged:
        """Return the rows of ``table`` for which an SQL expression is true, with their related rows."""
        from tcptrace_http.selection import selected

        absent = TABLES.keys() - set(CORPUS_TABLES)
        made = selected(self, expression, table, absent=absent, is_cut=False)
        return Merged(self.capture, {name: self.table(name) for name in CORPUS_TABLES} | made)

    def redacted(self) -> Merged:
        """Return the analysis without query values, Referer, Location and URL users in any text."""
        from tcptrace_http.redaction import redacted_frame

        tables = {name: redacted_frame(self.table(name)) for name in CORPUS_TABLES}
        return Merged(self.capture, tables)


def merged(part: Part, expression: str | None = None, *, table: str = "transactions") -> Merged:
    """Return the rows of a part of a dataset: all, or those for which ``expression`` is true in ``table``.

    The related rows of the other tables are included.

    :raises FilterError: the expression does not fit the table.
    :raises DatasetError: the part has too many rows.
    """
    import polars as pl

    wanted = {name: part.table(name) for name in CORPUS_TABLES}
    if expression is not None:
        wanted = _with_rows(wanted, rows_where(wanted[table], expression, table))
    count = wanted["transactions"].select(pl.len()).collect().item()
    if count > _TRANSACTIONS_MAX:
        raise DatasetError(
            part.name,
            f"has {count:,} transactions; select some with --where, write a table (--format parquet), or see"
            " tcptrace-http corpus report",
        )
    frames = dict(zip(wanted, pl.collect_all(list(wanted.values())), strict=True))
    bases = _bases(frames)
    tables = {name: _renumbered(frame, name, bases) for name, frame in frames.items()}
    whole = Merged(_capture(part), tables)
    if expression is not None:
        return whole.where(expression, table=table)
    own_flow = frames["flows"]["flow"].alias("own_flow")
    whole.streams = tables["flows"].select("flow").with_columns(own_flow)
    whole.captures_of_findings = frames["findings"]["capture"]
    return whole


def _with_rows(wanted: Mapping[str, pl.LazyFrame], chosen: pl.DataFrame) -> dict[str, pl.LazyFrame]:
    """Return the rows of all tables that may relate to the chosen rows: of their captures and, if any, their
    flows.
    """
    import polars as pl

    streams = chosen.lazy().select(_STREAM).unique()
    made = {}
    for name, rows in wanted.items():
        near = rows.join(streams, on=_STREAM, how="semi", maintain_order="left")
        if "flow_id" in chosen.columns and "flow_id" in near.collect_schema():
            flows = chosen["flow_id"].unique().implode()
            near = near.filter(pl.col("flow_id").is_null() | pl.col("flow_id").is_in(flows))
        made[name] = near
    return made


def _bases(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the offset of each capture's flow numbers, which makes all flow numbers unique."""
    import polars as pl

    counts = pl.concat([frame.select(*_STREAM, _top(frame)) for frame in frames.values()])
    of_streams = counts.group_by(_STREAM).agg(pl.col("top").max()).sort(_STREAM)
    return of_streams.select(*_STREAM, pl.col("top").cum_sum().shift(1, fill_value=0).alias(_BASE))


def _top(frame: pl.DataFrame) -> pl.Expr:
    import polars as pl

    numbers = _numbers(frame)
    if not numbers:
        return pl.lit(0, pl.UInt32).alias("top")
    return (pl.max_horizontal(*numbers).fill_null(0) + 1).cast(pl.UInt32).alias("top")


def _numbers(frame: pl.DataFrame) -> list[str]:
    """Return the columns with flow and page numbers."""
    import polars as pl

    return [
        name
        for name, dtype in frame.schema.items()
        if dtype == pl.UInt32 and (name == "flow" or name.endswith("_flow") or name == "retrieval")
    ]


def _renumbered(frame: pl.DataFrame, name: str, bases: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    columns = list(polars_schema(TABLES[name], statistics=False))
    numbers = _numbers(frame)
    return frame.join(bases, on=_STREAM, how="left", maintain_order="left").select(
        (pl.col(column) + pl.col(_BASE)).cast(pl.UInt32) if column in numbers else pl.col(column)
        for column in columns
    )


def _capture(part: Part) -> Provenance:
    import polars as pl

    files = part.table("captures")
    packets, size, first, last, cut = (
        files.select(
            pl.col("packets").sum(),
            pl.col("size").sum(),
            pl.col("first_time").min().to_physical(),
            pl.col("last_time").max().to_physical(),
            (pl.col("status") != "ok").any().alias("cut"),
        )
        .collect()
        .row(0)
    )
    return Provenance(
        path=part.name,
        format="dataset",
        packets=packets,
        tcp_packets=packets,
        first_time_ns=first,
        last_time_ns=last,
        truncated=bool(cut),
        link_types=(),
        bytes_read=size,
    )

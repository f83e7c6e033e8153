"""Part of a dataset as named on a command line: ``week``, or ``week@2026-11-23..2026-11-24``."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.corpus.dataset import is_dataset
from tcptrace_http.corpus.reading import corpus
from tcptrace_http.errors import DatasetError
from tcptrace_http.where import rows_where

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tcptrace_http.corpus.reading import Corpus

__all__ = ["Part", "part_of"]

_NAMED: Final = re.compile(r"(?P<location>.+)@(?P<start>[^@/]*?)\.\.(?P<end>[^@/]*)")
_EVER: Final = datetime(1677, 9, 22, tzinfo=UTC), datetime(2262, 4, 11, tzinfo=UTC)
_DATE_LENGTH: Final = len("2026-11-23")


class Part:
    """Rows of a dataset within a time range, by the start of their flows."""

    def __init__(self, name: str, whole: Corpus, start: datetime, end: datetime) -> None:
        self.name = name
        self.corpus = whole
        self._start, self._end = start, end

    def table(self, name: str) -> pl.LazyFrame:
        """Return the table's rows: of flows that begin within the time range, and rows without a flow."""
        import polars as pl

        rows = self.corpus.table(name)
        if (self._start, self._end) == _EVER or "flow_id" not in rows.collect_schema():
            return rows
        starts = pl.col("start").is_between(pl.lit(self._start), pl.lit(self._end), closed="left")
        if name == "flows":
            return rows.filter(starts)
        of_flows = rows.join(
            self.corpus.flows.filter(starts).select("flow_id"), on="flow_id", how="semi", maintain_order="left"
        )
        return pl.concat([of_flows, rows.filter(pl.col("flow_id").is_null())])

    def rows(self, name: str, expression: str | None = None) -> pl.DataFrame:
        """Return the table's rows in memory: all, or those for which an SQL expression is true.

        :raises FilterError: the expression does not fit the table.
        """
        rows = self.table(name)
        return rows.collect(engine="streaming") if expression is None else rows_where(rows, expression, name)

    def by_unit(self) -> Iterator[Part]:
        """Yield the part unit by unit."""
        for one in self.corpus.by_unit():
            yield Part(self.name, one, self._start, self._end)


def part_of(source: str | os.PathLike[str]) -> Part | None:
    """Return the named part of a dataset; None for another source.

    :raises DatasetError: the times are invalid.
    """
    name = os.fspath(source)
    found = _NAMED.fullmatch(name)
    location = name if found is None else found["location"]
    if location == "-" or os.path.isfile(location) or not is_dataset(location):
        return None
    if found is None:
        return Part(name, corpus(location), *_EVER)
    start = _time(name, found["start"], is_end=False) or _EVER[0]
    end = _time(name, found["end"], is_end=True) or _EVER[1]
    return Part(name, corpus(location).between(start, end), start, end)


def _time(name: str, text: str, *, is_end: bool) -> datetime | None:
    """Return an ISO 8601 time, in UTC by default. A day as an end means its last moment."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise DatasetError(name, f"{text} is no time; write DATASET@2026-11-23..2026-11-24T12:00") from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time + timedelta(days=1) if is_end and len(text) == _DATE_LENGTH else time

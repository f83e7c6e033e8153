"""Report on a dataset of many captures: the largest losses, the new findings, and their start.

Findings are counted by detector, host, path and server software over time; notes (severity info) are left
out. Trends are findings per transaction, so a busy day is no trend.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

import polars as pl

from tcptrace_http.corpus_report.change_point import change_point
from tcptrace_http.corpus_report.groups import counted_findings, counted_transactions, time_by_cause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.corpus_report.change_point import Change
    from tcptrace_http.corpus_report.groups import Tables

__all__ = ["GROUPINGS", "CorpusReport", "Trend", "corpus_report"]

#: Groupings of findings, with their columns.
GROUPINGS: Final = {
    "detector": ("detector",),
    "host": ("host",),
    "path": ("host", "path"),
    "server software": ("server_software",),
}
_DAY: Final = "1d"
_HOUR: Final = "1h"
#: Minimum duration of a dataset that is reported by days instead of hours.
_DAYS_FROM: Final = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Trend:
    """Findings of one detector at one host over time."""

    detector: str
    host: str
    #: ``time``, ``findings``, ``lost_ns``, ``transactions`` per day (or hour) with transactions of the host.
    points: pl.DataFrame
    change: Change | None

    @property
    def lost_ns(self) -> int:
        """Return the total lost time."""
        return int(self.points["lost_ns"].sum())

    @property
    def changed_at(self) -> datetime | None:
        """Return the day (or hour) of the change."""
        return None if self.change is None else self.points["time"][self.change.at]


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """Content of a dataset report."""

    name: str
    first: datetime | None
    last: datetime | None
    #: Start of the new findings.
    since: datetime | None
    #: Unit of time: "day" or "hour".
    every: str
    transactions: int
    elapsed_ns: int
    findings: int
    lost_ns: int
    #: Groups by name of ``GROUPINGS``: their columns, ``findings``, ``lost_ns``; largest loss first.
    groups: dict[str, pl.DataFrame]
    #: ``cause``, ``time_ns``: the time of all transactions by cause.
    causes: pl.DataFrame
    #: ``detector``, ``host``, ``first``, ``findings``, ``lost_ns``: findings since the start, never before.
    new: pl.DataFrame
    #: Trends, largest loss first.
    trends: list[Trend]


def corpus_report(tables: Tables, *, name: str, since: datetime | timedelta | None = None) -> CorpusReport:
    """Return the report; ``since`` is a time, or a duration before the last transaction. The default is the last
    day.
    """
    traffic = counted_transactions(tables, _HOUR)
    first, last = traffic["first"].min(), traffic["last"].max()
    is_short = first is None or last - first < _DAYS_FROM  # type: ignore[operator]
    every = _HOUR if is_short else _DAY
    # Hours add up to days.
    traffic = _summed(traffic, every, ("host",), ("transactions", "elapsed_ns"))
    findings = counted_findings(tables, every)
    start = _start_of_new(last, since, every)  # type: ignore[arg-type]
    return CorpusReport(
        name=name,
        first=first,  # type: ignore[arg-type]
        last=last,  # type: ignore[arg-type]
        since=start,
        every="hour" if is_short else "day",
        transactions=int(traffic["transactions"].sum()),
        elapsed_ns=int(traffic["elapsed_ns"].sum()),
        findings=int(findings["findings"].sum()),
        lost_ns=int(findings["lost_ns"].sum()),
        groups={each: _group(findings, columns) for each, columns in GROUPINGS.items()},
        causes=time_by_cause(tables),
        new=_new(findings, start),
        trends=_trends(findings, traffic),
    )


def _summed(rows: pl.DataFrame, every: str, columns: Sequence[str], sums: Sequence[str]) -> pl.DataFrame:
    times = pl.col("time").dt.truncate(every)
    return rows.group_by(times, *columns).agg(pl.col(*sums).sum()).sort("time", *columns)


def _start_of_new(last: datetime | None, since: datetime | timedelta | None, every: str) -> datetime | None:
    """Return the start of a day (or an hour), as in all times of counts."""
    if last is None:
        return None
    start = since if isinstance(since, datetime) else last - (since or timedelta(0))
    (truncated,) = pl.Series([start]).dt.truncate(every)
    return cast("datetime", truncated)


def _group(findings: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    sums = pl.col("findings", "lost_ns").sum()
    order = ["lost_ns", "findings", *columns]
    descending = [True, True, *(False for _ in columns)]
    return findings.group_by(columns).agg(sums).sort(order, descending=descending)


def _new(findings: pl.DataFrame, start: datetime | None) -> pl.DataFrame:
    """Return the pairs of detector and host that were found after the start and never before."""
    kinds = findings.group_by("detector", "host").agg(
        pl.col("time").min().alias("first"), pl.col("findings", "lost_ns").sum()
    )
    if start is None:
        return kinds.clear()
    return kinds.filter(pl.col("first") >= start).sort(
        "lost_ns", "detector", "host", descending=[True, False, False]
    )


def _trends(findings: pl.DataFrame, traffic: pl.DataFrame) -> list[Trend]:
    kinds = _summed(findings, _HOUR, ("detector", "host"), ("findings", "lost_ns"))
    trends = []
    for (detector, host), found in kinds.group_by("detector", "host", maintain_order=True):
        of_host = traffic.filter(pl.col("host") == host).select("time", "transactions")
        points = of_host.join(found.select("time", "findings", "lost_ns"), on="time", how="left").fill_null(0)
        if points.is_empty():
            continue  # a flow without a transaction has no reference
        # A transaction may have several findings of a kind; the share of transactions with any is the
        # changing figure.
        counts = points.select(pl.min_horizontal("findings", "transactions"))["findings"].to_list()
        change = change_point(counts, points["transactions"].to_list())
        trends.append(Trend(str(detector), str(host), points.sort("time"), change))
    return sorted(trends, key=lambda trend: (-trend.lost_ns, trend.detector, trend.host))

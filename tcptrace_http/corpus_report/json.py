"""Dataset report for programs: times are ISO 8601 in UTC, durations integer nanoseconds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datetime import datetime

    import polars as pl

    from tcptrace_http.corpus_report import CorpusReport, Trend

__all__ = ["document"]

#: Version of the report's JSON; incremented when a field changes its meaning.
REPORT_VERSION: Final = 1


def document(report: CorpusReport) -> str:
    """Return the whole report."""
    return json.dumps(
        {
            "report_version": REPORT_VERSION,
            "dataset": report.name,
            "first_time": _time(report.first),
            "last_time": _time(report.last),
            "since": _time(report.since),
            "every": report.every,
            "transactions": report.transactions,
            "elapsed_ns": report.elapsed_ns,
            "findings": report.findings,
            "lost_ns": report.lost_ns,
            "time_by_cause": _rows(report.causes),
            "new": _rows(report.new),
            **{f"by_{name.replace(' ', '_')}": _rows(frame) for name, frame in report.groups.items()},
            "trends": [_trend(trend) for trend in report.trends],
        },
        indent=1,
        ensure_ascii=False,
    )


def _trend(trend: Trend) -> dict[str, Any]:
    change = trend.change
    return {
        "detector": trend.detector,
        "host": trend.host,
        "lost_ns": trend.lost_ns,
        "change": None
        if change is None
        else {
            "what": change.word,
            "at": _time(trend.changed_at),
            "share_before": change.before,
            "share_after": change.after,
            "chance": change.chance,
        },
        "points": _rows(trend.points),
    }


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [{name: _plain(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]


def _plain(value: Any) -> Any:
    return _time(value) if hasattr(value, "isoformat") else value


def _time(time: datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%SZ}"
